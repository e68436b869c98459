#include "cli/event_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostBytes = 64 << 20;
constexpr std::size_t kMostLine = 4096;  // what a pipe that is ready takes at once, without waiting for its reader
constexpr std::size_t kTextColumns = 256;
constexpr int kForTheLast = 5'000;  // milliseconds

std::string shown(std::string_view text) { return fit(printable(text), kTextColumns); }

std::string to_line(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"; }

std::unexpected<Error> wrong(int error, std::string message, std::string hint) {
  return std::unexpected(Error{ErrorCode::kInvalidInput, "--events", error, std::move(message), std::move(hint)});
}

Result<Fd> borrow(int number) {
  if (number <= STDERR_FILENO) {
    return wrong(0, "descriptors 0, 1 and 2 belong to the guest", "open another: --events 3 3>events.jsonl");
  }
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return wrong(0, "descriptor " + std::to_string(number) + " is not open for writing",
                 "open it: --events 3 3>events.jsonl");
  }
  Fd own(::fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (!own.valid()) return wrong(errno, "the descriptor cannot be used", "name a file");
  return own;
}

}  // namespace

Result<EventLog> EventLog::open(const std::string& target) {
  int number = -1;
  const auto [end, code] = std::from_chars(target.data(), target.data() + target.size(), number);
  if (!target.empty() && code == std::errc{} && end == target.data() + target.size()) {
    CLOCHE_TRY_ASSIGN(Fd own, borrow(number));
    return EventLog(std::move(own));
  }
  if (target.empty() || target == "-") {
    return wrong(0, "stdout is the guest's", "name a file, or a descriptor: --events 3 3>events.jsonl");
  }
  // Not emptied before it is known to be a file.
  Fd out(::open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  struct stat st {};
  if (!out.valid() || ::fstat(out.get(), &st) != 0) {
    return wrong(errno, shown_text(target) + " cannot be written", "name a file in a directory that you may write");
  }
  if (!S_ISREG(st.st_mode)) return wrong(0, shown_text(target) + " is not a regular file", "name a file");
  if (::ftruncate(out.get(), 0) != 0)
    return wrong(errno, shown_text(target) + " cannot be emptied", "name another file");
  return EventLog(std::move(out));
}

void EventLog::put(std::string line, Worth worth) {
  pollfd ready{out_.get(), POLLOUT, 0};
  const bool fits = line.size() <= kMostLine && (worth != Worth::kCounted || written_ + line.size() <= kMostBytes);
  // The run waits for nobody who reads its events: what finds no room is counted.
  if (!fits || ::poll(&ready, 1, worth == Worth::kLast ? kForTheLast : 0) != 1 || (ready.revents & POLLOUT) == 0 ||
      ::write(out_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ++lost_;
    return;
  }
  written_ += line.size();
}

void EventLog::start(const Request& request, std::string_view policy) {
  const std::string program = request.script ? request.script->name : request.argv.empty() ? "" : request.argv.front();
  put(to_line({{"event", "start"}, {"run", request.id}, {"policy", shown(policy)}, {"program", shown(program)}}),
      Worth::kAlways);
}

void EventLog::connection(const Connection& c, bool opened) {
  put(to_line({{"event", opened ? "opened" : "closed"},
               {"at_us", c.at.count()},
               {"via", to_string(c.via)},
               {"name", shown(c.name)},
               {"address", shown(c.address)},
               {"port", c.port},
               {"verdict", to_string(c.verdict)},
               {"reason", shown(c.reason)},
               {"bytes_in", c.bytes_in},
               {"bytes_out", c.bytes_out},
               {"took_us", c.took.count()},
               {"count", c.count}}),
      Worth::kCounted);
}

void EventLog::call(const Call& c) {
  put(to_line({{"event", "call"},
               {"at_us", c.at.count()},
               {"socket", shown(c.socket)},
               {"method", shown(c.method)},
               {"id", shown(c.id)},
               {"verdict", to_string(c.verdict)},
               {"reason", shown(c.reason)},
               {"count", c.count}}),
      Worth::kCounted);
}

void EventLog::change(const GrantChange& c) {
  Json line = {{"event", to_string(c.turn)},
               {"at_us", c.at.count()},
               {"what", shown(c.what)},
               {"text", shown(c.text)},
               {"by", shown(c.by)}};
  if (c.lasts) line["for_ms"] = c.lasts->count();
  put(to_line(line), Worth::kCounted);
}

void EventLog::finish(const Report& report) {
  const NetworkUse use = report.network.value_or(NetworkUse{});
  put(to_line({{"event", "end"},
               {"run", report.id},
               {"outcome", to_string(report.outcome.kind)},
               {"exit_code", exit_code(report.outcome)},
               {"connections_total", use.connections_total},
               {"denied_total", use.denied_total},
               {"calls_total", use.calls_total},
               {"lost", use.connections_lost > UINT64_MAX - lost_ ? UINT64_MAX : lost_ + use.connections_lost}}),
      Worth::kLast);
}

}  // namespace cloche::cli
