#include "launch/janitor.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "launch/spawn.h"
#include "sys/channel.h"

namespace cloche {

Status Janitor::start() {
  SpawnSpec spec;
  spec.argv = {"cloche-janitor"};
  spec.init_path = init_path_;
  CLOCHE_TRY_ASSIGN(Spawned spawned, spawn(spec));
  socket_ = std::move(spawned.control);
  pidfd_ = std::move(spawned.pidfd);
  // The child reads its argv and its end of the socket from our memory until the exec; the janitor answers once.
  pollfd ready{socket_.get(), POLLIN, 0};
  while (::poll(&ready, 1, 5'000) < 0 && errno == EINTR) {
  }
  char answer[128];
  CLOCHE_TRY_ASSIGN(std::optional<sys::Received> received, sys::receive_bytes(socket_.get(), answer, sizeof answer));
  if (!received || received->size != 1) {
    return fail(ErrorCode::kSystem, "janitor", "the clean-up process did not start",
                "check that cloche-init is whole and executable");
  }
  return {};
}

Status Janitor::tell(const std::string& record) {
  if (!socket_.valid()) {
    if (record.starts_with('-')) return {};
    CLOCHE_TRY(start());
  }
  return sys::send_bytes(socket_.get(), record.c_str(), record.size() + 1, {});
}

Janitor::~Janitor() {
  if (!pidfd_.valid()) return;
  socket_.reset();
  // It has nothing left to do and ends at once; a zombie would be left otherwise.
  pollfd ended{pidfd_.get(), POLLIN, 0};
  while (::poll(&ended, 1, 2'000) < 0 && errno == EINTR) {
  }
  (void)try_reap(pidfd_);
}

}  // namespace cloche
