#include "tree/carry_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "tree/moves.h"
#include "tree/path_rules.h"

namespace cloche::tree {

Status CarryOut::forward() {
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::loosen_old));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::clear_way));
  CLOCHE_TRY(each(Order::kParentsFirst, &CarryOut::bring_in));
  CLOCHE_TRY(each(Order::kChildrenFirst, &CarryOut::finish_mode));
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
  CLOCHE_TRY_ASSIGN(const Fd place, directory_of(entry, thing));
  struct stat st{};
  if (::fstat(place.get(), &st) != 0 || !is(thing, st)) return changed(entry);
  const mode_t mode = (st.st_mode & 07777 & keep) | set;
  if (mode == (st.st_mode & 07777)) return {};
  tell("mode", entry);
  folders_.keep(place.get());
  return set_mode(place.get(), mode, entry.path);
}

Result<Fd> CarryOut::directory_of(const Entry& entry, const Thing& thing) {
  if (way_ == Way::kBack) {
    if (auto held = folders_.find(thing.identity.inode)) return *std::move(held);
  }
  return open_beneath(root_, entry.path, O_PATH | O_DIRECTORY, Mounts::kRefuse);
}

Result<Place> CarryOut::place_now(std::size_t number) {
  CLOCHE_TRY_ASSIGN(Place place, find_place(root_, journal_[number].path, Mounts::kRefuse));
  if (is_another(number, place)) return changed(journal_[number]);
  folders_of_[number] = folders_.keep(place.folder.get());
  return place;
}

bool CarryOut::is_another(std::size_t number, const Place& place) const {
  struct stat st{};
  const std::uint64_t known = folder_known(number);
  return known != 0 && (::fstat(place.folder.get(), &st) != 0 || st.st_ino != known);
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
  // Neither the new thing nor an old one that came out of the tree: somebody else's, and it goes nowhere.
  if (waiting && !is(*entry.old_thing, st) && old_is_at_its_place(entry)) return {};
  tell("sort out", entry);
  return move(staging_.folder(), name, staging_.folder(), waiting ? old_name : new_name, entry);
}

bool CarryOut::old_is_at_its_place(const Entry& entry) const {
  const auto place = find_place(root_, entry.path, Mounts::kRefuse);
  struct stat st{};
  return place && ::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         is(*entry.old_thing, st);
}

Status CarryOut::check_old(const Entry& entry, const Place& place) {
  struct stat st{};
  if (::fstatat(place.folder.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return cannot_move(errno, entry);
  }
  return is_as_checked(*entry.old_thing, st) ? Status() : changed(entry);
}

Status CarryOut::check_new(std::size_t number) const {
  const Entry& entry = journal_[number];
  if (is_as_staged(*entry.new_thing, staging_.folder(), Staging::new_name(number))) return {};
  return spoiled(entry);
}

Status CarryOut::swap(std::size_t number) {
  const Entry& entry = journal_[number];
  CLOCHE_TRY(sort_out(number));
  CLOCHE_TRY_ASSIGN(const bool taken, staging_.holds(Staging::old_name(number)));
  if (!taken) {
    tell("swap", entry);
    CLOCHE_TRY_ASSIGN(const Place place, place_now(number));
    CLOCHE_TRY(check_old(entry, place));
    CLOCHE_TRY(check_new(number));
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
    CLOCHE_TRY_ASSIGN(const Place place, place_now(number));
    CLOCHE_TRY(check_old(entry, place));
    CLOCHE_TRY(move(place.folder.get(), place.name, staging_.folder(), name, entry));
  }
  // Looked at here, where nobody else reaches it: what was moved is what was checked.
  struct stat st{};
  if (::fstatat(staging_.folder(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !is_as_taken(*entry.old_thing, st)) {
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
  CLOCHE_TRY_ASSIGN(const Place place, place_now(number));
  CLOCHE_TRY(check_new(number));
  return move(staging_.folder(), name, place.folder.get(), place.name, entry);
}

Status CarryOut::finish_mode(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!is_directory(entry.new_thing)) return {};
  // The set-id and sticky bits of a directory are the host's own: no proposal sets them or takes them away.
  if (entry.only_mode()) return change_mode(entry, *entry.old_thing, entry.new_thing->mode, 07000);
  return change_mode(entry, *entry.new_thing, entry.new_thing->mode, S_ISGID);  // which the directory above passes on
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
