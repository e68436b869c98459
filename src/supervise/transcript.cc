// Reading what the kernel says of a guest-to-be, word for word; what it means is judged in read_back.cc.
#include <unistd.h>

#include "supervise/read_back.h"
#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kTextLimit = 4 << 20;
constexpr const char* kNamespaces[] = {"mnt", "pid", "net", "ipc", "uts"};

std::string link_of(const std::string& path) {
  char text[128];
  const ssize_t n = ::readlink(path.c_str(), text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

std::map<std::string, std::string> own_namespaces() {
  std::map<std::string, std::string> out;
  for (const char* name : kNamespaces) out.emplace(name, link_of(std::string("/proc/self/ns/") + name));
  return out;
}

Result<View> view_of(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  View out;
  out.mount_namespace = link_of(proc + "ns/mnt");
  CLOCHE_TRY_ASSIGN(out.mountinfo, sys::read_file(proc + "mountinfo", kTextLimit));
  return out;
}

Result<Transcript> transcribe(pid_t pid, const std::map<std::string, std::string>& own, const View& known) {
  Transcript out;
  const std::string proc = "/proc/" + std::to_string(pid) + "/";
  CLOCHE_TRY_ASSIGN(out.status, sys::read_file(proc + "status", kTextLimit));
  CLOCHE_TRY_ASSIGN(out.limits, sys::read_file(proc + "limits", kTextLimit));
  CLOCHE_TRY_ASSIGN(out.cgroup, sys::read_file(proc + "cgroup", kTextLimit));
  CLOCHE_TRY_ASSIGN(out.uid_map, sys::read_file(proc + "uid_map", kTextLimit));
  for (const auto& [name, ours] : own) {
    const std::string theirs = link_of(proc + "ns/" + name);
    if (!theirs.empty() && theirs != ours) out.namespaces.emplace(name, theirs);
  }
  const auto mounts = out.namespaces.find("mnt");
  if (mounts != out.namespaces.end() && mounts->second == known.mount_namespace) {
    out.mountinfo = known.mountinfo;
  } else {
    CLOCHE_TRY_ASSIGN(out.mountinfo, sys::read_file(proc + "mountinfo", kTextLimit));
  }
  return out;
}

}  // namespace cloche
