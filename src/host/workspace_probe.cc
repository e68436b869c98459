#include "host/workspace_probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/octal.h"
#include "host/files.h"
#include "host/proc_text.h"
#include "sys/access_list.h"

namespace cloche {
namespace {

// A mount below it would be missing from an overlay, and the kernel does not uncover what lies under it.
std::string mount_inside(const std::string& path, const std::string& root) {
  const auto text = host::read_text(root + "/proc/self/mountinfo", host::kMountinfoMax);
  if (!text) return {};
  for (const host::Mount& mount : host::parse_mountinfo(*text)) {
    std::string point = unescape_octal(mount.point);
    if (point.size() > path.size() && point.starts_with(path) && point[path.size()] == '/') return point;
  }
  return {};
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

constexpr CopyBound kUnbound{~0ull, ~0ull};

// Whether everybody may read it; of a directory, whether everybody may go through it, too.
bool is_open(const struct stat& st) {
  const mode_t needed = S_ISDIR(st.st_mode) ? 0005 : S_ISREG(st.st_mode) ? 0004 : 0;
  return (st.st_mode & needed) == needed;
}

std::string path_of(int directory) {
  char text[4096];
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(directory)).c_str(), text, sizeof text);
  return n < 0 ? "" : std::string(text, static_cast<std::size_t>(n));
}

// Overlayfs keeps the group and the access list of what it copies up, and a cell has one user and one group: a file of
// the guest's own user that has another group, or whose list names others, cannot be changed there. Looked for only
// among so many of the direct entries: opening takes no longer for more. What belongs to somebody else is not the
// guest's to change, wherever it lies.
std::string unchangeable(const std::string& path, const std::optional<std::pair<uid_t, gid_t>>& guest) {
  constexpr int kMostLookedAt = 1024;
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat st{};
  if (!top.valid() || ::fstat(top.get(), &st) != 0) return {};
  const auto [uid, gid] = guest.value_or(std::pair(st.st_uid, st.st_gid));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(top.get())), ::closedir);
  if (!entries) return {};
  const std::string entries_path = "/proc/self/fd/" + std::to_string(top.get()) + "/";
  for (int i = 0; i < kMostLookedAt; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (::fstatat(top.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool listed = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
    if ((!listed && !S_ISLNK(st.st_mode)) || st.st_uid != uid) continue;
    if (st.st_gid != gid) return name + " has group " + std::to_string(st.st_gid);
    if (!listed) continue;
    const std::string other = sys::named_by_access_lists(entries_path + name, uid, gid);
    if (!other.empty()) return name + " has an access list that names " + other;
  }
  return {};
}

// Room on a tmpfs: whole pages, and an inode each. What is beyond the bound is not looked at.
void measure(WorkspaceFacts& facts, const CopyBound& bound = kUnbound) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::size_t kMostOpen = 64;
  struct Level {
    DIR* directory;
  };
  std::vector<Level> levels;
  const auto enter = [&](int parent, const char* name) {
    const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    if (DIR* directory = ::fdopendir(fd)) {
      levels.push_back({directory});
    } else {
      ::close(fd);
    }
  };
  enter(AT_FDCWD, facts.path.c_str());
  while (!levels.empty()) {
    DIR* directory = levels.back().directory;
    const bool enough = facts.bytes > bound.bytes || facts.entries > bound.entries;
    const dirent* entry = enough ? nullptr : ::readdir(directory);
    if (entry == nullptr) {
      ::closedir(directory);
      levels.pop_back();
      continue;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat st{};
    if (::fstatat(::dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ++facts.entries;
    if (facts.closed.empty() && !is_open(st)) facts.closed = path_of(::dirfd(directory)) + "/" + entry->d_name;
    const auto blocks = static_cast<std::uint64_t>(st.st_blocks) * 512;
    if (S_ISREG(st.st_mode)) facts.bytes += (blocks + kPage - 1) / kPage * kPage + kPage;
    // Deeper than a copy goes: it says so itself.
    if (S_ISDIR(st.st_mode) && levels.size() < 2 * kMostOpen) enter(::dirfd(directory), entry->d_name);
    if (!S_ISREG(st.st_mode)) facts.bytes += kPage;
  }
}

}  // namespace

WorkspaceFacts look_at_workspace(const std::string& path, const WorkspaceLook& how) {
  const Overlay overlay = how.overlay;
  WorkspaceFacts out;
  out.path = path;
  if (overlay == Overlay::kWanted) {
    if (const std::string inside = mount_inside(path, how.root); !inside.empty()) {
      out.no_overlay = inside + " is a mount of its own";
    } else if (!kernel_at_least(kernel_release(), 6, 6)) {
      out.no_overlay = "attributes on tmpfs, where it keeps what was deleted, need Linux 6.6";
    } else {
      out.unchangeable = unchangeable(path, how.guest);
    }
    if (!out.unchangeable.empty()) measure(out, how.bound);
    if (out.no_overlay.empty()) return out;
  }
  if (overlay == Overlay::kRefused) out.no_overlay = "the kernel refused it";
  if (overlay == Overlay::kUnmapped) out.no_overlay = "its file system cannot map owners";
  measure(out);
  out.maps_owners = overlay != Overlay::kUnmapped;
  struct stat top{};
  if (::lstat(path.c_str(), &top) == 0 && !is_open(top)) out.closed = path;
  if (out.maps_owners) out.closed.clear();
  return out;
}

}  // namespace cloche
