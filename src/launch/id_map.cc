#include "launch/id_map.h"

#include <linux/magic.h>

#include <string>

#include "sys/file.h"

namespace cloche {
namespace {
std::string line(std::uint32_t inside, std::uint32_t outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
}
}  // namespace

Status write_id_map(pid_t pid, const IdMap& map) {
  const std::string proc = "/proc/" + std::to_string(pid);
  CLOCHE_TRY(sys::write_checked(proc + "/setgroups", "deny", PROC_SUPER_MAGIC));
  CLOCHE_TRY(sys::write_checked(proc + "/gid_map", line(map.inside_gid, map.outside_gid), PROC_SUPER_MAGIC));
  return sys::write_checked(proc + "/uid_map", line(map.inside_uid, map.outside_uid), PROC_SUPER_MAGIC);
}

}  // namespace cloche
