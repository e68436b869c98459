// What `cloche learn` hands over: a policy, a document, or edits of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/learn_session.h"
#include "cli/report_file.h"

namespace cloche::cli {

// The text, once it was read back and says what was learnt.
Result<std::string> checked_text(const learn::Learnt& learnt);

std::string learn_json(const LearnEnd& end, const std::string& policy);
std::string summary_text(const LearnEnd& end);
std::string wanted_text(const std::vector<learn::Wanted>& wanted);

enum class MergeAnswer : std::uint8_t { kAsk, kYes };
// Shows the difference on stdout and writes it if the answer is yes; returns the exit code.
int write_merged(const LearnEnd& end, const std::string& path, const ReportFile& file, MergeAnswer answer);

}  // namespace cloche::cli
