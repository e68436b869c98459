// The control socket, seen from the cell's side.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace cloche::init {

uint64_t now() {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Stopwatch::enter(wire::Phase next) {
  if (next == phase) return;
  const uint64_t time = now();
  took[phase] += static_cast<uint32_t>(time - since);
  since = time;
  phase = next;
}

static_assert(wire::kSendFlags == (MSG_NOSIGNAL | MSG_DONTROUTE | MSG_CONFIRM));

int send_message(const wire::Message& message, int fd) {
  struct iovec part = {const_cast<wire::Message*>(&message), sizeof message};
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct msghdr header;
  memset(&header, 0, sizeof header);
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    memset(control, 0, sizeof control);
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    struct cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(item), &fd, sizeof fd);
  }
  // A host that is short of memory may have some in a moment.
  constexpr int kTries = 200;
  for (int tries = 0; sendmsg(wire::kControlFd, &header, wire::kSendFlags) < 0;) {
    const bool in_need = errno == ENOBUFS || errno == ENOMEM || errno == EAGAIN;
    if (errno != EINTR && (!in_need || ++tries > kTries)) return errno;
    const struct timespec pause = {0, 1'000'000};
    if (in_need) nanosleep(&pause, nullptr);
  }
  return 0;
}

void tell(const wire::Message& message, int fd) {
  if (send_message(message, fd) != 0) _exit(125);
}

namespace {

// 0 or an errno; `size`: of all that came.
int receive(struct iovec* parts, int part_count, size_t& size, int* fds, uint32_t capacity, uint32_t& count) {
  count = 0;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * wire::kMaxFdsPerMessage)];
  struct msghdr header;
  memset(&header, 0, sizeof header);
  header.msg_iov = parts;
  header.msg_iovlen = part_count;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(wire::kControlFd, &header, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno;
  if (n == 0) return EPIPE;
  size = static_cast<size_t>(n);
  if (size < sizeof(wire::Message) || (header.msg_flags & MSG_TRUNC) != 0) return EPROTO;
  for (struct cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    size_t received = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < received && count < capacity; ++i) {
      memcpy(&fds[count], CMSG_DATA(item) + i * sizeof(int), sizeof(int));
      ++count;
    }
  }
  return 0;
}

}  // namespace

int receive_message(wire::Message& message, int* fds, uint32_t capacity, uint32_t& count) {
  struct iovec part = {&message, sizeof message};
  size_t size = 0;
  return receive(&part, 1, size, fds, capacity, count);
}

int receive_spec(wire::Message& message, SpecRoom& room, Spec& spec, int* fds, uint32_t capacity, uint32_t& count) {
  struct iovec parts[2] = {{&message, sizeof message}, {room.bytes, sizeof room.bytes}};
  size_t size = 0;
  // One place is kept for the spec's own descriptor, which is not there.
  if (int error = receive(parts, 2, size, fds + 1, capacity - 1, count); error != 0) return error;
  if (size > sizeof message) {
    fds[0] = -1;
    ++count;
    return Spec::read(room.bytes, size - sizeof message, spec);
  }
  if (count < 1) return EPROTO;
  for (uint32_t i = 0; i < count; ++i) fds[i] = fds[i + 1];
  const int error = Spec::map(fds[0], spec);
  close(fds[0]);
  return error;
}

void fail_step(int32_t step, int error) {
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kFailed;
  message.step = step;
  message.error = error;
  send_message(message, -1);
  _exit(125);
}

}  // namespace cloche::init
