// The record of one `cloche run` in the state directory. A plain run does without when there is no place for it, and
// says nothing: the record is a convenience, and the run is what was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "policy/policy.h"
#include "report/report.h"
#include "store/plain_record.h"
#include "store/record.h"

namespace cloche::cli {

class RunRecord {
 public:
  explicit RunRecord(const Parsed& parsed) : parsed_(&parsed) {}

  // What the run is. Writes nothing: the first process is waited for by now, and a disk may be slow.
  void arm(const Environment& env, const std::string& id, const Policy& policy);
  // Whether finish() will need a report.
  bool armed() const { return armed_; }
  // Whether the run can be asked for by its id: not where records are off, nor where one could not be begun.
  bool is_kept() const { return armed_ && (!tried_ || record_ || plain_); }

  // kNone: a line in a book, once the guest is on its way; never an error. The others are for runs that may keep
  // something in record()->path(): called after arm() and before the start. kMust fails with it.
  enum class Need : std::uint8_t { kNone, kMay, kMust };
  Status begin(Need need);
  // Nothing of a run that keeps nothing.
  store::Record* record() { return record_ ? &*record_ : nullptr; }

  // The end, and now and then a collection. What the run keeps then, if it is other than what was said at its start. An
  // error only where the record was a must.
  Status finish(const Report& report, std::string_view json, std::optional<std::vector<std::string>> keeps = {});

 private:
  Status try_begin(Need need);

  const Parsed* parsed_;
  bool armed_ = false;
  bool tried_ = false;
  bool must_ = false;
  Environment env_;  // of it, what names places and limits
  store::Place place_;
  std::string id_;
  store::RunFacts facts_;
  std::optional<store::Record> record_;  // one of the two
  std::optional<store::PlainRecord> plain_;
};

}  // namespace cloche::cli
