#include "tree/staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "sys/access_list.h"
#include "sys/file.h"
#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

constexpr const char* kUnfinished = "journal.new";

const std::string& staging_name() {
  static const std::string kName(kStagingName);
  return kName;
}

const char* journal_name(Stage stage) {
  switch (stage) {
    case Stage::kOpen:
      return kUnfinished;
    case Stage::kCommitted:
      return "journal";
    case Stage::kUndoing:
      return "journal.undo";
    case Stage::kDone:
      break;
  }
  return "journal.done";
}

std::unexpected<Error> broken(int error, std::string message) {
  return fail_errno(error, staging_name(), std::move(message));
}

// Nobody else shall choose what lies in it while it is used. Whose the journal is, its seal tells.
Status check_ours(int folder) {
  struct stat st{};
  if (::fstat(folder, &st) != 0) return broken(errno, "the staging directory could not be inspected");
  if (st.st_uid == ::geteuid() && (st.st_mode & 077) == 0) return {};
  return fail(ErrorCode::kRefused, staging_name(),
              "the staging directory belongs to somebody else or is open to others",
              "remove it, if you know what it is");
}

// Whether the name still leads to the directory that was locked: who held the lock before may have removed it.
bool still_there(int root, int folder) {
  struct stat named{};
  struct stat held{};
  return ::fstatat(root, staging_name().c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && ::fstat(folder, &held) == 0 &&
         named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

Result<std::vector<std::string>> names_in(int folder) {
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return broken(errno, "the staging directory could not be read");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), &::closedir);
  if (list == nullptr) {
    const int error = errno;
    ::close(fd);
    return broken(error, "the staging directory could not be read");
  }
  std::vector<std::string> names;
  while (const struct dirent* entry = ::readdir(list.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  return names;
}

Status remove(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return {};
  // Nothing of ours is a mount, and what lies behind one is not in here.
  if (auto inside = open_beneath(folder, name, O_PATH, Mounts::kRefuse); !inside)
    return std::unexpected(inside.error());
  // A directory that was empty when it was moved here, and into which somebody who held it open has put things.
  return sys::remove_tree("/proc/self/fd/" + std::to_string(folder) + "/" + name);
}

}  // namespace

Result<std::optional<Staging>> Staging::open(int root, Missing missing, const KeySource& key,
                                             const Progress& progress) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (missing == Missing::kMake) {
      if (progress) progress("make " + staging_name());
      if (::mkdirat(root, staging_name().c_str(), 0700) != 0 && errno != EEXIST) {
        if (errno == EACCES) {
          return fail(ErrorCode::kRefused, "apply", "the directory itself is one that this user may not write to",
                      "chmod u+wx . there, and apply again");
        }
        return broken(errno, "the staging directory could not be made");
      }
    }
    Fd folder(::openat(root, staging_name().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.valid()) {
      if (errno != ENOENT) return broken(errno, "the staging directory could not be opened");
      if (missing == Missing::kLeave) return std::nullopt;
      continue;
    }
    CLOCHE_TRY(check_ours(folder.get()));
    // What is staged shall have the access list of where it goes, not one that the tree's own directory hands down.
    // Such a list may also have kept its owner from searching it.
    if (missing == Missing::kMake && ::fchmod(folder.get(), 0700) != 0) {
      return broken(errno, "the staging directory could not be opened to its owner");
    }
    if (missing == Missing::kMake && ::fremovexattr(folder.get(), sys::kDefaultAccessList) != 0 && errno != ENODATA &&
        errno != EOPNOTSUPP) {
      return broken(errno, "the access list of the staging directory could not be removed");
    }
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return broken(errno, "the staging directory could not be locked");
      return fail(ErrorCode::kRefused, staging_name(), "another application to this tree is under way",
                  "try again when it has ended");
    }
    if (still_there(root, folder.get())) return Staging(root, std::move(folder), key);
  }
  return fail(ErrorCode::kSystem, staging_name(), "the staging directory does not stay where it is");
}

Result<bool> Staging::holds(const std::string& name) const {
  struct stat st{};
  if (::fstatat(folder(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return broken(errno, name + " could not be looked for");
}

Status Staging::commit(const Journal& journal, const Seal& seal) const {
  const std::string bytes = encode_journal(journal, seal);
  if (bytes.size() > kMaxJournalBytes) {
    return fail(ErrorCode::kInvalidInput, "journal", "the proposal is too large to be applied at once");
  }
  // Every new thing is on the disk before there is a word of it.
  if (journal.size() > kSyncedEach && ::syncfs(folder()) != 0) {
    return broken(errno, "what is new could not be made durable");
  }
  if (::fsync(root_) != 0) return broken(errno, "the tree's directory could not be made durable");
  const Fd file(::openat(folder(), kUnfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return broken(errno, "the journal could not be made");
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t n = ::write(file.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken(errno, "the journal could not be written");
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) return broken(errno, "the journal could not be made durable");
  auto committed = advance(Stage::kOpen, Stage::kCommitted);
  // Not known to be durable is not decided: the caller says that nothing was changed, and no recovery shall.
  if (!committed) (void)::unlinkat(folder(), journal_name(Stage::kCommitted), 0);
  return committed;
}

Result<Stage> Staging::stage() const {
  // There is never more than one, unless somebody put it there; then the one that loses least counts.
  for (const Stage stage : {Stage::kUndoing, Stage::kCommitted, Stage::kDone}) {
    CLOCHE_TRY_ASSIGN(const bool found, holds(journal_name(stage)));
    if (found) return stage;
  }
  return Stage::kOpen;
}

Result<Journal> Staging::journal(Stage stage, const Seal& seal) const {
  const Fd file(::openat(folder(), journal_name(stage), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st{};
  if (!file.valid() || ::fstat(file.get(), &st) != 0) return broken(errno, "the journal could not be opened");
  if (!S_ISREG(st.st_mode) || static_cast<std::uint64_t>(st.st_size) > kMaxJournalBytes) {
    return fail(ErrorCode::kRefused, "journal", "the journal is no file, or too large for one",
                "look into " + staging_name() + " and remove it");
  }
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return broken(n < 0 ? errno : 0, "the journal could not be read");
    at += static_cast<std::size_t>(n);
  }
  return decode_journal(bytes, seal);
}

Status Staging::advance(Stage from, Stage to) const {
  // The directory first: what was moved so far must not come later than the word that it was moved.
  if (::fsync(folder()) != 0) return broken(errno, "the staging directory could not be made durable");
  if (::renameat(folder(), journal_name(from), folder(), journal_name(to)) != 0) {
    return broken(errno, "the journal could not be renamed");
  }
  if (::fsync(folder()) != 0) return broken(errno, "the staging directory could not be made durable");
  return {};
}

Status Staging::clear(const Progress& progress) const {
  CLOCHE_TRY_ASSIGN(std::vector<std::string> names, names_in(folder()));
  // The journal last: without it, what is left would look as if nothing had been decided.
  std::ranges::stable_partition(names, [](const std::string& name) { return !name.starts_with("journal"); });
  for (const std::string& name : names) {
    if (progress) progress("clean " + name);
    CLOCHE_TRY(remove(folder(), name));
  }
  return {};
}

Status Staging::discard(const Progress& progress) const {
  CLOCHE_TRY(clear(progress));
  if (progress) progress("remove " + staging_name());
  if (still_there(root_, folder()) && ::unlinkat(root_, staging_name().c_str(), AT_REMOVEDIR) != 0) {
    return broken(errno, "the staging directory could not be removed");
  }
  return {};
}

}  // namespace cloche::tree
