// Launches a plan as it stands. No read-back: the point is to run what an engine would refuse.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "launch/cell.h"
#include "sys/channel.h"
#include "tiers/tiers.h"
#include "weaken.h"

namespace cloche::security {
namespace {

constexpr int kEngineFailed = 125;
constexpr int kTimedOut = 124;
constexpr std::chrono::seconds kDeadline{30};

// Copies what is there; false once the other end is closed.
bool pump(const Fd& from) {
  char buffer[4096];
  const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
  if (got > 0) (void)!::write(STDOUT_FILENO, buffer, static_cast<std::size_t>(got));
  return got != 0;
}

// What init says; a value once the run is over.
std::optional<int> hear(const Plan& plan, Cell& cell, Fd& terminal) {
  wire::Message message{};
  auto received = sys::receive_bytes(cell.process.control.get(), &message, sizeof message);
  if (!received) return kEngineFailed;
  if (!*received) return std::nullopt;
  if ((*received)->size == 0) return kEngineFailed;
  switch (message.kind) {
    case wire::MessageKind::kReady:
      return send_go(plan, cell) ? std::nullopt : std::optional<int>(kEngineFailed);
    case wire::MessageKind::kTty:
      terminal = std::move((*received)->fd);
      return std::nullopt;
    case wire::MessageKind::kFailed: {
      const auto step = static_cast<std::size_t>(message.step);
      const std::string name = step < plan.steps.size() ? describe(plan.steps[step]) : "before the first step";
      std::fprintf(stderr, "weaken: %s failed: errno %d\n", name.c_str(), message.error);
      return kEngineFailed;
    }
    case wire::MessageKind::kExited:
      return WIFEXITED(message.status) ? WEXITSTATUS(message.status) : 128 + WTERMSIG(message.status);
    default:
      return std::nullopt;
  }
}

int watch(const Plan& plan, Cell& cell) {
  Fd terminal;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd ready[] = {{cell.process.control.get(), POLLIN, 0},
                      {cell.out.get(), POLLIN, 0},
                      {cell.err.get(), POLLIN, 0},
                      {terminal.get(), POLLIN, 0}};
    if (::poll(ready, 4, 1000) < 0) continue;
    if (ready[1].revents != 0 && !pump(cell.out)) cell.out.reset();
    if (ready[2].revents != 0 && !pump(cell.err)) cell.err.reset();
    if ((ready[3].revents & POLLIN) != 0) pump(terminal);
    if (ready[0].revents == 0) continue;
    if (const auto code = hear(plan, cell, terminal)) return *code;
  }
  return kTimedOut;
}

}  // namespace

int launch_and_wait(const Plan& plan, const HostFacts& host) {
  if (plan.backend != Backend::kNamespace || !host.init) {
    std::fprintf(stderr, "weaken: only the native namespace backend can be weakened\n");
    return kEngineFailed;
  }
  Janitor janitor(*host.init);
  const LaunchContext context{.host = host, .janitor = janitor, .id = "weaken-" + std::to_string(::getpid())};
  auto cell = start_namespace(plan, context);
  if (!cell) {
    std::fprintf(stderr, "weaken: %s\n", cell.error().text().c_str());
    return kEngineFailed;
  }
  const int code = watch(plan, *cell);
  while (cell->out.valid() && pump(cell->out) && errno != EAGAIN) continue;
  // The first process is the pid namespace's init: its death takes the rest.
  // A pidfd, never a number: a pid of 0 or -1 would be a signal to everybody.
  ::syscall(SYS_pidfd_send_signal, cell->process.pidfd.get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(cell->process.pidfd.get()), &info, WEXITED | __WALL);
  return code;
}

}  // namespace cloche::security
