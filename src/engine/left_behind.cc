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

Status remove_left_behind(const CgroupFacts& facts, const std::string& temporary, const std::string& id,
                          const std::function<bool()>& go_on) {
  if (id.size() != kIdLength || !store::is_run_id(id)) return {};
  std::string stays;
  int why = 0;
  // The kernel refuses to remove a group with anybody in it. Whoever that is still writes to the directory.
  for (const std::string& path : leaf_paths(facts, id)) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) continue;
    if (errno == EBUSY) return fail(ErrorCode::kRefused, "remove " + path, "somebody is in it");
    stays = path;
    why = errno;
  }
  const std::string work = temporary + "/cloche-" + id;
  if (is_own_directory(work)) CLOCHE_TRY(sys::remove_tree(work, go_on));
  if (why != 0) return sys::not_removed(why, stays);
  return {};
}

store::Sweep sweep_of_host() {
  return [facts = std::optional<CgroupFacts>()](const std::string& id, int directory,
                                                const std::function<bool()>& go_on) mutable -> Status {
    Status copy;
    if (const auto noted = noted_copy(directory)) copy = files::remove_left_copy(*noted, go_on);
    if (!facts) facts = probe_fast().cgroup;
    CLOCHE_TRY(remove_left_behind(*facts, "/tmp", id, go_on));
    return copy;
  };
}

}  // namespace cloche
