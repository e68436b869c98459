#include "tree/carry_out.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

std::unexpected<Error> changed(const Entry& entry) {
  return fail(ErrorCode::kSystem, "apply " + printable(entry.path), "it was changed by somebody else meanwhile",
              "try again when nothing else writes to the tree");
}

Status move(int from, const std::string& name, int to, const std::string& new_name, const Entry& entry) {
  // Never over something: whatever is there now was not there when it was checked.
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), RENAME_NOREPLACE) == 0) return {};
  const int error = errno;
  std::string hint;
  if (error == EEXIST) hint = "something new is at its place";
  if (error == EXDEV) hint = "a mount is in the way, or an overlay that cannot rename directories";
  if (error == EINVAL) hint = "this file system cannot rename without replacing";
  return fail_errno(error, "apply " + printable(entry.path), "could not be moved", std::move(hint));
}

bool is(const Thing& thing, const struct stat& st) {
  return kind_of(st) == thing.kind && identity_of(st) == thing.identity;
}

bool is_directory(const std::optional<Thing>& thing) { return thing && thing->kind == FileKind::kDirectory; }

bool not_there(const Error& error) {
  return error.errno_value == ENOENT || error.errno_value == ENOTDIR || error.errno_value == ELOOP;
}

}  // namespace

Status CarryOut::forward() {
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::loosen_old));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::take));
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::put));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::finish_mode));
  return settle();
}

Status CarryOut::back() {
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::loosen_again));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::take_back));
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::put_back));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::restore_mode));
  return settle();
}

Status CarryOut::each(Order order, Step step) {
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    CLOCHE_TRY((this->*step)(order == Order::kParentsFirst ? i : journal_.size() - 1 - i));
  }
  return {};
}

void CarryOut::tell(const char* step, const Entry& entry) const {
  if (progress_) progress_(std::string(step) + " " + printable(entry.path));
}

Status CarryOut::change_mode(const Entry& entry, const Thing& thing, mode_t set, mode_t keep) {
  CLOCHE_TRY_ASSIGN(const Fd place, open_beneath(root_, entry.path, O_PATH | O_DIRECTORY, Mounts::kRefuse));
  struct stat st{};
  if (::fstat(place.get(), &st) != 0 || !is(thing, st)) return changed(entry);
  const mode_t mode = (st.st_mode & 07777 & keep) | set;
  if (mode == (st.st_mode & 07777)) return {};
  tell("mode", entry);
  return set_mode(place.get(), mode, entry.path);
}

Status CarryOut::loosen_old(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!is_directory(entry.old_thing)) return {};
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(Staging::old_name(number)));
  return taken ? Status() : loosen(entry, *entry.old_thing);
}

Status CarryOut::take(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!entry.takes()) return {};
  const std::string name = Staging::old_name(number);
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(name));
  if (!taken) {
    tell("take", entry);
    CLOCHE_TRY_ASSIGN(const Place place, find_place(root_, entry.path, Mounts::kRefuse));
    CLOCHE_TRY(move(place.folder.get(), place.name, staging_.folder(), name, entry));
  }
  // Looked at here, where nobody else reaches it: what was moved is what was checked.
  struct stat st{};
  if (::fstatat(staging_.folder(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !is(*entry.old_thing, st)) {
    return changed(entry);
  }
  if (!is_directory(entry.old_thing)) return {};
  CLOCHE_TRY_ASSIGN(const Entries entries, entries_of(staging_.folder(), name));
  return entries == Entries::kNone ? Status() : changed(entry);
}

Status CarryOut::put(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!entry.puts()) return {};
  const std::string name = Staging::new_name(number);
  CLOCHE_TRY_ASSIGN(const bool waiting, staging_.holds(name));
  if (!waiting) {
    // Put in place before a crash, perhaps with its final mode, and more may have to go into it.
    return is_directory(entry.new_thing) ? loosen(entry, *entry.new_thing) : Status();
  }
  tell("put", entry);
  CLOCHE_TRY_ASSIGN(const Place place, find_place(root_, entry.path, Mounts::kRefuse));
  return move(staging_.folder(), name, place.folder.get(), place.name, entry);
}

Status CarryOut::finish_mode(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!is_directory(entry.new_thing)) return {};
  // The set-id and sticky bits of a directory are the host's own: no proposal sets them or takes them away.
  if (entry.only_mode()) return change_mode(entry, *entry.old_thing, entry.new_thing->mode, 07000);
  return change_mode(entry, *entry.new_thing, entry.new_thing->mode, 0);
}

Status CarryOut::loosen_again(std::size_t number) {
  const Entry& entry = journal_[number];
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(Staging::old_name(number)));
  CLOCHE_TRY_ASSIGN(const bool waiting, staging_.holds(Staging::new_name(number)));
  // Whichever is there; where it is neither, others are at work, and what follows will see.
  if (is_directory(entry.new_thing) && entry.puts() && !waiting) (void)loosen(entry, *entry.new_thing);
  if (is_directory(entry.old_thing) && !taken) (void)loosen(entry, *entry.old_thing);
  return {};
}

Result<Place> CarryOut::find_patiently(const std::string& path) {
  for (;;) {
    auto place = find_place(root_, path, Mounts::kRefuse);
    if (place || !not_there(place.error()) || patience_ <= 0) return place;
    --patience_;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status CarryOut::take_back(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!entry.puts()) return {};
  const std::string name = Staging::new_name(number);
  CLOCHE_TRY_ASSIGN(const bool waiting, staging_.holds(name));
  if (waiting) return {};
  tell("take back", entry);
  const auto place = find_patiently(entry.path);
  if (!place && place.error().errno_value == ENOENT) return {};
  if (!place) return std::unexpected(place.error());
  struct stat st{};
  if (::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, "undo " + printable(entry.path), "could not be inspected");
  }
  // Somebody else's thing, or a directory that somebody else uses by now, is not ours to remove.
  if (!is(*entry.new_thing, st)) return {};
  if (is_directory(entry.new_thing)) {
    CLOCHE_TRY_ASSIGN(const Entries entries, entries_of(place->folder.get(), place->name));
    if (entries == Entries::kSome) return {};
  }
  return move(place->folder.get(), place->name, staging_.folder(), name, entry);
}

Status CarryOut::put_back(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!entry.takes()) return {};
  const std::string name = Staging::old_name(number);
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(name));
  if (!taken) return {};
  tell("put back", entry);
  CLOCHE_TRY_ASSIGN(const Place place, find_patiently(entry.path));
  return move(staging_.folder(), name, place.folder.get(), place.name, entry);
}

Status CarryOut::restore_mode(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!is_directory(entry.old_thing)) return {};
  auto restored = change_mode(entry, *entry.old_thing, entry.old_thing->mode, 0);
  // Gone or replaced by somebody else: then there is no mode to restore.
  if (!restored && (not_there(restored.error()) || restored.error().errno_value == 0)) return {};
  return restored;
}

Status CarryOut::settle() const {
  if (progress_) progress_("settle");
  std::set<std::string> folders;
  for (const Entry& entry : journal_) {
    const std::size_t slash = entry.path.rfind('/');
    folders.insert(slash == std::string::npos ? "." : entry.path.substr(0, slash));
    if (folders.size() > kSyncedEach) break;
  }
  bool each = folders.size() <= kSyncedEach;
  for (const std::string& folder : folders) {
    if (!each) break;
    const auto fd = open_beneath(root_, folder, O_RDONLY | O_DIRECTORY, Mounts::kRefuse);
    // A directory that is gone needs no sync; one that we may not read is left to the whole file system's.
    if (!fd && not_there(fd.error())) continue;
    each = fd && ::fsync(fd->get()) == 0;
  }
  if (!each && ::syncfs(staging_.folder()) != 0) {
    return fail_errno(errno, "settle", "the changes could not be made durable");
  }
  return {};
}

}  // namespace cloche::tree
