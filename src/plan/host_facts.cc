#include "plan/host_facts.h"

#include <charconv>

namespace cloche {

std::string_view to_string(Controller controller) {
  switch (controller) {
    case Controller::kPids:
      return "pids";
    case Controller::kMemory:
      return "memory";
    case Controller::kCpu:
      return "cpu";
    case Controller::kCpuAcct:
      return "cpuacct";
  }
  return "unknown";
}

bool kernel_at_least(std::string_view release, unsigned major, unsigned minor) {
  unsigned have_major = 0;
  unsigned have_minor = 0;
  const char* const end = release.data() + release.size();
  const auto first = std::from_chars(release.data(), end, have_major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return false;
  if (std::from_chars(first.ptr + 1, end, have_minor).ec != std::errc{}) return false;
  return have_major > major || (have_major == major && have_minor >= minor);
}

}  // namespace cloche
