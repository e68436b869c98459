#include "tree/attributes.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>

#include "sys/access_list.h"
#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

bool is_kept(std::string_view name) { return name == sys::kAccessList || name.starts_with("user."); }

}  // namespace

Status keep_attributes(int from, int to, const std::string& path) {
  const auto cannot = [&path] {
    return fail_errno(errno, "stage " + printable(path), "the attributes of the old file could not be kept");
  };
  const std::string source = "/proc/self/fd/" + std::to_string(from);
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::listxattr(source.c_str(), names.data(), names.size());
  if (size < 0 && errno != ENOTSUP) return cannot();
  std::string_view left(names.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::string value;
  while (!left.empty()) {
    const std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (!is_kept(name)) continue;
    value.resize(XATTR_SIZE_MAX);
    const ssize_t length = ::getxattr(source.c_str(), name.c_str(), value.data(), value.size());
    if (length < 0 && errno == ENODATA) continue;  // removed meanwhile
    // The attributes of users are only for those who may read the file; an access list is for everybody to see.
    if (length < 0 && errno == EACCES) continue;
    if (length < 0 || ::fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(length), 0) != 0) {
      return cannot();
    }
  }
  return {};
}

std::string list_for_new(int directory) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const std::string by_number = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t size = ::getxattr(by_number.c_str(), sys::kDefaultAccessList, value.data(), value.size());
  value.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return value;
}

Status hand_down(const std::string& list, int folder, const std::string& name, FileKind kind, const std::string& path) {
  if (list.empty()) return {};
  const std::string thing = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  const auto give = [&](const char* which) {
    return ::lsetxattr(thing.c_str(), which, list.data(), list.size(), 0) == 0;
  };
  if (give(sys::kAccessList) && (kind != FileKind::kDirectory || give(sys::kDefaultAccessList))) return {};
  return fail_errno(errno, "stage " + printable(path), "the access list of its directory could not be handed down");
}

Status set_attributes(int to, const std::vector<std::pair<std::string, std::string>>& attributes,
                      const std::string& path) {
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with("user.")) {
      return fail(ErrorCode::kInvalidInput, "stage " + printable(path), "it brings an attribute that is not a user's");
    }
    if (::fsetxattr(to, name.c_str(), value.data(), value.size(), 0) != 0) {
      return fail_errno(errno, "stage " + printable(path), "an attribute of the guest's could not be set");
    }
  }
  return {};
}

Status keep_capabilities(int from, int to, const std::string& path) {
  constexpr const char* kName = "security.capability";
  std::string value(XATTR_SIZE_MAX, '\0');
  const std::string source = "/proc/self/fd/" + std::to_string(from);
  const ssize_t length = ::getxattr(source.c_str(), kName, value.data(), value.size());
  if (length < 0 && (errno == ENODATA || errno == ENOTSUP)) return {};
  if (length < 0 || ::fsetxattr(to, kName, value.data(), static_cast<std::size_t>(length), 0) != 0) {
    return fail_errno(errno, "stage " + printable(path), "the capabilities of the old file could not be kept",
                      "only root can; leave --keep out");
  }
  return {};
}

}  // namespace cloche::tree
