// The other end of a run's control socket.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/units.h"
#include "engine/run_control.h"
#include "store/listing.h"
#include "store/live.h"
#include "store/run_directory.h"
#include "sys/channel.h"

namespace cloche {
namespace {

constexpr const char* kStep = "run";
constexpr Millis kPatience{10'000};

std::unexpected<Error> is_over(const std::string& id) {
  return fail(ErrorCode::kNotFound, kStep, "run " + id + " is over", "`cloche ps` lists the runs that live");
}

// Of the records, one that has no socket: it is over, or never had one.
Result<Asked> not_live(const store::Place& place, std::string_view name) {
  CLOCHE_TRY_ASSIGN(const std::string id, store::find_run_id(place, name));
  CLOCHE_TRY_ASSIGN(const auto runs, store::list_runs(place, store::Measure::kNo));
  const auto found = std::ranges::find(runs, id, &store::ListedRun::id);
  if (found == runs.end() || found->state != store::RunState::kRunning) return is_over(id);
  return fail(ErrorCode::kRefused, kStep,
              "run " + id + " has no gateway, so nothing can be granted to it or taken back",
              "start it with a policy that has net.allow, secrets or sockets.allow; for = \"0s\" grants nothing yet");
}

// The name of a live run. A run without a record has one as well.
Result<std::string> find_live(const store::Place& place, int live, std::string_view name) {
  CLOCHE_TRY_ASSIGN(std::vector<std::string> names, store::live_names(live));
  std::string wanted(name);
  if (name == "last") {
    CLOCHE_TRY_ASSIGN(wanted, store::find_run_id(place, name));
  }
  if (store::is_run_id(wanted)) {
    std::erase_if(names, [&](const std::string& one) { return !one.starts_with(wanted); });
    if (names.size() == 1) return names.front();
    if (std::ranges::find(names, wanted) != names.end()) return wanted;
    if (names.size() > 1) {
      return fail(ErrorCode::kInvalidInput, kStep,
                  std::to_string(names.size()) + " live runs begin with " + shown_text(name), "give more of the id");
    }
  }
  return std::unexpected(not_live(place, name).error());
}

Result<std::string> read_answer(int socket, const std::string& id) {
  pollfd ready{socket, POLLIN, 0};
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - Clock::now());
    const int n = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, kStep, "run " + id + " cannot be heard");
    if (n == 0) return fail(ErrorCode::kSystem, kStep, "run " + id + " does not answer", "try again in a moment");
    break;
  }
  std::string buffer(sizeof(egress::Head) + egress::kMaxPayload + 1, '\0');
  CLOCHE_TRY_ASSIGN(const auto received, sys::receive_bytes(socket, buffer.data(), buffer.size()));
  if (!received || received->size == 0) return is_over(id);
  const auto answer = egress::unframe(std::string_view(buffer).substr(0, received->size));
  if (!answer || answer->head.kind != egress::Kind::kChanged) {
    return fail(ErrorCode::kSystem, kStep, "run " + id + " gave no answer that can be understood");
  }
  return std::string(answer->payload);
}

}  // namespace

Result<Asked> ask_run(const std::map<std::string, std::string>& env, std::string_view run, WayOut::Turn turn,
                      const egress::Change& change) {
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(env));
  auto live = store::open_live(place);
  if (!live && live.error().code == ErrorCode::kNotFound) return not_live(place, run);
  if (!live) return std::unexpected(live.error());
  Asked out;
  CLOCHE_TRY_ASSIGN(out.id, find_live(place, live->get(), run));
  auto socket = store::connect_live(live->get(), out.id);
  if (!socket && socket.error().code == ErrorCode::kNotFound) return is_over(out.id);
  if (!socket) return std::unexpected(socket.error());
  const bool grants = turn == WayOut::Turn::kGrant;
  const std::string request =
      egress::frame({.kind = grants ? egress::Kind::kGrant : egress::Kind::kRevoke}, egress::encode(change));
  if (Status sent = sys::send_bytes(socket->get(), request.data(), request.size(), {live->get()}); !sent) {
    // It may have answered without a look at the request.
    if (sent.error().errno_value != EPIPE) return fail_errno(sent.error().errno_value, kStep, "could not be asked");
  }
  CLOCHE_TRY_ASSIGN(out.problem, read_answer(socket->get(), out.id));
  return out;
}

}  // namespace cloche
