#include "store/run_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/units.h"
#include "store/book.h"
#include "store/entry.h"
#include "store/files.h"

namespace cloche::store {
namespace {

constexpr const char* kStep = "run";
constexpr const char* kList = "`cloche ps --all` lists the runs";
constexpr std::size_t kReportLimit = std::size_t{256} * 1024 * 1024;
constexpr Millis kPatience = std::chrono::seconds(2);
constexpr Millis kPause{10};

std::unexpected<Error> no_such_run(std::string_view name) {
  return fail(ErrorCode::kNotFound, kStep, "there is no run " + shown_text(name), kList);
}

Result<std::string> newest(const Folders& folders) {
  CLOCHE_TRY_ASSIGN(const std::vector<ListedRun> runs, list_runs(folders, Measure::kNo));
  for (const ListedRun& run : runs) {
    if (run.file) return run.id;
  }
  return fail(ErrorCode::kNotFound, kStep, "no run is recorded", "`cloche run` records each run");
}

// Every run there is, in a directory or a book.
Result<std::vector<std::string>> all_names(const Folders& folders) {
  CLOCHE_TRY_ASSIGN(std::vector<std::string> names, run_names(folders.runs));
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> books, book_names(folders.state.get()));
  for (const std::string& name : books) {
    const auto book = Book::open(folders.state.get(), name);
    if (!book) continue;
    for (const BookRun& run : book->runs()) names.push_back(run.file.id);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  return names;
}

Result<std::string> complete(const Folders& folders, std::string_view name) {
  if (name == "last") return newest(folders);
  if (!is_run_id(name)) {
    return fail(ErrorCode::kInvalidInput, kStep, shown_text(name) + " is not the name of a run",
                "give an id, its first characters (4 or more) or `last`");
  }
  CLOCHE_TRY_ASSIGN(std::vector<std::string> names, all_names(folders));
  std::erase_if(names, [&](const std::string& one) { return !one.starts_with(name); });
  if (names.empty()) return no_such_run(name);
  if (names.size() == 1 || std::ranges::find(names, name) != names.end()) {
    return names.size() == 1 ? names.front() : std::string(name);
  }
  constexpr std::size_t kMostShown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostShown) list += ", …";
  return fail(ErrorCode::kInvalidInput, kStep,
              std::to_string(names.size()) + " runs begin with " + shown_text(name) + ": " + list,
              "give more of the id");
}

std::unexpected<Error> still_running(const std::string& id, const Result<RunFile>& file) {
  const std::string who = file && file->pid > 0 ? " as process " + std::to_string(file->pid) : std::string();
  return fail(ErrorCode::kRefused, kStep, "run " + id + " is still running" + who, "wait for its end, or cancel it");
}

// Somebody may be slow, but nobody waits for ever.
Status take_use(Lock& lock, Use use, const std::string& id) {
  const auto share = use == Use::kChange ? Lock::Share::kAlone : Lock::Share::kShared;
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    CLOCHE_TRY_ASSIGN(const Lock::Taken taken, lock.take(Lock::Part::kUse, share));
    if (taken == Lock::Taken::kYes) return {};
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  return fail(ErrorCode::kRefused, kStep, "run " + id + " is in use by " + lock.holder(),
              "try again when that is done");
}

}  // namespace

Result<RunDirectory> RunDirectory::in_a_book(int state, const std::string& id) {
  CLOCHE_TRY_ASSIGN(const std::vector<std::string> books, book_names(state));
  for (const std::string& name : books) {
    const auto book = Book::open(state, name);
    if (!book) continue;
    const auto run = std::ranges::find(book->runs(), id, [](const BookRun& one) { return one.file.id; });
    if (run == book->runs().end()) continue;
    if (book->state_of(*run) == RunState::kRunning) return still_running(id, run->file);
    return RunDirectory(id, Entry{run->file, std::string(book->report_of(*run))});
  }
  return no_such_run(id);
}

Result<std::string> find_run_id(const Place& place, std::string_view name) {
  CLOCHE_TRY_ASSIGN(const Folders folders, open_folders(place));
  return complete(folders, name);
}

Result<RunDirectory> find_run(const Place& place, std::string_view name, Use use) {
  CLOCHE_TRY_ASSIGN(const Folders folders, open_folders(place));
  CLOCHE_TRY_ASSIGN(std::string id, complete(folders, name));
  Fd directory;
  if (folders.runs.valid()) directory = open_entry(folders.runs.get(), id);
  if (!directory.valid()) {
    if (!folders.runs.valid() || errno == ENOENT) return RunDirectory::in_a_book(folders.state.get(), id);
    return fail_errno(errno, kStep, "the directory of run " + id + " could not be opened", "`cloche gc` removes it");
  }
  auto lock = Lock::open(directory.get(), Lock::Missing::kFail);
  if (!lock && lock.error().code == ErrorCode::kNotFound) return no_such_run(id);
  if (!lock) return std::unexpected(lock.error());
  CLOCHE_TRY_ASSIGN(const Lock::Taken life, lock->probe(Lock::Part::kLife));
  // A collection holds its life, too, and without an end of the run it is hard to tell; either way it is not ours.
  if (life == Lock::Taken::kBusy) return still_running(id, read_run_file(directory.get()));
  CLOCHE_TRY(take_use(*lock, use, id));
  if (!still_named(folders.runs.get(), id, directory.get())) return no_such_run(id);
  return RunDirectory(id, std::move(directory), std::move(*lock));
}

Result<RunFile> RunDirectory::read() const {
  if (entry_) return entry_->file;
  return read_run_file(fd());
}

Result<std::string> RunDirectory::report() const {
  if (!entry_) return read_in(fd(), kReportFile, kReportLimit);
  if (!entry_->file.end) return fail(ErrorCode::kNotFound, "run " + id_, "it crashed and has no report", kList);
  return entry_->report;
}

Status RunDirectory::set_keeps(std::vector<std::string> keeps) {
  if (entry_) return fail(ErrorCode::kInternal, kStep, "run " + id_ + " keeps nothing");
  CLOCHE_TRY_ASSIGN(RunFile file, read());
  file.facts.keeps = std::move(keeps);
  if (file.end) file.end->keeps.reset();
  return replace_file(fd(), kRunFile, encode(file), Durable::kYes);
}

}  // namespace cloche::store
