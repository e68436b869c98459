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

std::unexpected<Error> cannot_move(int error, const Entry& entry) {
  std::string hint;
  if (error == EEXIST) hint = "something new is at its place";
  if (error == EXDEV) hint = "a mount is in the way, or an overlay that cannot rename directories";
  if (error == EINVAL) hint = "this file system cannot rename without replacing";
  return fail_errno(error, "apply " + printable(entry.path), "could not be moved", std::move(hint));
}

Status move(int from, const std::string& name, int to, const std::string& new_name, const Entry& entry) {
  // Never over something: whatever is there now was not there when it was checked.
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), RENAME_NOREPLACE) == 0) return {};
  return cannot_move(errno, entry);
}

// False where the file system cannot do it.
Result<bool> exchange(int folder, const std::string& name, const Place& place, const Entry& entry) {
  if (::renameat2(folder, name.c_str(), place.folder.get(), place.name.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL) return false;
  return cannot_move(errno, entry);
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
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::clear_way));
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::bring_in));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::finish_mode));
  return settle();
}

Status CarryOut::back() {
  undo_each(Order::kParentsFirst, &CarryOut::loosen_again);
  undo_each(Order::kChildrenFirst, &CarryOut::clear_way_back);
  undo_each(Order::kParentsFirst, &CarryOut::bring_back);
  undo_each(Order::kChildrenFirst, &CarryOut::restore_mode);
  CLOCHE_TRY(settle());
  return obstacle_ ? Status(std::unexpected(*obstacle_)) : Status();
}

Status CarryOut::each(Order order, Step step) {
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    CLOCHE_TRY((this->*step)(order == Order::kParentsFirst ? i : journal_.size() - 1 - i));
  }
  return {};
}

void CarryOut::undo_each(Order order, Step step) {
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    auto done = (this->*step)(order == Order::kParentsFirst ? i : journal_.size() - 1 - i);
    if (!done && !obstacle_) obstacle_ = std::move(done).error();
  }
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

Status CarryOut::clear_way(std::size_t number) { return journal_[number].swaps() ? Status() : take(number); }

Status CarryOut::bring_in(std::size_t number) { return journal_[number].swaps() ? swap(number) : put(number); }

Status CarryOut::sort_out(std::size_t number) {
  const Entry& entry = journal_[number];
  const std::string new_name = Staging::new_name(number);
  const std::string old_name = Staging::old_name(number);
  CLOCHE_TRY_ASSIGN(const bool waiting, staging_.holds(new_name));
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(old_name));
  if (waiting == taken) return {};
  const std::string& name = waiting ? new_name : old_name;
  struct stat st{};
  if (::fstatat(staging_.folder(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_errno(errno, "apply " + printable(entry.path), "could not be inspected");
  }
  if (is(*entry.new_thing, st) == waiting) return {};
  tell("sort out", entry);
  return move(staging_.folder(), name, staging_.folder(), waiting ? old_name : new_name, entry);
}

Status CarryOut::swap(std::size_t number) {
  const Entry& entry = journal_[number];
  CLOCHE_TRY(sort_out(number));
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(Staging::old_name(number)));
  if (!taken) {
    tell("swap", entry);
    CLOCHE_TRY_ASSIGN(const Place place, find_place(root_, entry.path, Mounts::kRefuse));
    CLOCHE_TRY_ASSIGN(const bool exchanged, exchange(staging_.folder(), Staging::new_name(number), place, entry));
    if (exchanged) CLOCHE_TRY(sort_out(number));
  }
  // Where it was exchanged, this looks at what came out and finds nothing to put.
  CLOCHE_TRY(take(number));
  return put(number);
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
  return change_mode(entry, *entry.new_thing, entry.new_thing->mode, S_ISGID);  // which the directory above passes on
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

Status CarryOut::clear_way_back(std::size_t number) { return journal_[number].swaps() ? Status() : take_back(number); }

Status CarryOut::bring_back(std::size_t number) {
  return journal_[number].swaps() ? swap_back(number) : put_back(number);
}

Status CarryOut::swap_back(std::size_t number) {
  const Entry& entry = journal_[number];
  const std::string name = Staging::old_name(number);
  CLOCHE_TRY(sort_out(number));
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(name));
  if (!taken) return {};
  const auto place = find_patiently(entry.path);
  struct stat st{};
  if (place && ::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      is(*entry.new_thing, st)) {
    tell("swap back", entry);
    const auto exchanged = exchange(staging_.folder(), name, *place, entry);
    if (!exchanged && exchanged.error().errno_value != ENOENT) return std::unexpected(exchanged.error());
    if (exchanged && !*exchanged) CLOCHE_TRY(take_back(number));
    if (exchanged && *exchanged) {
      CLOCHE_TRY(sort_out(number));
      CLOCHE_TRY_ASSIGN(const bool others, staging_.holds(name));
      if (!others) return {};
      // Somebody was quicker than the exchange: what is theirs goes where they put it.
      CLOCHE_TRY(exchange(staging_.folder(), name, *place, entry));
    }
  }
  return put_back(number);
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
  const auto place = find_patiently(entry.path);
  if (!place) {
    // A directory that is gone may be one that is still to come back.
    if (place.error().errno_value != ENOENT || obstacle_) return std::unexpected(place.error());
    return keep_aside(number);
  }
  auto moved = move(staging_.folder(), name, place->folder.get(), place->name, entry);
  if (moved || moved.error().errno_value != EEXIST) return moved;
  if (!is_directory(entry.old_thing)) return keep_aside(number);
  // Any directory is as good for what was in it; in anything else that finds no place, and the way has to be cleared.
  struct stat st{};
  const bool serves =
      ::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
  return serves ? Status() : moved;
}

Status CarryOut::keep_aside(std::size_t number) {
  constexpr std::size_t kMaxStem = 200;
  constexpr int kMaxTries = 1000;
  const Entry& entry = journal_[number];
  std::string folder = entry.path;
  const auto go_up = [&folder] { folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/')); };
  go_up();
  const std::string stem =
      entry.path.substr(folder.empty() ? 0 : folder.size() + 1).substr(0, kMaxStem) + std::string(kOldSuffix);
  const auto path_of = [&](const std::string& name) { return folder.empty() ? name : folder + "/" + name; };
  // In the nearest directory that there still is.
  auto place = find_place(root_, path_of(stem), Mounts::kRefuse);
  while (!place && place.error().errno_value == ENOENT && !folder.empty()) {
    go_up();
    place = find_place(root_, path_of(stem), Mounts::kRefuse);
  }
  if (!place) return std::unexpected(place.error());
  tell("keep", entry);
  for (int attempt = 1;; ++attempt) {
    const std::string name = attempt == 1 ? stem : stem + "-" + std::to_string(attempt);
    const auto moved = move(staging_.folder(), Staging::old_name(number), place->folder.get(), name, entry);
    if (!moved && moved.error().errno_value == EEXIST && attempt < kMaxTries) continue;
    if (moved) kept_aside_.push_back({entry.path, path_of(name)});
    return moved;
  }
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
