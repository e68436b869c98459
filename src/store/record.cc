#include "store/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/units.h"
#include "store/entry.h"
#include "store/files.h"

namespace cloche::store {
namespace {

constexpr Millis kPatience = std::chrono::seconds(2);
constexpr Millis kPause{1};

struct Fresh {
  Fd directory;
  Lock lock;
};

// Nothing: a collection found the new directory before it was locked, and took it away.
Result<std::optional<Fresh>> make_locked(int runs, const std::string& id) {
  if (::mkdirat(runs, id.c_str(), 0700) != 0) {
    return fail_errno(errno, "record", "the directory of run " + id + " could not be made");
  }
  Fd directory = open_entry(runs, id);
  if (!directory.valid()) return std::nullopt;
  auto lock = Lock::open(directory.get(), Lock::Missing::kMake);
  if (!lock && lock.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!lock) return std::unexpected(lock.error());
  CLOCHE_TRY_ASSIGN(const Lock::Taken taken, lock->take(Lock::Part::kLife, Lock::Share::kAlone));
  if (taken == Lock::Taken::kBusy || !still_named(runs, id, directory.get())) return std::nullopt;
  return Fresh{std::move(directory), std::move(*lock)};
}

}  // namespace

Result<Record> Record::begin(const Place& place, const std::string& id, const RunFacts& facts) {
  if (!is_run_id(id)) return fail(ErrorCode::kInternal, "record", "the name of the run cannot be that of a directory");
  CLOCHE_TRY_ASSIGN(const Fd runs, make_runs(place));
  std::optional<Fresh> fresh;
  bool taken_away = false;
  for (const auto deadline = Clock::now() + kPatience; !fresh && Clock::now() < deadline;) {
    auto made = make_locked(runs.get(), id);
    if (!made && taken_away && made.error().errno_value == EEXIST) {
      std::this_thread::sleep_for(kPause);  // whoever takes it away has yet to give the name free
      continue;
    }
    CLOCHE_TRY_ASSIGN(fresh, std::move(made));
    taken_away = true;
  }
  if (!fresh) return fail(ErrorCode::kSystem, "record", "the directory of run " + id + " was taken away");
  RunFile file{id, facts, ::getpid(), moment_now(), {}, {}};
  file.facts.argv = bounded(facts.argv);
  CLOCHE_TRY(fresh->lock.write(encode(file)));
  return Record(std::move(fresh->directory), std::move(fresh->lock), place.directory + "/runs/" + id, std::move(file));
}

Status Record::finish(const RunEnd& end, std::string_view report_json) {
  file_.end = end;
  file_.ended = moment_now();
  const auto& keeps = end.keeps ? *end.keeps : file_.facts.keeps;
  const Durable durable = keeps.empty() ? Durable::kNo : Durable::kYes;
  // The report first: a run that has an end has a report.
  CLOCHE_TRY(write_new(fd(), kReportFile, report_json, durable));
  return replace_file(fd(), kRunFile, encode(file_), durable);
}

}  // namespace cloche::store
