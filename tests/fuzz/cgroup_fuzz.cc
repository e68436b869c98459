// Feeds the parsers of /proc/self/cgroup, /proc/self/mountinfo and /proc/self/uid_map with text that a container
// engine, or whoever stands behind it, could shape. The first byte splits the input between the files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/octal.h"
#include "host/cgroup_probe.h"
#include "host/proc_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t split = text.size() * data[0] / 256;
  const std::string_view self_cgroup = text.substr(0, split);
  const std::string_view mountinfo = text.substr(split);

  const auto mounts = cloche::host::parse_mountinfo(mountinfo);
  for (const auto& mount : mounts) {
    if (cloche::unescape_octal(mount.point).size() > mount.point.size()) __builtin_trap();
  }
  cloche::host::proc_looks_mountable(mounts);
  if (cloche::host::parse_id_span(self_cgroup) > (std::uint64_t{1} << 32)) __builtin_trap();

  // A root that does not exist and a writer who may write everything: names are followed as far as they go, and no file
  // of the machine is read.
  cloche::host::CgroupQuery query;
  query.root = "/nonexistent";
  query.pid = 1;
  query.access = [](const std::string&) { return cloche::host::Access::kWritable; };
  const auto probe = cloche::host::probe_cgroups(self_cgroup, mounts, query);
  for (const auto controller : cloche::kControllers) {
    const auto& parent = probe.facts.at(controller);
    if (parent && parent->find("/../") != std::string::npos && mountinfo.find("..") == std::string_view::npos &&
        mountinfo.find('\\') == std::string_view::npos) {
      __builtin_trap();  // our own path must never climb out of the mount
    }
  }
  return 0;
}
