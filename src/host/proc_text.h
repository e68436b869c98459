// Parsers of /proc/self/mountinfo, /proc/self/cgroup and /proc/self/uid_map. Pure: text in, values out. Inside a
// container this text is shaped by whoever started it, so every line may be garbage; a line that does not parse is
// left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::host {

// The views point into the parsed text, still with its octal escapes (\040 is a blank): see unescape_octal().
struct Mount {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string_view root;  // which directory of the file system is mounted
  std::string_view point;
  std::string_view options;  // of this mount
  std::string_view type;
  std::string_view super_options;
};

std::vector<Mount> parse_mountinfo(std::string_view text);

struct CgroupLine {
  std::string_view controllers;  // "cpu,cpuacct", "name=systemd", "" for version 2
  std::string_view path;
  bool is_v2 = false;
};

std::vector<CgroupLine> parse_self_cgroup(std::string_view text);

// How many ids from 0 upwards, without a hole, this user namespace has.
std::uint64_t parse_id_span(std::string_view uid_map);

// The kernel's mount_too_revealing rule: a new procfs may only be mounted from a user namespace when some whole,
// writable procfs is visible with nothing on top but on directories made to be mount points. Container engines mask
// entries of /proc and so take the right away.
bool proc_looks_mountable(const std::vector<Mount>& mounts);

}  // namespace cloche::host
