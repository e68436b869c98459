// The part of carrying out that takes it all back.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "tree/carry_out.h"
#include "tree/moves.h"
#include "tree/path_rules.h"

namespace cloche::tree {

Status CarryOut::back() {
  way_ = Way::kBack;
  find_kept();
  undo_each(Order::kParentsFirst, &CarryOut::loosen_again);
  undo_each(Order::kChildrenFirst, &CarryOut::clear_way_back);
  undo_each(Order::kParentsFirst, &CarryOut::bring_back);
  undo_each(Order::kChildrenFirst, &CarryOut::restore_mode);
  CLOCHE_TRY(find_left());
  CLOCHE_TRY(settle());
  return obstacle_ ? Status(std::unexpected(*obstacle_)) : Status();
}

void CarryOut::undo_each(Order order, Step step) {
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    auto done = (this->*step)(order == Order::kParentsFirst ? i : journal_.size() - 1 - i);
    if (!done && !obstacle_) obstacle_ = std::move(done).error();
  }
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

// A directory that was taken out itself, and could not go back because of another one: what was in it goes there.
bool CarryOut::folder_is_away(std::size_t number) const {
  const std::string& path = journal_[number].path;
  const std::string parent = path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  const auto found = std::ranges::lower_bound(journal_, parent, {}, &Entry::path);
  if (found == journal_.end() || found->path != parent || !found->takes() ||
      found->old_thing->identity.inode != folder_known(number))
    return false;
  const auto away = staging_.holds(Staging::old_name(static_cast<std::size_t>(found - journal_.begin())));
  return !away || *away;
}

std::optional<Fd> CarryOut::folder_back(std::size_t number) const {
  const std::uint64_t inode = folders_of_[number];
  if (inode == 0 || folder_is_away(number)) return std::nullopt;
  return folders_.find(inode);
}

Result<Place> CarryOut::place_back(std::size_t number) {
  const std::string& path = journal_[number].path;
  if (auto folder = folder_back(number)) return Place{*std::move(folder), path.substr(path.rfind('/') + 1)};
  auto place = find_patiently(path);
  // Not held any more, but known: what has its path by now may be somebody else's.
  if (place && is_another(number, *place) && !folder_is_away(number)) {
    return fail_errno(ENOENT, "undo " + printable(path),
                      "another directory is at the place of the one that was changed");
  }
  return place;
}

bool CarryOut::is_spoiled(std::size_t number) const {
  const Entry& entry = journal_[number];
  return folders_of_[number] == 0 && !is_as_kept(*entry.old_thing, staging_.folder(), Staging::old_name(number));
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
  if (is_spoiled(number)) {
    CLOCHE_TRY(take_back(number));
    return put_back(number);
  }
  const auto place = place_back(number);
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
  const auto place = place_back(number);
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
  if (is_spoiled(number)) return keep_aside(number, KeptAside::Why::kChanged);
  tell("put back", entry);
  const auto place = place_back(number);
  if (!place) {
    // A directory that is gone may be one that is still to come back.
    if (place.error().errno_value != ENOENT || obstacle_) return std::unexpected(place.error());
    return keep_aside(number, KeptAside::Why::kFolderGone);
  }
  auto moved = move(staging_.folder(), name, place->folder.get(), place->name, entry);
  if (moved || moved.error().errno_value != EEXIST) return moved;
  if (!is_directory(entry.old_thing)) return keep_aside(number, KeptAside::Why::kTaken);
  // Any directory is as good for what was in it; in anything else that finds no place, and the way has to be cleared.
  struct stat st{};
  const bool serves =
      ::fstatat(place->folder.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
  return serves ? Status() : moved;
}

namespace {

constexpr int kMaxTries = 1000;

void go_up(std::string& folder) { folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/')); }

// Of what is kept aside, but for the number behind it.
std::string stem_of(const std::string& path) {
  constexpr std::size_t kMaxStem = 200;
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1).substr(0, kMaxStem) +
         std::string(kOldSuffix);
}

std::string attempted(const std::string& stem, int attempt) {
  return attempt == 1 ? stem : stem + "-" + std::to_string(attempt);
}

}  // namespace

void CarryOut::find_kept() {
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    if (!journal_[i].takes() || folders_of_[i] != 0) continue;
    const auto waits = staging_.holds(Staging::old_name(i));
    if (waits && !*waits && !old_is_at_its_place(journal_[i])) find_kept(i);
  }
}

void CarryOut::find_kept(std::size_t number) {
  const Entry& entry = journal_[number];
  const std::string stem = stem_of(entry.path);
  for (std::string folder = entry.path; !folder.empty();) {
    go_up(folder);
    const std::string before = folder.empty() ? "" : folder + "/";
    const auto place = find_place(root_, before + stem, Mounts::kRefuse);
    struct stat st{};
    for (int attempt = 1; place && attempt <= kMaxTries; ++attempt) {
      const std::string name = attempted(stem, attempt);
      if (::fstatat(place->folder.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) break;
      if (st.st_ino != entry.old_thing->identity.inode || kind_of(st) != entry.old_thing->kind) continue;
      kept_aside_.push_back({KeptAside::Why::kEarlier, entry.path, before + name});
      return;
    }
  }
}

Status CarryOut::keep_aside(std::size_t number, KeptAside::Why why) {
  const Entry& entry = journal_[number];
  std::string folder = entry.path;
  go_up(folder);
  const std::string stem = stem_of(entry.path);
  const auto path_of = [&](const std::string& name) { return folder.empty() ? name : folder + "/" + name; };
  // Beside its place, or in the nearest directory that there still is.
  Result<Place> place = Place{};
  if (auto own = folder_back(number)) {
    place->folder = *std::move(own);
  } else {
    place = find_place(root_, path_of(stem), Mounts::kRefuse);
  }
  // What somebody put in place of its directory is not one to leave it in; the tree's own is no other.
  if (place && is_another(number, *place) && !folder_is_away(number)) {
    folder.clear();
    place = find_place(root_, stem, Mounts::kRefuse);
  }
  while (!place && place.error().errno_value == ENOENT && !folder.empty()) {
    go_up(folder);
    place = find_place(root_, path_of(stem), Mounts::kRefuse);
  }
  if (!place) return std::unexpected(place.error());
  tell("keep", entry);
  for (int attempt = 1;; ++attempt) {
    const std::string name = attempted(stem, attempt);
    const auto moved = move(staging_.folder(), Staging::old_name(number), place->folder.get(), name, entry);
    if (!moved && moved.error().errno_value == EEXIST && attempt < kMaxTries) continue;
    if (moved) kept_aside_.push_back({why, entry.path, path_of(name)});
    return moved;
  }
}

Status CarryOut::find_left() {
  std::set<std::string_view> told;
  for (const KeptAside& kept : kept_aside_) {
    if (kept.why == KeptAside::Why::kTaken || kept.why == KeptAside::Why::kEarlier) told.insert(kept.path);
  }
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    if (!journal_[i].puts() || told.contains(journal_[i].path)) continue;
    CLOCHE_TRY_ASSIGN(const bool came_back, staging_.holds(Staging::new_name(i)));
    if (!came_back) left_.push_back(journal_[i].path);
  }
  return {};
}

Status CarryOut::restore_mode(std::size_t number) {
  const Entry& entry = journal_[number];
  if (!is_directory(entry.old_thing)) return {};
  auto restored = change_mode(entry, *entry.old_thing, entry.old_thing->mode, 0);
  // Gone or replaced by somebody else: then there is no mode to restore.
  if (!restored && (not_there(restored.error()) || restored.error().errno_value == 0)) return {};
  return restored;
}

}  // namespace cloche::tree
