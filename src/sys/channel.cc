#include "sys/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cloche::sys {
namespace {
constexpr std::size_t kMaxPassed = 64;
constexpr std::size_t kMaxTaken = 5;
}  // namespace

Result<SocketPair> make_channel() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return fail_errno(errno, "socketpair", "could not make the control socket");
  }
  SocketPair pair{Fd(fds[0]), Fd(fds[1])};
  int on = 1;
  if (::setsockopt(pair.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return fail_errno(errno, "SO_PASSCRED", "could not ask for the sender's credentials");
  }
  CLOCHE_TRY(set_nonblocking(pair.ours.get()));
  return pair;
}

Status send_bytes(int socket, const void* bytes, std::size_t size, const std::vector<int>& fds) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPassed)];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fds.size() > kMaxPassed) {
    return fail(ErrorCode::kInvalidInput, "control socket", "more than 64 descriptors cannot be handed to a cell",
                "grant a common parent directory instead of many single paths");
  }
  if (!fds.empty()) {
    std::memset(control, 0, sizeof control);
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(item), fds.data(), sizeof(int) * fds.size());
  }
  while (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return fail_errno(errno, "control socket", "could not reach the cell's init");
  }
  return {};
}

Result<std::optional<Received>> receive_bytes(int socket, void* bytes, std::size_t capacity) {
  iovec part{bytes, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_LEN(kMaxTaken * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t n;
  bool reset = false;
  do {
    n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    // One that ended before it had read all: the kernel tells of that first, and its last words come after it.
    if (n < 0 && errno == ECONNRESET && !reset) {
      reset = true;
      errno = EINTR;
    }
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  if (n < 0 && errno == ECONNRESET) n = 0;
  if (n < 0) return fail_errno(errno, "control socket", "could not be read");
  Received received;
  received.size = static_cast<std::size_t>(n);
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET) continue;
    if (item->cmsg_type == SCM_RIGHTS) {
      // Where no credentials come along there is room for more than five; whatever was sent, nothing stays open.
      const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
        Fd owned(fd);
        if (i < 2) {
          (i == 0 ? received.fd : received.second) = std::move(owned);
        } else if (i < kMaxTaken) {
          received.rest.push_back(std::move(owned));
        }
      }
    } else if (item->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
      received.sender = credentials.pid;
    }
  }
  return std::optional<Received>(std::move(received));
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail_errno(errno, "pipe", "could not make a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

Status set_nonblocking(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail_errno(errno, "fcntl", "could not make a descriptor non-blocking");
  }
  return {};
}

}  // namespace cloche::sys
