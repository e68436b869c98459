#include "store/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "store/book.h"
#include "store/entry.h"
#include "store/lock.h"

namespace cloche::store {
namespace {

RunState state_of(int directory, const std::optional<RunFile>& file) {
  if (file && file->end) return RunState::kDone;
  auto lock = Lock::open(directory, Lock::Missing::kFail);
  if (!lock) return RunState::kCrashed;
  const auto held = lock->probe(Lock::Part::kLife);
  if (held && *held == Lock::Taken::kYes) {
    // It may have ended since its file was read.
    const auto again = read_run_file(directory);
    return again && again->end ? RunState::kDone : RunState::kCrashed;
  }
  // What cannot be asked for is taken to live: a mistake keeps a directory too long, not too short.
  return RunState::kRunning;
}

constexpr std::uint64_t kMostEntries = 1'000'000;
constexpr std::uint64_t kBlock = 512;

struct Level {
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<std::string> folders;  // still to be entered
};

class Walk {
 public:
  explicit Walk(Fd top) : here_(std::move(top)) {}

  std::uint64_t bytes() {
    if (!enter()) return 0;
    while (!levels_.empty() && entries_ < kMostEntries) {
      if (!step()) break;
    }
    return bytes_;
  }

 private:
  bool enter() {
    struct stat st{};
    if (::fstat(here_.get(), &st) != 0) return false;
    if (levels_.empty()) bytes_ += static_cast<std::uint64_t>(st.st_blocks) * kBlock;
    levels_.push_back({st.st_dev, st.st_ino, {}});
    const int copy = ::openat(here_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto close = [](DIR* list) { ::closedir(list); };
    const std::unique_ptr<DIR, decltype(close)> list(copy < 0 ? nullptr : ::fdopendir(copy), close);
    if (!list) return true;
    while (const dirent* entry = ::readdir(list.get())) {
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      if (++entries_ >= kMostEntries) break;
      count(entry->d_name, st.st_dev);
    }
    return true;
  }

  void count(const char* name, dev_t device) {
    struct stat st{};
    if (::fstatat(here_.get(), name, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
    bytes_ += static_cast<std::uint64_t>(st.st_blocks) * kBlock;
    if (S_ISDIR(st.st_mode) && st.st_dev == device) levels_.back().folders.emplace_back(name);
  }

  // Down into the next directory, or up where there is none. False: the tree changed under us.
  bool step() {
    if (!levels_.back().folders.empty()) {
      const std::string name = std::move(levels_.back().folders.back());
      levels_.back().folders.pop_back();
      Fd next = open_entry(here_.get(), name);
      if (!next.valid()) return true;
      here_ = std::move(next);
      return enter();
    }
    levels_.pop_back();
    if (levels_.empty()) return true;
    Fd up = open_entry(here_.get(), "..");
    struct stat st{};
    if (!up.valid() || ::fstat(up.get(), &st) != 0) return false;
    here_ = std::move(up);
    return st.st_dev == levels_.back().device && st.st_ino == levels_.back().inode;
  }

  Fd here_;
  std::vector<Level> levels_;
  std::uint64_t bytes_ = 0;
  std::uint64_t entries_ = 0;
};

// Nothing: it is gone meanwhile.
std::optional<ListedRun> list_directory(int runs, const std::string& name) {
  ListedRun run;
  run.id = name;
  const Fd directory = open_entry(runs, name);
  if (!directory.valid()) return run;
  if (auto file = read_run_file(directory.get()); file && file->id == name) run.file = std::move(*file);
  run.state = state_of(directory.get(), run.file);
  if (run.state == RunState::kCrashed && !still_named(runs, name, directory.get())) return std::nullopt;
  if (run.state == RunState::kDone && !run.file->end) run.file = read_run_file(directory.get()).value_or(*run.file);
  return run;
}

// A run that somebody wrote into two places is listed once: collections find the other one when that is gone.
void list_book(const Book& book, std::unordered_set<std::string>& seen, std::vector<ListedRun>& out) {
  for (const BookRun& run : book.runs()) {
    if (out.size() >= kMostRuns || !seen.insert(run.file.id).second) continue;
    out.push_back({run.file.id, book.state_of(run), run.file, Book::size_of(run), RunShape::kEntry});
  }
}

}  // namespace

Bytes size_of(int folder, const std::string& name) {
  Fd top = open_entry(folder, name);
  return top.valid() ? Bytes{Walk(std::move(top)).bytes()} : Bytes{};
}

Result<std::vector<ListedRun>> list_runs(const Folders& folders, Measure measure) {
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> names, run_names(folders.runs));
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> books, book_names(folders.state.get()));
  std::vector<ListedRun> out;
  out.reserve(names.size());
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    auto run = list_directory(folders.runs.get(), name);
    if (!run) continue;
    if (measure == Measure::kYes) run->size = size_of(folders.runs.get(), name);
    seen.insert(name);
    out.push_back(std::move(*run));
  }
  for (const std::string& name : books) {
    if (const auto book = Book::open(folders.state.get(), name)) list_book(*book, seen, out);
  }
  const auto started = [](const ListedRun& run) { return run.file ? run.file->started : Moment{}; };
  std::ranges::sort(out, [&](const ListedRun& a, const ListedRun& b) {
    return started(a) != started(b) ? started(a) > started(b) : a.id < b.id;
  });
  return out;
}

Result<std::vector<ListedRun>> list_runs(const Place& place, Measure measure) {
  auto folders = open_folders(place);
  if (!folders && folders.error().code == ErrorCode::kNotFound) return std::vector<ListedRun>{};
  if (!folders) return std::unexpected(folders.error());
  return list_runs(*folders, measure);
}

}  // namespace cloche::store
