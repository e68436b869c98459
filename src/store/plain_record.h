// PlainRecord: the record of a run that keeps nothing but its report, in a book (book.h). It is cheap: one file is
// opened, locked and written to twice, and none is made.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "store/place.h"
#include "store/run_file.h"

namespace cloche::store {

class PlainRecord {
 public:
  // Makes the state directory if need be.
  static Result<PlainRecord> begin(const Place& place, const std::string& id, const RunFacts& facts);

  // Once. Nothing is waited for.
  Status finish(const RunEnd& end, std::string_view report_json);

 private:
  PlainRecord(Fd book, RunFile file) : book_(std::move(book)), file_(std::move(file)) {}

  Fd book_;  // its lock says that the run lives
  RunFile file_;
};

}  // namespace cloche::store
