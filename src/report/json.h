// A report as JSON (X1: one form for every tier). Every key stands in schema.cc; docs/report.md explains them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace cloche {

inline constexpr int kReportVersion = 1;

// Pretty, two spaces, ASCII only and with a newline at the end: printing the file to a terminal is harmless, whatever
// the guest put in it.
std::string to_json(const Report& report);

// The denials alone: {"id": …, "denials": […]}.
std::string denials_json(const Report& report);

// Reads what to_json wrote. Keys that it does not know are ignored, as a later minor release may add some; a missing
// key, a wrong type or another version is an error that names the key.
Result<Report> from_json(std::string_view text);

}  // namespace cloche
