// The control socket, seen from the cell's side.
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace cloche::init {

int Spec::map(int memfd, Spec& out) {
  struct stat st;
  if (fstat(memfd, &st) != 0) return errno;
  size_t size = static_cast<size_t>(st.st_size);
  if (size < sizeof(wire::SpecHeader)) return EPROTO;
  void* base = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, memfd, 0);
  if (base == MAP_FAILED) return errno;
  out.header_ = static_cast<const wire::SpecHeader*>(base);
  const wire::SpecHeader& h = *out.header_;
  uint64_t steps_end = sizeof h + uint64_t{h.step_count} * sizeof(wire::Step);
  uint64_t args_end = steps_end + (uint64_t{h.argc} + h.envc) * sizeof(uint32_t);
  if (h.magic != wire::kMagic || h.total_size != size || h.area_offset > size || args_end > h.area_offset ||
      h.argc + h.envc > wire::kMaxArgs) {
    return EPROTO;
  }
  const char* bytes = static_cast<const char*>(base);
  out.steps_ = reinterpret_cast<const wire::Step*>(bytes + sizeof h);
  out.args_ = reinterpret_cast<const uint32_t*>(bytes + steps_end);
  out.area_ = bytes + h.area_offset;
  return 0;
}

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

void send_message(const wire::Message& message, int fd) {
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
  while (sendmsg(wire::kControlFd, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

int receive_message(wire::Message& message, int* fds, uint32_t capacity, uint32_t& count) {
  count = 0;
  struct iovec part = {&message, sizeof message};
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * wire::kMaxFdsPerMessage)];
  struct msghdr header;
  memset(&header, 0, sizeof header);
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(wire::kControlFd, &header, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno;
  if (n == 0) return EPIPE;
  if (n != static_cast<ssize_t>(sizeof message)) return EPROTO;
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
