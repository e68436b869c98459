// --events: what a run does on its way out, as it happens: one JSON object in each line. docs/network.md has the keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "plan/request.h"
#include "report/report.h"

namespace cloche::cli {

class EventLog {
 public:
  // A new or regular file, which is emptied, or the number of a descriptor that is open for writing.
  static Result<EventLog> open(const std::string& target);

  void start(const Request& request, std::string_view policy);
  void connection(const Connection& connection, bool opened);
  void call(const Call& call);
  void change(const GrantChange& change);
  void finish(const Report& report);

 private:
  explicit EventLog(Fd out) : out_(std::move(out)) {}
  // kLast: it says that nothing more comes, and waits a little for its reader: the run is over by then.
  enum class Worth : std::uint8_t { kCounted, kAlways, kLast };
  void put(std::string line, Worth worth);

  Fd out_;
  std::uint64_t written_ = 0;  // bytes
  std::uint64_t lost_ = 0;     // events
};

}  // namespace cloche::cli
