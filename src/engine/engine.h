// The facade: one call from a request to a report.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"
#include "report/report.h"

namespace cloche {

enum class OutputStream : unsigned char { kOut, kErr };

// How a run is connected to its caller. Descriptors are borrowed: the caller keeps them open until the report.
struct RunIo {
  int stdin_fd = -1;      // passed to the guest through a pipe; -1: the guest's stdin is empty
  int terminal_fd = -1;   // with Request::tty: the caller's terminal, relayed to the cell's own pty; -1: none
  int cancel_fd = -1;     // becoming readable cancels the run
  std::function<void(OutputStream, std::string_view)> on_output;  // live, on the supervising thread
  std::size_t tail_bytes = 64 * 1024;                             // ring per stream in the report
};

// Plans, launches, supervises and reports. Never throws; every failure is an outcome in the report.
Report run(const Policy& policy, const Request& request, const HostFacts& host, const RunIo& io);

}  // namespace cloche
