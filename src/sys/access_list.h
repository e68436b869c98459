// POSIX access lists, as the kernel gives them: an attribute of files and directories.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::sys {

inline constexpr const char* kAccessList = "system.posix_acl_access";
inline constexpr const char* kDefaultAccessList = "system.posix_acl_default";  // of a directory, for what is made in it

struct AccessEntry {
  enum class Tag : std::uint16_t { kOwner = 1, kUser = 2, kOwningGroup = 4, kGroup = 8, kMask = 16, kOthers = 32 };
  Tag tag{};
  std::uint16_t rights = 0;
  std::uint32_t id = 0;  // of kUser and kGroup
  bool operator==(const AccessEntry&) const = default;
};

// What is no whole entry is left out.
std::vector<AccessEntry> parse_access_list(std::string_view bytes);

// "user 1001": somebody else than these two whom a list of the file or directory names; empty where there is nobody. A
// link is followed.
std::string named_by_access_lists(const std::string& path, uid_t user, gid_t group);

}  // namespace cloche::sys
