// The part of the staging directory that makes new things in it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <variant>
#include <vector>

#include "sys/sha256.h"
#include "tree/attributes.h"
#include "tree/path_rules.h"
#include "tree/staging.h"

namespace cloche::tree {
namespace {

constexpr mode_t kRights = 0777;
constexpr std::uint64_t kWindow = std::uint64_t{8} * 1024 * 1024;

std::unexpected<Error> cannot_stage(const std::string& path, std::string message) {
  return fail_errno(errno, "stage " + printable(path), std::move(message));
}

std::unexpected<Error> differs(const std::string& path) {
  return fail(ErrorCode::kInvalidInput, "stage " + printable(path),
              "the content is not the one that the proposal states by size and digest");
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_stage(path, "could not be written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// What was copied goes to the disk beside the copying: else it all waits for the fsync, which tells nobody of its way.
void write_out(int fd, std::uint64_t up_to) {
  if (up_to > kWindow) {
    (void)::sync_file_range(fd, static_cast<off_t>(up_to - 2 * kWindow), static_cast<off_t>(kWindow),
                            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
  (void)::sync_file_range(fd, static_cast<off_t>(up_to - kWindow), static_cast<off_t>(kWindow), SYNC_FILE_RANGE_WRITE);
}

// Copies what the state says and not a byte more: the source may be growing.
Status copy_file(int from, int to, const FileState& state, const std::string& path, const Copied& copied) {
  struct stat st{};
  if (::fstat(from, &st) != 0 || !S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kInvalidInput, "stage " + printable(path), "the content is not a regular file");
  }
  sys::Sha256 hash;
  std::vector<char> chunk(std::size_t{64} * 1024);
  for (std::uint64_t at = 0; at < state.size;) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), state.size - at));
    const ssize_t n = ::pread(from, chunk.data(), want, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_stage(path, "its content could not be read");
    if (n == 0) return differs(path);
    const std::string_view piece(chunk.data(), static_cast<std::size_t>(n));
    hash.update(piece);
    // What is nothing but zeros stays a hole.
    if (piece.find_first_not_of('\0') == std::string_view::npos) {
      if (::lseek(to, n, SEEK_CUR) < 0) return cannot_stage(path, "could not be written");
    } else {
      CLOCHE_TRY(write_all(to, piece, path));
    }
    const std::uint64_t window = at / kWindow;
    at += piece.size();
    if (at / kWindow == window) continue;
    write_out(to, at - at % kWindow);
    CLOCHE_TRY(copied(at));
  }
  if (::ftruncate(to, static_cast<off_t>(state.size)) != 0) return cannot_stage(path, "could not be written");
  if (static_cast<std::uint64_t>(st.st_size) != state.size || hash.finish() != state.digest) return differs(path);
  return {};
}

Status fill(int fd, const Change& change, const Fd& present, const Copied& copied) {
  const FileState& state = *change.after;
  if (const auto* text = std::get_if<std::string>(&change.content)) {
    if (text->size() != state.size || sys::sha256(*text) != state.digest) return differs(change.path);
    return write_all(fd, *text, change.path);
  }
  if (const auto* file = std::get_if<FileIn>(&change.content)) {
    const Fd opened(::openat(file->folder, file->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!opened.valid()) return cannot_stage(change.path, "its content could not be opened");
    return copy_file(opened.get(), fd, state, change.path, copied);
  }
  const auto* source = std::get_if<Fd>(&change.content);
  if (source == nullptr) source = &present;
  if (!source->valid()) {
    return fail(ErrorCode::kInvalidInput, "stage " + printable(change.path), "the proposal brings no content for it");
  }
  return copy_file(source->get(), fd, state, change.path, copied);
}

// Before the mode is set, which a change of the owner would cut. Nobody but us reaches what is staged.
Status give_to(const Owner& owner, int folder, const std::string& name, const std::string& path) {
  if (::geteuid() != 0) {
    // Its group alone, and who is no member of it cannot: then it is ours, as with any program that replaces files.
    if (!owner.keeps_group || owner.group == ::getegid()) return {};
    constexpr uid_t kSameUser = static_cast<uid_t>(-1);
    if (::fchownat(folder, name.c_str(), kSameUser, owner.group, AT_SYMLINK_NOFOLLOW) == 0 || errno == EPERM ||
        errno == EINVAL)
      return {};
    return cannot_stage(path, "it could not be given to the group of what it replaces");
  }
  if (owner.user == ::geteuid() && owner.group == ::getegid()) return {};
  if (::fchownat(folder, name.c_str(), owner.user, owner.group, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return cannot_stage(path, "it could not be given to the owner of the tree");
}

// What the old file lent to whoever runs it, for the new content. Both must be regular files, and of one owner.
Status add_privileges(int from, int to, const Change& change, mode_t& mode) {
  constexpr mode_t kSetId = 06000;
  struct stat old{};
  struct stat made{};
  if (::fstat(from, &old) != 0 || ::fstat(to, &made) != 0) return cannot_stage(change.path, "could not be inspected");
  if (!S_ISREG(old.st_mode) || old.st_uid != made.st_uid || old.st_gid != made.st_gid) return {};
  mode |= old.st_mode & kSetId;
  return keep_capabilities(from, to, change.path);
}

Result<Thing> staged(int folder, const std::string& name, mode_t mode, const sys::Digest& digest,
                     const std::string& path) {
  struct stat st{};
  if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    return cannot_stage(path, "could not be inspected");
  return Thing{kind_of(st), mode, identity_of(st), changed_at(st), digest};
}

}  // namespace

Result<Thing> Staging::make_directory(std::size_t number, mode_t mode, const Owner& owner) const {
  const std::string name = new_name(number);
  const mode_t whole = (mode & kRights) | (owner.passes_on ? S_ISGID : 0);
  // Its own mode comes last, when everything is in it.
  if (::mkdirat(folder(), name.c_str(), 0700) != 0) return cannot_stage(name, "the directory could not be made");
  CLOCHE_TRY(give_to(owner, folder(), name, name));
  CLOCHE_TRY(hand_down(owner.handed_down, folder(), name, FileKind::kDirectory, name));
  if (::fchmodat(folder(), name.c_str(), whole | 0700, 0) != 0) {
    return cannot_stage(name, "the directory could not be made");
  }
  return staged(folder(), name, mode & kRights, {}, name);
}

Result<Thing> Staging::make_new(std::size_t number, const Change& change, const Owner& owner, const Present& present,
                                const Copied& copied) const {
  const std::string name = new_name(number);
  const FileState& state = *change.after;
  if (state.kind == FileKind::kDirectory) return make_directory(number, state.mode, owner);
  if (state.kind == FileKind::kSymlink) {
    if (::symlinkat(state.target.c_str(), folder(), name.c_str()) != 0) {
      return cannot_stage(change.path, "the link could not be made");
    }
    CLOCHE_TRY(give_to(owner, folder(), name, change.path));
    return staged(folder(), name, kRights, sys::sha256(state.target), change.path);
  }
  const Fd file(::openat(folder(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return cannot_stage(change.path, "could not be made");
  CLOCHE_TRY(fill(file.get(), change, present.content, copied));
  CLOCHE_TRY(give_to(owner, folder(), name, change.path));
  // Before the mode, whose bits for the group are the mask of an access list.
  if (present.place.valid()) {
    CLOCHE_TRY(keep_attributes(present.place.get(), file.get(), change.path));
  } else {
    CLOCHE_TRY(hand_down(owner.handed_down, folder(), name, FileKind::kRegular, change.path));
  }
  CLOCHE_TRY(set_attributes(file.get(), change.keep.attributes, change.path));
  mode_t mode = state.mode & kRights;
  if (change.keep.privileges && present.place.valid())
    CLOCHE_TRY(add_privileges(present.place.get(), file.get(), change, mode));
  if (::fchmod(file.get(), mode) != 0) return cannot_stage(change.path, "its mode could not be set");
  if (number < kSyncedEach && ::fsync(file.get()) != 0) return cannot_stage(change.path, "could not be made durable");
  return staged(folder(), name, state.mode & kRights, state.digest, change.path);
}

}  // namespace cloche::tree
