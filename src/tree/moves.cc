#include "tree/moves.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sys/sha256.h"
#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

Result<sys::Digest> content_of(int folder, const std::string& name, FileKind kind) {
  if (kind == FileKind::kSymlink) {
    std::array<char, PATH_MAX + 1> target{};
    const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    if (size < 0) return fail_errno(errno, "inspect " + name, "the link could not be read");
    return sys::sha256({target.data(), static_cast<std::size_t>(size)});
  }
  const Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "inspect " + name, "could not be opened for reading");
  return sys::sha256_of(file.get(), name);
}

}  // namespace

std::unexpected<Error> changed(const Entry& entry) {
  return fail(ErrorCode::kSystem, "apply " + printable(entry.path), "it was changed by somebody else meanwhile",
              "try again when nothing else writes to the tree");
}

std::unexpected<Error> spoiled(const Entry& entry) {
  return fail(ErrorCode::kRefused, "apply " + printable(entry.path),
              "what was to be put there was changed by somebody else before it was put in place",
              "look for who writes into " + std::string(kStagingName) + ", and apply again");
}

std::unexpected<Error> cannot_move(int error, const Entry& entry) {
  std::string hint;
  if (error == EEXIST) hint = "something new is at its place";
  if (error == EXDEV) hint = "a mount is in the way, or an overlay that cannot rename directories";
  if (error == EINVAL) hint = "this file system cannot rename without replacing";
  return fail_errno(error, "apply " + printable(entry.path), "could not be moved", std::move(hint));
}

Status move(int from, const std::string& name, int to, const std::string& new_name, const Entry& entry) {
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), RENAME_NOREPLACE) == 0) return {};
  return cannot_move(errno, entry);
}

Result<bool> exchange(int folder, const std::string& name, const Place& place, const Entry& entry) {
  if (::renameat2(folder, name.c_str(), place.folder.get(), place.name.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL) return false;
  return cannot_move(errno, entry);
}

bool is(const Thing& thing, const struct stat& st) {
  return kind_of(st) == thing.kind && identity_of(st) == thing.identity;
}

bool is_as_taken(const Thing& thing, const struct stat& st) {
  // Of directories the mode is loosened first.
  return is(thing, st) && (thing.kind == FileKind::kDirectory || (st.st_mode & 07777) == thing.mode);
}

bool is_as_checked(const Thing& thing, const struct stat& st) {
  return is_as_taken(thing, st) && (thing.changed == Moment{} || thing.changed == changed_at(st));
}

bool is_as_staged(const Thing& thing, int folder, const std::string& name) {
  struct stat st{};
  if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || kind_of(st) != thing.kind) return false;
  if (is(thing, st) && changed_at(st) == thing.changed) return true;
  if (thing.kind == FileKind::kDirectory) {
    const auto entries = entries_of(folder, name);
    return is(thing, st) && entries && *entries == Entries::kNone;
  }
  if (thing.kind == FileKind::kRegular && (st.st_mode & 07777) != thing.mode) return false;
  const auto content = content_of(folder, name, thing.kind);
  return content && *content == thing.digest;
}

bool is_as_kept(const Thing& thing, int folder, const std::string& name) {
  struct stat st{};
  if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !is(thing, st)) return false;
  return thing.kind == FileKind::kOther || is_as_staged(thing, folder, name);
}

bool is_directory(const std::optional<Thing>& thing) { return thing && thing->kind == FileKind::kDirectory; }

bool not_there(const Error& error) {
  return error.errno_value == ENOENT || error.errno_value == ENOTDIR || error.errno_value == ELOOP;
}

}  // namespace cloche::tree
