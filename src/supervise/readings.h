// What the kernel says of a process, parsed. Pure: the texts come from /proc or from a test.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

// "Key:\tvalue" lines of /proc/PID/status.
std::map<std::string, std::string> parse_status(std::string_view text);

struct RlimitReading {
  std::string soft;
  std::string hard;
  bool operator==(const RlimitReading&) const = default;
};
// /proc/PID/limits by name: "Max core file size" → {"1", "1"}.
std::map<std::string, RlimitReading> parse_limits(std::string_view text);

struct MountReading {
  std::string id;
  std::string parent;  // id of the mount it lies on
  std::string root;    // of its file system, what is mounted
  std::string point;
  std::string options;        // of the mount: "ro,nosuid,nodev"
  std::string type;           // "tmpfs"
  std::string super_options;  // "rw,size=262144k,nr_inodes=16384"
  std::string device;         // of its file system: "7:0"
  bool has(std::string_view option) const;
  bool operator==(const MountReading&) const = default;
};
std::vector<MountReading> parse_mountinfo(std::string_view text);

// Paths in /proc/PID/cgroup by controller ("" for v2).
std::map<std::string, std::string> parse_cgroup(std::string_view text);

}  // namespace cloche
