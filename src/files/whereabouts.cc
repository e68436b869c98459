#include "files/whereabouts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "files/folder_id.h"
#include "files/guest_side.h"

namespace cloche::files {
namespace {

constexpr Millis kSlice{1};
constexpr int kShare = 9;  // of rest to work: a tenth of a cpu
constexpr std::size_t kEntryBytes = std::size_t{8} * 1024;
// What is kept of a tree: about 200,000 names. Beyond that, times have to do.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;
constexpr std::size_t kForEach = 100;  // bytes beside the name

std::string above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// Whose answers come from this machine. Any other may keep us waiting, and with us the limits of the run.
bool is_local(int root) {
  constexpr auto kLocal = std::to_array<std::uint64_t>(
      {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, F2FS_SUPER_MAGIC, RAMFS_MAGIC, SQUASHFS_MAGIC,
       EROFS_SUPER_MAGIC_V1, OVERLAYFS_SUPER_MAGIC, kZfsMagic, kBcachefsMagic});
  return lies_on(root, kLocal);
}

}  // namespace

Whereabouts::Whereabouts(int root, ViewKind kind, timespec started) : root_(root), kind_(kind), started_(started) {
  if (is_local(root)) {
    ahead_.emplace_back();
  } else {
    next_ = Clock::time_point::max();
  }
}

void Whereabouts::advance(Clock::time_point now) {
  if (now < next_) return;
  const Clock::time_point until = now + kSlice;
  Clock::time_point after = now;
  do {
    if (!step()) {
      ahead_.clear();
      folder_.reset();
      next_ = Clock::time_point::max();
      return;
    }
    after = Clock::now();
  } while (after < until);
  next_ = after + kShare * (after - now);
}

bool Whereabouts::step() {
  if (used_ > kMostBytes) return false;
  if (folder_.valid()) {
    read_some();
    return true;
  }
  if (ahead_.empty()) return false;
  open_next();
  return true;
}

void Whereabouts::open_next() {
  path_ = std::move(ahead_.front());
  ahead_.pop_front();
  auto opened = tree::open_beneath(root_, path_.empty() ? "." : path_, O_RDONLY | O_DIRECTORY | O_NONBLOCK,
                                   tree::Mounts::kRefuse);
  const std::optional<Spot> spot = opened ? where_it_was(opened->get()) : std::nullopt;
  if (!spot) return;
  spots_.emplace(path_, *spot);
  charge(path_);
  folder_ = std::move(*opened);
}

// To move a directory changes its time of change and those of the two that it is moved between. So where it or the one
// above kept theirs, it has been there all the time. That the one above is the one that was, ".." tells, whatever is
// moved meanwhile; it is asked first, so that the other time speaks for this moment, too.
std::optional<Spot> Whereabouts::where_it_was(int folder) const {
  struct stat parent{};
  struct stat st{};
  if (::fstatat(folder, "..", &parent, 0) != 0 || ::fstat(folder, &st) != 0) return std::nullopt;
  if (path_.empty()) return spot_of(st);
  if (directory(above(path_)) != spot_of(parent)) return std::nullopt;
  if (later(st.st_ctim, started_) && later(parent.st_ctim, started_)) return std::nullopt;
  return spot_of(st);
}

void Whereabouts::read_some() {
  if (entries_.empty()) entries_.resize(kEntryBytes);
  const long size = ::syscall(SYS_getdents64, folder_.get(), entries_.data(), entries_.size());
  if (size <= 0) {
    close_folder();
    return;
  }
  for (long at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const struct dirent64*>(entries_.data() + at);
    at += entry->d_reclen;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") take(entry->d_name, entry->d_type);
  }
}

void Whereabouts::take(const char* name, unsigned char type) {
  const bool folder = type == DT_DIR || type == DT_UNKNOWN;
  if (!folder && kind_ != ViewKind::kCopy) return;
  std::string path = path_.empty() ? name : path_ + "/" + name;
  charge(path);
  if (folder) ahead_.push_back(path);
  if (kind_ == ViewKind::kCopy) listed_.push_back(std::move(path));
}

// What was listed was there at the beginning if nothing came or went since.
void Whereabouts::close_folder() {
  struct stat st{};
  if (::fstat(folder_.get(), &st) == 0 && !later(st.st_ctim, started_)) {
    names_.insert(std::make_move_iterator(listed_.begin()), std::make_move_iterator(listed_.end()));
  }
  listed_.clear();
  folder_.reset();
}

void Whereabouts::charge(const std::string& path) { used_ += path.size() + kForEach; }

std::optional<Spot> Whereabouts::directory(const std::string& path) const {
  const auto found = spots_.find(path);
  if (found == spots_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cloche::files
