#include "sys/access_list.h"

#include <endian.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cloche::sys {
namespace {

// As in <linux/posix_acl_xattr.h>, little-endian.
struct Stored {
  std::uint16_t tag;
  std::uint16_t rights;
  std::uint32_t id;
};
constexpr std::size_t kHead = 4;  // the version

}  // namespace

std::vector<AccessEntry> parse_access_list(std::string_view bytes) {
  std::vector<AccessEntry> entries;
  for (std::size_t at = kHead; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
    Stored stored{};
    std::memcpy(&stored, bytes.data() + at, sizeof stored);
    entries.push_back({AccessEntry::Tag{le16toh(stored.tag)}, le16toh(stored.rights), le32toh(stored.id)});
  }
  return entries;
}

std::string named_by_access_lists(const std::string& path, uid_t user, gid_t group) {
  for (const char* list : {kAccessList, kDefaultAccessList}) {
    std::array<char, 4096> bytes{};
    const ssize_t size = ::getxattr(path.c_str(), list, bytes.data(), bytes.size());
    if (size < 0 && errno == ERANGE) return "more users and groups than one";
    if (size <= 0) continue;
    for (const AccessEntry& entry : parse_access_list({bytes.data(), static_cast<std::size_t>(size)})) {
      if (entry.tag == AccessEntry::Tag::kUser && entry.id != user) return "user " + std::to_string(entry.id);
      if (entry.tag == AccessEntry::Tag::kGroup && entry.id != group) return "group " + std::to_string(entry.id);
    }
  }
  return {};
}

}  // namespace cloche::sys
