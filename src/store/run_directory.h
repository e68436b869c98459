// A run of the past, by its name, held while it is used: a collection never removes it meanwhile, and two changers
// never meet.
#pragma once

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
  const std::string& path() const { return path_; }
  int fd() const { return directory_.get(); }

  // What run.json says now. A crashed run has no end, or no such file.
  Result<RunFile> read() const { return read_run_file(fd()); }
  // The whole report, as it was written; kNotFound for a crashed run.
  Result<std::string> report() const;
  // After a change (apply, discard): what the run still keeps. Needs Use::kChange.
  Status set_keeps(std::vector<std::string> keeps);

 private:
  friend Result<RunDirectory> find_run(const Place& place, std::string_view name, Use use);
  RunDirectory(std::string id, std::string path, Fd directory, Lock lock)
      : id_(std::move(id)), path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string id_;
  std::string path_;
  Fd directory_;
  Lock lock_;
};

// NAME: an id, the beginning of one (4 characters or more), or "last", the run that was started last. Fails when there
// is none (kNotFound), several begin so, it still runs, or somebody uses it (kRefused), for which it waits 2 seconds.
Result<RunDirectory> find_run(const Place& place, std::string_view name, Use use);
// The whole id alone, of any run, also one that lives.
Result<std::string> find_run_id(const Place& place, std::string_view name);

}  // namespace cloche::store
