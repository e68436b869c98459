// A run of the past, by its name. One that has a directory is held while it is used: a collection never removes it
// meanwhile, and two changers never meet. Of one in a book there is nothing to hold: all of it has been read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "store/lock.h"
#include "store/place.h"
#include "store/run_file.h"

namespace cloche::store {

class RunDirectory {
 public:
  const std::string& id() const { return id_; }
  // Of its directory; -1 where it has none, and keeps nothing.
  int fd() const { return directory_.get(); }
  bool has_directory() const { return directory_.valid(); }

  // What run.json says now. A crashed run has no end, or no such file.
  Result<RunFile> read() const;
  // The whole report, as it was written; kNotFound for a crashed run.
  Result<std::string> report() const;
  // After a change (apply, discard): what the run still keeps. Needs Use::kChange.
  Status set_keeps(std::vector<std::string> keeps);

 private:
  friend Result<RunDirectory> find_run(const Place& place, std::string_view name, Use use);
  struct Entry {
    RunFile file;
    std::string report;
  };
  RunDirectory(std::string id, Fd directory, Lock lock)
      : id_(std::move(id)), directory_(std::move(directory)), lock_(std::move(lock)) {}
  RunDirectory(std::string id, Entry entry) : id_(std::move(id)), entry_(std::move(entry)) {}
  static Result<RunDirectory> in_a_book(int state, const std::string& id);

  std::string id_;
  Fd directory_;
  std::optional<Lock> lock_;
  std::optional<Entry> entry_;  // one of the two
};

// NAME: an id, the beginning of one (4 characters or more), or "last", the run that was started last. Fails when there
// is none (kNotFound), several begin so, it still runs, or somebody uses it (kRefused), for which it waits 2 seconds.
Result<RunDirectory> find_run(const Place& place, std::string_view name, Use use);
// The whole id alone, of any run, also one that lives.
Result<std::string> find_run_id(const Place& place, std::string_view name);

}  // namespace cloche::store
