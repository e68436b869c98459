#include "keeper/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "sys/channel.h"
#include "sys/file.h"
#include "wire/walls.h"

namespace cloche::keeper {
namespace {

// In ticks since the host's start; empty: no such process.
std::string start_of(pid_t pid) {
  constexpr std::size_t kMost = 4096;
  constexpr int kBefore = 19;  // fields between the name, which may hold anything, and this one
  const auto text = sys::read_file("/proc/" + std::to_string(pid) + "/stat", kMost);
  if (!text) return {};
  std::size_t at = text->rfind(')');
  for (int i = 0; i <= kBefore && at != std::string::npos; ++i) at = text->find(' ', at + 1);
  return at == std::string::npos ? std::string() : text->substr(at + 1, text->find(' ', at + 1) - at - 1);
}

std::unexpected<Error> gone(int error) { return fail_errno(error, "keeper", "whoever was at the other end is gone"); }

}  // namespace

Result<Peer> Peer::of(const Fd& socket) {
  ucred told{};
  socklen_t size = sizeof told;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &told, &size) != 0)
    return fail_errno(errno, "keeper", "the other end's credentials could not be read");
  Peer out;
  out.pid_ = told.pid;
  out.uid_ = told.uid;
  int handle = -1;
  size = sizeof handle;
  if (::getsockopt(socket.get(), SOL_SOCKET, wire::walls::kPeerPidfd, &handle, &size) == 0) {
    out.handle_ = Fd(handle);
  } else if (errno == ENOPROTOOPT) {
    out.started_ = start_of(out.pid_);
  } else {
    return gone(errno);
  }
  if (!out.lives()) return gone(ESRCH);
  return out;
}

bool Peer::lives() const {
  return handle_.valid() ? wire::still_runs(handle_.get()) : !started_.empty() && start_of(pid_) == started_;
}

bool peers_have_handles() {
  auto pair = sys::make_channel();
  if (!pair) return false;
  const auto ourselves = Peer::of(pair->ours);
  return ourselves && ourselves->handle().valid();
}

}  // namespace cloche::keeper
