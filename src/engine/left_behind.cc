#include "engine/left_behind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "engine/copy_note.h"
#include "host/probe.h"
#include "launch/cgroup.h"
#include "launch/id_map.h"
#include "sys/file.h"

namespace cloche {
namespace {

// As make_run_id() makes them. Records may be anyone's writing, and other things have names like "cloche-data".
constexpr std::size_t kIdLength = 12;

// Under root the directory is the guest's, whose uid is a base plus a pid (ADR 5) and owns nothing else.
bool is_ours(uid_t owner) {
  constexpr std::uint32_t kMostPids = 1u << 22;
  const bool guest = owner >= kGuestUidBase && owner - kGuestUidBase <= kMostPids;
  return owner == ::geteuid() || (::geteuid() == 0 && guest);
}

bool is_own_directory(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && is_ours(st.st_uid);
}

}  // namespace

bool remove_left_behind(const CgroupFacts& facts, const std::string& temporary, const std::string& id,
                        const std::function<bool()>& go_on) {
  if (id.size() != kIdLength || !store::is_run_id(id)) return true;
  bool busy = false;
  // The kernel refuses to remove a group with anybody in it. Whoever that is still writes to the directory.
  for (const std::string& path : leaf_paths(facts, id)) busy = (::rmdir(path.c_str()) != 0 && errno == EBUSY) || busy;
  if (busy) return false;
  const std::string work = temporary + "/cloche-" + id;
  if (!is_own_directory(work)) return true;
  const Status removed = sys::remove_tree(work, go_on);
  return removed || (removed.error().errno_value != ECANCELED && removed.error().errno_value != ENOTEMPTY);
}

store::Sweep sweep_of_host() {
  return [facts = std::optional<CgroupFacts>()](const std::string& id, int directory,
                                                const std::function<bool()>& go_on) mutable {
    if (const auto copy = noted_copy(directory); copy && !files::remove_left_copy(*copy, go_on)) return false;
    if (!facts) facts = probe_fast().cgroup;
    return remove_left_behind(*facts, "/tmp", id, go_on);
  };
}

}  // namespace cloche
