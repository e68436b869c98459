#include "keeper/networks.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/file.h"

namespace cloche::keeper {
namespace {

constexpr const char* kOwn = "/proc/thread-self/ns/net";
constexpr std::size_t kTextLimit = 1 << 20;
constexpr std::size_t kMostKept = 64;

// Nothing but the heading: no Unix socket lives here, not even one that waits for the kernel's garbage collector.
bool no_sockets_here() {
  auto text = sys::read_file("/proc/thread-self/net/unix", kTextLimit);
  return text && std::ranges::count(*text, '\n') == 1;
}

}  // namespace

std::optional<Networks> Networks::make() {
  if (::geteuid() != 0) return std::nullopt;
  Networks out;
  auto home = sys::open_file(kOwn, O_RDONLY);
  if (!home) return std::nullopt;
  out.home_ = std::move(*home);
  if (!out.add()) return std::nullopt;
  return out;
}

Status Networks::enter(const Fd& network) {
  if (::setns(network.get(), CLONE_NEWNET) == 0) return {};
  return fail_errno(errno, "network", "the namespace could not be entered");
}

Status Networks::add() {
  if (::unshare(CLONE_NEWNET) != 0) return fail_errno(errno, "network", "no namespace could be made");
  auto made = sys::open_file(kOwn, O_RDONLY);
  CLOCHE_TRY(enter(home_));
  if (!made) return std::unexpected(made.error());
  free_.push_back(std::move(*made));
  return {};
}

Result<Fd> Networks::get() {
  if (free_.empty()) CLOCHE_TRY(add());
  Fd out = std::move(free_.back());
  free_.pop_back();
  return out;
}

void Networks::put(Fd network) {
  if (free_.size() >= kMostKept) return;
  if (!enter(network)) return;
  const bool empty = no_sockets_here();
  if (enter(home_) && empty) free_.push_back(std::move(network));
}

}  // namespace cloche::keeper
