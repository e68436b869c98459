#include "files/host_side.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "diff/content.h"
#include "files/guest_side.h"
#include "sys/sha256.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

constexpr std::size_t kChunk = std::size_t{128} * 1024;

std::unexpected<Error> cannot(const std::string& path, std::string message) {
  return fail_errno(errno, "read " + tree::printable(path), std::move(message));
}

bool gone(int error) { return error == ENOENT || error == ENOTDIR; }

// What init/copy.cc makes anew: a socket without its listener and a device without its driver are nothing.
bool is_copied(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISFIFO(mode); }

}  // namespace

HostSide::HostSide(const View& view, Meter& meter)
    : root_(view.lower),
      kind_(view.kind),
      mounts_(mounts_of(view.kind)),
      started_(view.started),
      whereabouts_(view.whereabouts),
      meter_(&meter) {
  if (kind_ != ViewKind::kCopy) return;
  if (auto rights = GuestRights::of(root_)) rights_ = *rights;
}

bool HostSide::was_withheld(int folder, const std::string& name, mode_t mode) const {
  if (kind_ != ViewKind::kCopy || (!S_ISREG(mode) && !S_ISDIR(mode))) return false;
  return !rights_ || !rights_->was_copied(folder, name);
}

Result<Fd> HostSide::open_directory(const std::string& path) const {
  auto opened = tree::open_beneath(root_, path.empty() ? "." : path, O_PATH | O_DIRECTORY, mounts_);
  if (opened) return opened;
  const int error = opened.error().errno_value;
  if (gone(error) || error == ELOOP || error == EXDEV || error == EACCES || error == EPERM) return Fd();
  return std::unexpected(std::move(opened).error());
}

Result<std::vector<std::string>> HostSide::names(int folder) {
  auto names = names_in(folder);
  if (!names && (names.error().errno_value == EACCES || names.error().errno_value == EPERM)) return {};
  return names;
}

// To move a directory leaves the times of what is in it alone. It changes its own time of change and that of the one
// above it, which nobody can set; but so does who writes to both. The inode is asked last: overlayfs gives new numbers.
bool HostSide::was_exchanged(int folder, const std::string& path) const {
  if (path.empty()) return false;
  struct stat st{};
  struct stat above{};
  if (::fstat(folder, &st) != 0) return true;
  if (::fstatat(folder, "..", &above, AT_NO_AUTOMOUNT) == 0 && !later(above.st_ctim, started_)) return false;
  const auto was = whereabouts_ != nullptr ? whereabouts_->directory(path) : std::nullopt;
  return was ? *was != spot_of(st) : later(st.st_ctim, started_);
}

// Nothing came to a directory that kept its time of change.
bool HostSide::had(int folder, const std::string& path) const {
  if (whereabouts_ != nullptr && whereabouts_->had(path)) return true;
  struct stat st{};
  return ::fstat(folder, &st) == 0 && !later(st.st_ctim, started_);
}

Result<std::optional<HostThing>> HostSide::look(int folder, const std::string& name, const std::string& path) const {
  HostThing thing;
  struct statx stx{};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (::statx(folder, name.c_str(), flags, STATX_BASIC_STATS, &stx) != 0) {
    if (gone(errno)) return std::nullopt;
    if (errno != EACCES && errno != EPERM) return cannot(path, "could not be inspected");
    // A guest gave itself rights to a directory that we have none to: that is no reason to lose the rest.
    thing.obstacle = Obstacle::kUnreadable;
    return thing;
  }
  struct stat st{};
  st.st_mode = stx.stx_mode;
  thing.state.kind = tree::kind_of(st);
  thing.state.mode = stx.stx_mode & 0777;
  thing.whole_mode = stx.stx_mode & 07777;
  thing.never_seen = kind_ == ViewKind::kCopy && !is_copied(stx.stx_mode);
  thing.changed = later({stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec}, started_);
  if (thing.state.kind == tree::FileKind::kRegular) {
    thing.state.size = stx.stx_size;
    thing.state.links = stx.stx_nlink;
  }
  if ((stx.stx_attributes_mask & stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) thing.obstacle = Obstacle::kMount;
  // Root's engine could read it and take it for what the guest found.
  thing.withheld = was_withheld(folder, name, stx.stx_mode);
  if (thing.withheld) thing.obstacle = Obstacle::kUnreadable;
  if (thing.state.kind == tree::FileKind::kSymlink) {
    auto target = read_link(folder, name);
    if (!target && gone(target.error().errno_value)) return std::nullopt;
    if (!target) return std::unexpected(std::move(target).error());
    thing.state.target = std::move(*target);
  }
  return thing;
}

Status HostSide::read(int folder, const std::string& name, const std::string& path, HostThing& thing) const {
  const bool readable = thing.obstacle == Obstacle::kNone || thing.obstacle == Obstacle::kMount;
  if (thing.state.kind != tree::FileKind::kRegular || !readable) return {};
  const Fd place(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid() && !is_hidden_from_us(errno)) return cannot(path, "the host could not open it");
  if (place.valid()) {
    auto file = tree::reopen_regular(place.get(), path);
    if (file) return read_open(file->get(), path, thing);
    if (!is_hidden_from_us(file.error())) return std::unexpected(std::move(file).error());
  }
  // Not ours to read, or replaced by something else while we looked.
  thing.obstacle = Obstacle::kUnreadable;
  return {};
}

Status HostSide::read_open(int fd, const std::string& path, HostThing& thing) const {
  const diff::ContentLimits limits;
  const bool small = thing.state.size <= limits.bytes;
  std::string text;
  std::string chunk(kChunk, '\0');
  sys::Sha256 hash;
  std::uint64_t size = 0;
  // Not a byte more than there was: a log that somebody writes to would never end.
  while (size < thing.state.size) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, thing.state.size - size));
    const ssize_t n = ::read(fd, chunk.data(), want);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && !is_hidden_from_us(errno)) return cannot(path, "the host could not read it");
    if (n < 0) thing.obstacle = Obstacle::kUnreadable;
    if (n <= 0) break;
    const std::string_view piece(chunk.data(), static_cast<std::size_t>(n));
    hash.update(piece);
    if (small) text += piece;
    size += piece.size();
    CLOCHE_TRY(meter_->bytes(piece.size()));
  }
  thing.has_capabilities = ::fgetxattr(fd, "security.capability", nullptr, 0) > 0;
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "read a file of the workspace", "could not be inspected");
  if (static_cast<std::uint64_t>(st.st_size) != size || later(st.st_ctim, started_)) thing.changed = true;
  thing.state.size = size;
  thing.state.digest = hash.finish();
  if (small && diff::judge_content(text, limits) == diff::Content::kText) thing.text = std::move(text);
  return {};
}

}  // namespace cloche::files
