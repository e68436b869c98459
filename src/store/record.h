// Record: the directory of a run that this process makes. Whoever sees it knows the run lives while this is held, and
// that it crashed when nobody holds it and run.json has no end.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "store/lock.h"
#include "store/place.h"
#include "store/run_file.h"

namespace cloche::store {

class Record {
 public:
  // Makes the state directory if need be, and the run's. Nothing stays of one that failed but what a collection finds.
  static Result<Record> begin(const Place& place, const std::string& id, const RunFacts& facts);

  int fd() const { return directory_.get(); }
  const std::string& path() const { return path_; }
  const std::string& id() const { return file_.id; }

  // Once. A run that keeps something is on the disk when this returns; a plain one costs no wait for it.
  Status finish(const RunEnd& end, std::string_view report_json);

 private:
  Record(Fd directory, Lock lock, std::string path, RunFile file)
      : directory_(std::move(directory)), lock_(std::move(lock)), path_(std::move(path)), file_(std::move(file)) {}

  Fd directory_;
  Lock lock_;
  std::string path_;
  RunFile file_;
};

}  // namespace cloche::store
