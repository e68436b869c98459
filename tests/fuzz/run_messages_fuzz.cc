// What a cell's init and guest-to-be say to the engine: a guest that took over its init could say anything, in any
// order. The run must come to an end of its own, and must not call a cell good that the kernel does not call good.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "launch/cell.h"
#include "plan/plan.h"
#include "plan/sample_hosts.h"
#include "policy/presets.h"
#include "supervise/supervisor.h"
#include "sys/channel.h"
#include "wire/wire.h"

namespace {

using namespace cloche;

constexpr std::size_t kMostMessages = 16;

std::shared_ptr<const Plan> sample_plan() {
  static const std::shared_ptr<const Plan> plan = [] {
    auto policy = preset("untrusted");
    if (!policy) __builtin_trap();
    policy->limits.mode = LimitsMode::kBestEffort;
    Request request;
    request.argv = {"/bin/true"};
    auto made = make_plan(*policy, request, samples::stock_user());
    if (!made) __builtin_trap();
    return std::make_shared<const Plan>(std::move(*made));
  }();
  return plan;
}

// Somebody else's process, so that its end is nobody's to wait for; what would be its pidfd can be sent no signal.
Cell cell_behind(Fd control, const Fd& init) {
  Cell cell;
  cell.process.leased = true;
  cell.process.pid = ::getpid();
  cell.process.pidfd = Fd(::dup(init.get()));
  cell.process.control = std::move(control);
  if (!make_stdio(cell, false)) __builtin_trap();
  return cell;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto channel = sys::make_channel();
  if (!channel) return 0;
  Fd theirs = std::move(channel->theirs);
  Fd ours = std::move(channel->ours);
  const Fd init(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto supervisor = Supervisor::make(
      samples::stock_user(),
      [&](const Plan&, const LaunchContext&) -> Result<Cell> { return cell_behind(std::move(ours), init); },
      Janitor::Home::kProgram);
  if (!supervisor) return 0;
  bool done = false;
  bool ran = false;
  Run* run = (*supervisor)->add(sample_plan(), {}, "fuzz", [&](Report report) {
    done = true;
    ran = std::ranges::find(report.lifecycle, "run") != report.lifecycle.end();
  });
  const auto soon = [] { return Clock::now() + std::chrono::milliseconds(1); };
  for (std::size_t sent = 0; size > 0 && sent < kMostMessages && !done; ++sent) {
    wire::Message message{};
    const std::size_t part = std::min(size, sizeof message);
    std::memcpy(&message, data, part);
    data += part;
    size -= part;
    // A message that is cut short is a wrong one, too.
    if (!sys::send_bytes(theirs.get(), &message, part, {})) break;
    if (!(*supervisor)->step(soon())) break;
  }
  theirs.reset();
  constexpr std::uint64_t kEnded = 1;
  (void)!::write(init.get(), &kEnded, sizeof kEnded);
  for (int tries = 0; !done && tries < 64; ++tries) {
    run->cancel();
    if (!(*supervisor)->step(soon())) break;
  }
  if (!done) __builtin_trap();
  if (ran) __builtin_trap();  // it was our own process that was looked at, which is in no cell
  return 0;
}
