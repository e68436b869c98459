// Which directory stood where when a guest began. So that, after its end, one that the host exchanged for another is
// told from one that the host only wrote to: either changes the times of a directory and of the one above it.
//
// To look takes as long as the tree is large, and no run waits for it: it is done while the guest runs, in slices of
// the event loop. So what is found counts only where times say that nothing was moved until then, which they mostly do
// at the beginning. About a place that was not found in time nothing is known.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "files/view.h"
#include "tree/place.h"

namespace cloche::files {

// A copy has what lies behind the mounts of the host's directory, an overlay has not.
inline tree::Mounts mounts_of(ViewKind kind) {
  return kind == ViewKind::kCopy ? tree::Mounts::kCross : tree::Mounts::kRefuse;
}

struct Spot {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Spot&) const = default;
};
inline Spot spot_of(const struct stat& st) { return {st.st_dev, st.st_ino}; }

class Whereabouts {
 public:
  // `root` is the host's directory, the caller's. `started` as in a view.
  Whereabouts(int root, ViewKind kind, timespec started);

  // When advance() wants to be called; never, once everything was looked at.
  Clock::time_point next() const { return next_; }
  void advance(Clock::time_point now);

  // The directory that was at `path`; nothing: not known.
  std::optional<Spot> directory(const std::string& path) const;
  // Whether anything was certainly there. Kept for a copy only: an overlay tells by itself what was deleted.
  bool had(const std::string& path) const { return names_.contains(path); }

 private:
  bool step();
  void open_next();
  void read_some();
  std::optional<Spot> where_it_was(int folder) const;
  void take(const char* name, unsigned char type);
  void close_folder();
  void charge(const std::string& path);

  int root_;
  ViewKind kind_;
  timespec started_;
  Clock::time_point next_{};
  std::deque<std::string> ahead_;  // the nearest to the root first
  Fd folder_;                      // that is being listed
  std::string path_;               // of it
  std::vector<std::string> listed_;
  std::vector<char> entries_;  // as the kernel wrote them
  std::size_t used_ = 0;       // bytes, about
  std::unordered_map<std::string, Spot> spots_;
  std::unordered_set<std::string> names_;
};

}  // namespace cloche::files
