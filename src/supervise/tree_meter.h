// TreeMeter: how much some trees of the host take, found in slices so that nobody waits for it. A guest writes to the
// trees meanwhile: everything is reached through descriptors, no link and no mount is followed, and what cannot be
// measured is said instead of being passed over.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace cloche {

struct Amount {
  std::uint64_t bytes = 0;  // allocated; a file with several names counts once
  std::uint64_t files = 0;  // names of files, directories and everything else
  bool operator==(const Amount&) const = default;
};

class TreeMeter {
 public:
  enum class Progress : std::uint8_t { kMore, kDone };

  // Directories, or single files. None may be reached through a link. Files of exactly `bound` bytes are counted.
  static Result<TreeMeter> open(const std::vector<std::string>& paths, std::uint64_t bound = 0);

  void restart();
  // At least one entry and at most until then.
  Progress advance(Clock::time_point until);
  // So far; after the last slice, of everything.
  const Amount& found() const { return found_; }
  std::uint64_t at_bound() const { return at_bound_; }
  // A directory that the guest could write to and that we cannot look into; empty: none.
  const std::string& unmeasured() const { return unmeasured_; }
  // A directory was there when it was listed and gone when it was opened: moved, perhaps.
  bool disturbed() const { return disturbed_; }
  // File systems that were walked over.
  const std::set<dev_t>& devices() const { return devices_; }
  const std::vector<Fd>& roots() const { return roots_; }
  const std::string& path(std::size_t root) const { return paths_[root]; }

 private:
  // A directory on the way down; its descriptor keeps the way whoever renames it.
  struct Level {
    Fd folder;
    std::string name;
    std::vector<char> entries;  // as the kernel wrote them
    std::size_t size = 0;
    std::size_t at = 0;
  };
  using Identity = std::pair<dev_t, ino_t>;

  TreeMeter() = default;
  bool begin_root();
  bool refill(Level& level);
  void visit(const char* name);
  void descend(const char* name, const struct stat& st);
  void push(Fd folder, std::string name);
  void count(const struct stat& st);
  void give_up(const std::string& name);
  std::string path_of(const std::string& name) const;

  std::vector<std::string> paths_;
  std::vector<Fd> roots_;  // O_PATH
  std::set<Identity> root_identities_;
  std::size_t next_root_ = 0;
  std::vector<Level> levels_;
  std::set<Identity> linked_;  // with several names, seen by one of them
  std::set<dev_t> devices_;
  Amount found_;
  std::uint64_t bound_ = 0;
  std::uint64_t at_bound_ = 0;
  std::string unmeasured_;
  bool disturbed_ = false;
};

}  // namespace cloche
