#include "supervise/tree_meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sys/file.h"

namespace cloche {
namespace {

// One descriptor each. Nobody who does not hide something nests deeper.
constexpr std::size_t kDeepest = 200;
constexpr std::size_t kEntryBytes = std::size_t{16} * 1024;
constexpr std::uint64_t kBlock = 512;  // the unit of st_blocks, whatever the file system's own is
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

// By mount, not by st_dev: a subvolume that the guest makes has another st_dev and is the guest's all the same.
Fd open_folder(int parent, const char* name) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(kDirectory);
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  return Fd(static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how)));
}

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

}  // namespace

Result<TreeMeter> TreeMeter::open(const std::vector<std::string>& paths, std::uint64_t bound) {
  TreeMeter out;
  out.bound_ = bound;
  for (const std::string& path : paths) {
    CLOCHE_TRY_ASSIGN(Fd root, sys::open_without_symlinks(path));
    struct stat st{};
    if (::fstat(root.get(), &st) != 0) return fail_errno(errno, "watch " + path, "it cannot be inspected");
    if (!out.root_identities_.emplace(st.st_dev, st.st_ino).second) continue;
    out.roots_.push_back(std::move(root));
    out.paths_.push_back(path);
  }
  return out;
}

void TreeMeter::restart() {
  next_root_ = 0;
  levels_.clear();
  linked_.clear();
  devices_.clear();
  found_ = {};
  at_bound_ = 0;
  unmeasured_.clear();
  disturbed_ = false;
}

TreeMeter::Progress TreeMeter::advance(Clock::time_point until) {
  do {
    if (!unmeasured_.empty()) return Progress::kDone;
    if (levels_.empty()) {
      if (!begin_root()) return Progress::kDone;
      continue;
    }
    Level& level = levels_.back();
    if (level.at >= level.size && !refill(level)) {
      levels_.pop_back();
      continue;
    }
    const auto* entry = reinterpret_cast<const struct dirent64*>(level.entries.data() + level.at);
    level.at += entry->d_reclen;
    if (!is_dots(entry->d_name)) visit(entry->d_name);
  } while (Clock::now() < until);
  return Progress::kMore;
}

bool TreeMeter::begin_root() {
  if (next_root_ >= roots_.size()) return false;
  const std::size_t root = next_root_++;
  struct stat st{};
  if (::fstat(roots_[root].get(), &st) != 0) return true;
  devices_.insert(st.st_dev);
  count(st);
  if (!S_ISDIR(st.st_mode)) return true;
  Fd folder(::openat(roots_[root].get(), ".", kDirectory));
  if (folder.valid()) {
    push(std::move(folder), paths_[root]);
  } else {
    unmeasured_ = paths_[root];
  }
  return true;
}

bool TreeMeter::refill(Level& level) {
  if (level.entries.empty()) level.entries.resize(kEntryBytes);
  const long n = ::syscall(SYS_getdents64, level.folder.get(), level.entries.data(), level.entries.size());
  level.at = 0;
  level.size = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n > 0;
}

void TreeMeter::visit(const char* name) {
  struct stat st{};
  if (::fstatat(levels_.back().folder.get(), name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
    // Gone meanwhile takes no room; what may not be looked at might.
    if (errno == EACCES) give_up(name);
    return;
  }
  if (!S_ISDIR(st.st_mode)) {
    count(st);
  } else if (!root_identities_.contains({st.st_dev, st.st_ino})) {  // which has its own turn
    descend(name, st);
  }
}

void TreeMeter::descend(const char* name, const struct stat& st) {
  const int parent = levels_.back().folder.get();
  Fd folder = open_folder(parent, name);
  if (folder.valid()) {
    count(st);
    if (levels_.size() >= kDeepest) {
      give_up(name);
      return;
    }
    devices_.insert(st.st_dev);
    push(std::move(folder), name);
    return;
  }
  if (errno == EXDEV) return;  // another file system, which no grant of this one's reaches
  if (errno != EACCES && errno != EPERM) {
    disturbed_ = true;
    return;
  }
  count(st);
  // Whose owner is the guest can open it again; whoever may write to it can hide things there. What is neither is out
  // of the guest's reach as it is of ours.
  const bool own = st.st_uid == ::geteuid();
  if (own || ::faccessat(parent, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0) give_up(name);
}

void TreeMeter::push(Fd folder, std::string name) { levels_.push_back({std::move(folder), std::move(name), {}, 0, 0}); }

void TreeMeter::count(const struct stat& st) {
  ++found_.files;
  if (!S_ISDIR(st.st_mode) && st.st_nlink > 1 && !linked_.emplace(st.st_dev, st.st_ino).second) return;
  found_.bytes += static_cast<std::uint64_t>(st.st_blocks) * kBlock;
  if (S_ISREG(st.st_mode) && bound_ != 0 && static_cast<std::uint64_t>(st.st_size) == bound_) ++at_bound_;
}

void TreeMeter::give_up(const std::string& name) {
  if (unmeasured_.empty()) unmeasured_ = path_of(name);
}

std::string TreeMeter::path_of(const std::string& name) const {
  std::string out;
  for (const Level& level : levels_) out += (out.empty() ? "" : "/") + level.name;
  return out + "/" + name;
}

}  // namespace cloche
