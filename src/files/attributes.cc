#include "files/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string_view>

#include "base/fd.h"
#include "files/proposal.h"
#include "sys/access_list.h"
#include "tree/inspect.h"

namespace cloche::files {
namespace {

bool is_users(std::string_view name) { return name.starts_with("user.") && !name.starts_with("user.overlay."); }

// Labels and signatures are the system's, and overlay's own are no one's.
bool is_settable(std::string_view name) {
  return is_users(name) || name.starts_with("system.posix_acl_") || name == "security.capability";
}

std::vector<std::string> names_of(int fd) {
  std::string list(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, list.data(), list.size());
  std::string_view left(list.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::vector<std::string> names;
  while (!left.empty()) {
    names.emplace_back(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), names.back().size() + 1));
  }
  return names;
}

std::optional<std::string> value_of(int fd, const std::string& name) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
  if (size < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(size));
  return value;
}

// Whom an access list of that file names, and what for. The owner's rights, the others' and the mask are the mode. The
// owner of a guest's file and its group have other numbers than on the host, where owners are mapped.
std::vector<sys::AccessEntry> named_in(std::string_view list, int fd) {
  using Tag = sys::AccessEntry::Tag;
  constexpr std::uint32_t kItsOwn = ~0U;
  std::vector<sys::AccessEntry> entries = sys::parse_access_list(list);
  struct stat st{};
  const bool known = ::fstat(fd, &st) == 0;
  for (sys::AccessEntry& entry : entries) {
    const bool own = entry.id == (entry.tag == Tag::kUser ? st.st_uid : st.st_gid);
    if (known && own) entry.id = kItsOwn;
  }
  std::erase_if(entries, [](const sys::AccessEntry& entry) {
    return entry.tag == Tag::kOwner || entry.tag == Tag::kMask || entry.tag == Tag::kOthers;
  });
  return entries;
}

// Invalid where there is none, or none that can be read: then nothing is known to be the same.
Fd open_host(int folder, const std::string& name) {
  if (folder < 0) return {};
  const Fd place(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return {};
  auto file = tree::reopen_regular(place.get(), name);
  return file ? std::move(*file) : Fd();
}

}  // namespace

bool has_new_attributes(int guest, int host_folder, const std::string& name) {
  std::vector<std::string> names = names_of(guest);
  std::erase_if(names, [](const std::string& each) { return !is_settable(each); });
  if (names.empty()) return false;
  const Fd host = open_host(host_folder, name);
  return std::ranges::any_of(names, [&](const std::string& each) {
    const auto own = value_of(guest, each);
    const auto hosts = host.valid() ? value_of(host.get(), each) : std::nullopt;
    if (!own || !hosts) return true;
    if (each == sys::kAccessList) return named_in(*own, guest) != named_in(*hosts, host.get());
    return *own != *hosts;
  });
}

std::optional<std::vector<std::pair<std::string, std::string>>> user_attributes(int fd) {
  std::vector<std::pair<std::string, std::string>> out;
  std::size_t bytes = 0;
  for (std::string& name : names_of(fd)) {
    if (!is_users(name)) continue;
    auto value = value_of(fd, name);
    if (!value) return std::nullopt;
    bytes += name.size() + value->size();
    if (bytes > kMostAttributeBytes || out.size() >= kMostAttributes) return std::nullopt;
    out.emplace_back(std::move(name), *std::move(value));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace cloche::files
