#include "store/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "store/book.h"
#include "store/entry.h"
#include "store/live.h"
#include "store/lock.h"
#include "sys/file.h"

namespace cloche::store {
namespace {

constexpr const char* kGcLock = "gc.lock";
constexpr std::string_view kGone = ".gone-";
constexpr const char* kStep = "gc";
constexpr Millis kPatience = std::chrono::seconds(2);
constexpr Millis kPause{10};
constexpr auto kPeriod = std::chrono::hours(1);
constexpr Millis kBudget{200};

enum class Turn { kAtOnce, kWait };

// Collections are done one at a time; nobody else touches what is half removed.
Result<Lock> take_turn(int state, Turn turn) {
  CLOCHE_TRY_ASSIGN(Lock lock, Lock::open(state, Lock::Missing::kMake, kGcLock));
  const auto deadline = Clock::now() + (turn == Turn::kWait ? kPatience : Millis(0));
  for (;;) {
    CLOCHE_TRY_ASSIGN(const Lock::Taken taken, lock.take(Lock::Part::kUse, Lock::Share::kAlone));
    if (taken == Lock::Taken::kYes) return lock;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  return fail(ErrorCode::kRefused, kStep, lock.holder() + " collects already", "try again when it is done");
}

Result<std::vector<std::string>> half_removed(const Fd& runs) {
  if (!runs.valid()) return std::vector<std::string>{};
  const int fd = ::openat(runs.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* list) { ::closedir(list); };
  const std::unique_ptr<DIR, decltype(close)> list(fd < 0 ? nullptr : ::fdopendir(fd), close);
  if (!list) return fail_errno(errno, kStep, "the directory of runs could not be listed");
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(kGone) && is_run_id(name.substr(kGone.size())) && out.size() < kMostRuns)
      out.emplace_back(name);
  }
  return out;
}

enum class Claim { kOurs, kInUse, kVanished };

// Nobody has a lock that is no file: it was put there by somebody else, and holds nobody off.
bool is_no_lock(const Error& error) {
  return error.code == ErrorCode::kRefused || error.errno_value == ELOOP || error.errno_value == ENXIO ||
         error.errno_value == EISDIR;
}

class Collection {
 public:
  Collection(const Folders& folders, const GoOn& go_on, const Sweep& sweep, Collected& out)
      : state_(folders.state.get()), runs_(folders.runs.get()), go_on_(go_on), sweep_(sweep), out_(out) {}

  void finish_half_removed(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (out_.stopped) return;
      clear({name.substr(kGone.size()), size_of(runs_, name), Why::kHalfRemoved});
    }
  }

  // Out of the books, all at once: each is read and written once.
  void strike(const std::vector<Choice>& choices) {
    std::set<std::string> ids;
    for (const Choice& choice : choices) {
      if (out_.stopped || !go_on_({choice.id, ++entries_})) {
        out_.stopped = true;
        break;
      }
      if (swept(choice, -1)) ids.insert(choice.id);
    }
    const auto names = book_names(state_);
    if (!names) return out_.failed.push_back(names.error());
    bool failed = false;
    for (const std::string& name : *names) {
      auto book = Book::open(state_, name, Use::kChange);
      // Nothing of ours: none of the runs was read from it.
      if (!book) continue;
      Status done = book->strike(ids);
      const bool none_left =
          std::ranges::all_of(book->runs(), [&](const BookRun& run) { return ids.contains(run.file.id); });
      if (done && none_left) done = remove_if_empty(state_, name);
      if (done) continue;
      out_.failed.push_back(done.error());
      failed = true;
    }
    if (failed) return;
    for (const Choice& choice : choices) {
      if (ids.contains(choice.id)) out_.removed.push_back(choice);
    }
    struck_ = ids.size();
  }
  std::size_t struck() const { return struck_; }

  void remove(const Choice& choice) {
    if (out_.stopped) return;
    std::optional<Lock> lock;
    const auto claimed = claim(choice.id, lock);
    if (!claimed) {
      out_.failed.push_back(claimed.error());
    } else if (*claimed == Claim::kInUse) {
      out_.in_use.push_back(choice.id);
    } else if (*claimed == Claim::kOurs) {
      clear(choice);
    }
  }

 private:
  // While the record is still there: a collection that is killed here is begun again. Nobody holds the run.
  bool swept(const Choice& choice, int directory) {
    const bool killed = choice.why == Why::kCrashed || choice.why == Why::kHalfRemoved;
    const auto go_on = [&] {
      out_.stopped = out_.stopped || !go_on_({choice.id, ++entries_});
      return !out_.stopped;
    };
    if (!killed || !sweep_) return true;
    const Status done = sweep_(choice.id, directory, go_on);
    if (done) return true;
    if (done.error().code == ErrorCode::kRefused) {
      out_.in_use.push_back(choice.id);
    } else if (done.error().errno_value != ECANCELED) {
      out_.failed.push_back(not_all(choice, done.error()));
    }
    return false;
  }

  // What is left is on record, so that it is not forgotten with the run.
  static Error not_all(const Choice& choice, Error error) {
    error.message = "run " + choice.id + " could not be removed as a whole: " + error.step + ": " + error.message;
    error.step = kStep;
    error.hint += std::string(error.hint.empty() ? "" : "; ") + "the next `cloche gc` tries again";
    return error;
  }

  // Renames the run away, so that no name leads to it any more. The lock is held until it is gone.
  Result<Claim> claim(const std::string& id, std::optional<Lock>& lock) {
    const Fd directory = open_entry(runs_, id);
    if (directory.valid()) {
      auto opened = Lock::open(directory.get(), Lock::Missing::kMake);
      if (opened) {
        CLOCHE_TRY_ASSIGN(const Lock::Taken taken, opened->take(Lock::Part::kBoth, Lock::Share::kAlone));
        if (taken == Lock::Taken::kBusy) return Claim::kInUse;
        lock = std::move(*opened);
      } else if (!is_no_lock(opened.error())) {
        return std::unexpected(opened.error());
      }
      if (!still_named(runs_, id, directory.get())) return Claim::kVanished;
    } else if (errno == ENOENT) {
      return Claim::kVanished;
    } else if (errno != ENOTDIR && errno != ELOOP) {
      return fail_errno(errno, kStep, "run " + id + " could not be opened");
    }
    const std::string gone = std::string(kGone) + id;
    if (::renameat(runs_, id.c_str(), runs_, gone.c_str()) != 0) {
      return fail_errno(errno, kStep, "run " + id + " could not be removed");
    }
    return Claim::kOurs;
  }

  void clear(const Choice& choice) {
    const std::string gone = std::string(kGone) + choice.id;
    const Fd directory = open_entry(runs_, gone);
    if (!swept(choice, directory.get())) return;
    const std::string path = "/proc/self/fd/" + std::to_string(runs_) + "/" + gone;
    Status removed = sys::remove_tree(path, [&] { return go_on_({choice.id, ++entries_}); });
    if (!removed) removed.error().step = "remove runs/" + gone;
    if (removed) {
      out_.removed.push_back(choice);
    } else if (removed.error().errno_value == ECANCELED) {
      out_.stopped = true;
    } else {
      out_.failed.push_back(not_all(choice, removed.error()));
    }
  }

  int state_;
  int runs_;
  const GoOn& go_on_;
  const Sweep& sweep_;
  Collected& out_;
  std::uint64_t entries_ = 0;
  std::size_t struck_ = 0;
};

Result<Collected> collect_in(const Place& place, const Limits& limits, const GoOn& go_on, const Sweep& sweep,
                             Turn turn) {
  Collected out;
  sweep_live(place);
  auto folders = open_folders(place);
  if (!folders && folders.error().code == ErrorCode::kNotFound) return out;
  if (!folders) return std::unexpected(folders.error());
  CLOCHE_TRY_ASSIGN(const Lock lock, take_turn(folders->state.get(), turn));
  Collection collection(*folders, go_on, sweep, out);
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> rubbish, half_removed(folders->runs));
  collection.finish_half_removed(rubbish);
  CLOCHE_TRY_ASSIGN(const std::vector<ListedRun> all, list_runs(*folders, Measure::kYes));
  std::set<std::string_view> in_books;
  for (const ListedRun& run : all) {
    if (run.shape == RunShape::kEntry) in_books.insert(run.id);
  }
  std::vector<Choice> chosen = choose(all, limits, moment_now());
  const auto entries =
      std::ranges::stable_partition(chosen, [&](const Choice& one) { return !in_books.contains(one.id); });
  const std::vector<Choice> struck(entries.begin(), entries.end());
  chosen.erase(entries.begin(), entries.end());
  for (const Choice& choice : chosen) collection.remove(choice);
  collection.strike(struck);
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> left, run_names(folders->runs));
  out.left = left.size() + in_books.size() - collection.struck();
  // Its time is what collect_if_due() goes by; one that was stopped goes on with the next run.
  const timespec long_ago{0, 0};
  const timespec now{0, UTIME_NOW};
  const timespec times[2] = {out.stopped ? long_ago : now, out.stopped ? long_ago : now};
  ::utimensat(folders->state.get(), kGcLock, times, AT_SYMLINK_NOFOLLOW);
  return out;
}

}  // namespace

Bytes Collected::freed() const {
  Bytes out;
  for (const Choice& one : removed) {
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - out.count;
    out.count += std::min(room, one.size.count);
  }
  return out;
}

Result<Collected> preview(const Place& place, const Limits& limits) {
  Collected out;
  auto folders = open_folders(place);
  if (!folders && folders.error().code == ErrorCode::kNotFound) return out;
  if (!folders) return std::unexpected(folders.error());
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> rubbish, half_removed(folders->runs));
  for (const std::string& name : rubbish) {
    out.removed.push_back({name.substr(kGone.size()), size_of(folders->runs.get(), name), Why::kHalfRemoved});
  }
  CLOCHE_TRY_ASSIGN(const std::vector<ListedRun> all, list_runs(*folders, Measure::kYes));
  const std::vector<Choice> chosen = choose(all, limits, moment_now());
  out.left = all.size() - chosen.size();
  out.removed.insert(out.removed.end(), chosen.begin(), chosen.end());
  return out;
}

Result<Collected> collect(const Place& place, const Limits& limits, const GoOn& go_on, const Sweep& sweep) {
  return collect_in(place, limits, go_on, sweep, Turn::kWait);
}

void collect_if_due(const Place& place, const std::map<std::string, std::string>& env, const Sweep& sweep) {
  struct stat st{};
  if (::lstat((place.directory + "/" + kGcLock).c_str(), &st) == 0) {
    const auto last = std::chrono::system_clock::from_time_t(st.st_mtime);
    const auto now = std::chrono::system_clock::now();
    // A clock that was set back must not stop it for ever.
    if (last <= now && now - last < kPeriod) return;
  }
  // With limits that cannot be read nothing is removed: what is deleted is not to be guessed.
  const auto limits = automatic_limits(env);
  if (!limits) return;
  const auto deadline = Clock::now() + kBudget;
  (void)collect_in(place, *limits, [&](const Progress&) { return Clock::now() < deadline; }, sweep, Turn::kAtOnce);
}

}  // namespace cloche::store
