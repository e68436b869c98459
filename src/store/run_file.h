// run.json: the few facts about a run that a list needs. The whole report lies beside it. Both are written at the end;
// until then the same facts, without an end, stand in the run's lock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::store {

inline constexpr int kRunFileVersion = 1;
inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kReportFile = "report.json";
inline constexpr std::size_t kRunFileLimit = 64 * 1024;

using Moment = std::chrono::sys_time<std::chrono::milliseconds>;
Moment moment_now();

struct RunFacts {
  std::vector<std::string> argv;  // as the user gave it; cut where it is long
  std::string policy;
  std::string tier;
  std::vector<std::string> keeps = {};  // "workspace", "artifacts", "outputs"
  bool operator==(const RunFacts&) const = default;
};

struct RunEnd {
  std::string outcome;                                 // as the report has it: "exited", "wall"
  int exit_code = 0;                                   // of `cloche run`
  std::optional<std::vector<std::string>> keeps = {};  // in place of those at the start
  bool operator==(const RunEnd&) const = default;
};

struct RunFile {
  std::string id;
  RunFacts facts;
  pid_t pid = 0;
  Moment started;
  Moment ended;               // where there is an end
  std::optional<RunEnd> end;  // none: it runs, or it crashed
  bool operator==(const RunFile&) const = default;
};

// argv as it is kept: at most 64 words and 4096 bytes; what is cut ends with "…".
std::vector<std::string> bounded(const std::vector<std::string>& argv);

std::string encode(const RunFile& file);
// Anyone may have written it: every value is checked, and what does not fit is an error.
Result<RunFile> decode(std::string_view text);

// From run.json or, where there is none yet, from what the run wrote at its start into its lock.
Result<RunFile> read_run_file(int directory);

}  // namespace cloche::store
