// The denials of a report: what a limit, the filter, the view or the gateway kept from the guest, and what would have
// let it through.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "observe/explain.h"
#include "supervise/run.h"

namespace cloche {
namespace {

int access_mode(observe::Right right) {
  switch (right) {
    case observe::Right::kRead:
      return R_OK;
    case observe::Right::kWrite:
      return W_OK;
    case observe::Right::kExecute:
      break;
  }
  return X_OK;
}

// As the engine's own user, without opening what is there.
std::optional<observe::HostPath> look_on_host(const std::string& path, observe::Right right) {
  const Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!found.valid() || ::fstat(found.get(), &st) != 0) return std::nullopt;
  const std::string link = fmt::format("/proc/self/fd/{}", found.get());
  std::array<char, PATH_MAX> real{};
  const ssize_t size = ::readlink(link.c_str(), real.data(), real.size());
  if (size <= 0 || real[0] != '/') return std::nullopt;
  observe::HostPath out;
  out.real.assign(real.data(), static_cast<std::size_t>(size));
  out.directory = S_ISDIR(st.st_mode);
  out.socket = S_ISSOCK(st.st_mode);
  out.allowed = ::faccessat(AT_FDCWD, link.c_str(), access_mode(right), AT_EACCESS) == 0;
  return out;
}

// The limit that an outcome names.
std::string limit_of(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kWall:
      return "limits.wall";
    case OutcomeKind::kCpu:
      return "limits.cpu_time";
    case OutcomeKind::kOom:
      return "limits.memory";
    case OutcomeKind::kPids:
      return "limits.pids";
    case OutcomeKind::kDisk:
      return "limits.disk";
    case OutcomeKind::kOutput:
      return "limits.output";
    case OutcomeKind::kNetwork:
      return "net.limits";
    default:
      return {};
  }
}

}  // namespace

void Run::deny_by_limit(const std::string& key, const std::string& what, std::uint64_t count) {
  if (count == 0) return;
  report_.denials.push_back(
      {"limit", fmt::format("{}: {}", key, what), count, {}, observe::raised_limit(plan_, key), {}});
}

void Run::explain_denials() {
  const std::string limit = limit_of(report_.outcome.kind);
  const bool told = std::ranges::any_of(
      report_.denials, [&](const Denial& d) { return d.what == "limit" && d.detail.starts_with(limit + ":"); });
  if (!limit.empty() && !told) deny_by_limit(limit, report_.outcome.message, 1);
  const auto append = [this](std::vector<Denial> more) {
    std::ranges::move(more, std::back_inserter(report_.denials));
  };
  if (observer_) {
    append(observe::explain(observer_->sightings(), plan_, look_on_host));
    if (observer_->forgotten() != 0) {
      report_.denials.push_back({"more", "the guest did more different things than are kept", observer_->forgotten()});
    }
    if (wiring_.on_seen) wiring_.on_seen(observer_->sightings());
  }
  if (report_.network) append(observe::explain_network(*report_.network));
}

}  // namespace cloche
