// Compiled to stand without a library (room.cmake): nothing here may call memcpy, nor use thread-local storage, which
// do not work before the C library's start.
#include "door/door.h"

#include <fcntl.h>
#include <linux/auxvec.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "wire/handover.h"
#include "wire/raw_call.h"
#include "wire/walls.h"

namespace cloche::door {
namespace {

using wire::raw_call;

constexpr int kFailed = 125;
constexpr long kPatience = 100'000'000;  // nanoseconds
constexpr int kEndAtOnce = 3;            // attempts to end a run, after which the front itself goes

long pointer(const void* to) { return reinterpret_cast<long>(to); }

bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

bool begins_with(const char* text, const char* start) {
  while (*start != '\0' && *text == *start) ++text, ++start;
  return *start == '\0';
}

size_t length(const char* text) {
  size_t out = 0;
  while (text[out] != '\0') ++out;
  return out;
}

[[noreturn]] void leave(int code) {
  for (;;) raw_call(SYS_exit_group, code);
}

void say(const char* text) { raw_call(SYS_write, 2, pointer(text), static_cast<long>(length(text))); }

// What a process was started with.
struct Start {
  long words;
  const char* const* argv;
  const char* const* environment;
  uint32_t uid = ~0u;
  bool is_plain = true;  // no more rights than its caller's
};

Start read_start(const long* stack) {
  Start out{*stack, reinterpret_cast<const char* const*>(stack + 1), nullptr};
  out.environment = out.argv + out.words + 1;
  const char* const* at = out.environment;
  while (*at != nullptr) ++at;
  uint32_t euid = ~0u;
  uint32_t gid = 0;
  uint32_t egid = ~0u;
  for (const long* entry = reinterpret_cast<const long*>(at + 1); entry[0] != AT_NULL; entry += 2) {
    const auto value = static_cast<uint32_t>(entry[1]);
    if (entry[0] == AT_UID) out.uid = value;
    if (entry[0] == AT_EUID) euid = value;
    if (entry[0] == AT_GID) gid = value;
    if (entry[0] == AT_EGID) egid = value;
    if (entry[0] == AT_SECURE && value != 0) out.is_plain = false;
  }
  out.is_plain = out.is_plain && out.uid == euid && gid == egid;
  return out;
}

// What an attendant would not take, so that it need not be asked. It decides; this only saves a question.
bool may_be_taken(const Start& start) {
  if (!start.is_plain || start.words < 3 || !equal(start.argv[1], "run")) return false;
  for (long i = 2; i < start.words && !equal(start.argv[i], "--"); ++i) {
    for (const char* own : wire::kOwnOptions) {
      if (begins_with(start.argv[i], own)) return false;
    }
    if (equal(start.argv[i], "-")) return false;
  }
  return true;
}

// Descriptors of our own, closed where the program goes on by itself.
struct Held {
  int fds[6] = {-1, -1, -1, -1, -1, -1};
  int count = 0;

  long keep(long fd) {
    if (fd >= 0) fds[count++] = static_cast<int>(fd);
    return fd;
  }
  void close() {
    while (count > 0) raw_call(SYS_close, fds[--count]);
  }
};

// Whoever listens gets all that we have: it must be this user, no more confined than we are, and still there, since its
// number could be another's by now. Before Linux 6.5, which cannot tell that, there is no attendant.
bool may_be_trusted(long socket, const Start& start, Held& held) {
  ucred peer;
  socklen_t size = sizeof peer;
  if (raw_call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, pointer(&peer), pointer(&size)) != 0) return false;
  if (peer.uid != start.uid) return false;
  int handle = -1;
  size = sizeof handle;
  if (raw_call(SYS_getsockopt, socket, SOL_SOCKET, wire::walls::kPeerPidfd, pointer(&handle), pointer(&size)) != 0)
    return false;
  held.keep(handle);
  return wire::same_walls(static_cast<uint32_t>(peer.pid)) && wire::still_runs(handle);
}

// As the keeper's clients have it (keeper/place.cc): it must be this user's own, and closed to others. Else nothing.
long open_own_directory(const char* path, const Start& start, Held& held) {
  const long place =
      held.keep(raw_call(SYS_openat, AT_FDCWD, pointer(path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st;
  // One of the three that was closed: to hand them over would hand over this one in its place.
  if (place < 3 || raw_call(SYS_newfstatat, place, pointer(""), pointer(&st), AT_EMPTY_PATH) != 0) return -1;
  return st.st_uid == start.uid && (st.st_mode & 077) == 0 ? place : -1;
}

// False: the name does not fit.
bool name_attendant(sockaddr_un& address, const char* directory, long place) {
  wire::handover::Text path{address.sun_path, address.sun_path + sizeof address.sun_path};
  if (place < 0) {
    path.add(directory);
  } else {
    path.add("/proc/self/fd/");
    path.add_number(static_cast<uint32_t>(place));
  }
  path.add("/");
  path.add(wire::kAttendantSocket);
  return path.whole;
}

// Somebody of our own, in a place of our own, or nobody. The attendant wakes up when it is connected to, so what
// can be looked at meanwhile is; nothing is said before that.
int connect_to_attendant(const Start& start, Held& held) {
  char directory[sizeof(sockaddr_un::sun_path)];
  if (!wire::keeper_directory(start.environment, start.uid, directory, sizeof directory)) return -1;
  sockaddr_un address;
  address.sun_family = AF_UNIX;
  long place = -1;
  if (!name_attendant(address, directory, place)) {
    place = open_own_directory(directory, start, held);
    if (place < 0 || !name_attendant(address, directory, place)) return -1;
  }
  struct stat st;
  if (raw_call(SYS_newfstatat, AT_FDCWD, pointer(address.sun_path), pointer(&st), AT_SYMLINK_NOFOLLOW) != 0) return -1;
  // Not blocking: a full queue is an attendant that has no time for us.
  const long socket = held.keep(raw_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket < 3 || raw_call(SYS_connect, socket, pointer(&address), sizeof address) != 0) return -1;
  if (place < 0 && open_own_directory(directory, start, held) < 0) return -1;
  return may_be_trusted(socket, start, held) ? static_cast<int>(socket) : -1;
}

// Words and variables lie one behind the other, as long as nobody has moved them.
bool send_all(int socket, int token, const Start& start, Held& held) {
  const char* const first = start.argv[1];
  const char* next = first;
  wire::Handover head;
  head.magic = wire::kHandoverMagic;
  head.words = static_cast<uint32_t>(start.words - 1);
  head.variables = 0;
  for (const char* const* at = start.argv + 1; *at != nullptr; ++at) {
    if (*at != next) return false;
    next += length(next) + 1;
  }
  for (const char* const* at = start.environment; *at != nullptr; ++at, ++head.variables) {
    if (*at != next) return false;
    next += length(next) + 1;
  }
  const auto size = static_cast<size_t>(next - first);
  if (size + sizeof head > wire::kMostHandover) return false;
  const long here = held.keep(raw_call(SYS_openat, AT_FDCWD, pointer("."), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (here < 0) return false;
  union {
    cmsghdr head;
    char room[CMSG_SPACE(sizeof(int) * wire::kHandoverFds)];
  } control;
  control.head.cmsg_len = CMSG_LEN(sizeof(int) * wire::kHandoverFds);
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  const int fds[wire::kHandoverFds] = {0, 1, 2, static_cast<int>(here), token};
  for (int i = 0; i < wire::kHandoverFds; ++i) reinterpret_cast<int*>(CMSG_DATA(&control.head))[i] = fds[i];
  iovec parts[2];
  parts[0] = {&head, sizeof head};
  parts[1] = {const_cast<char*>(first), size};
  msghdr message;
  message.msg_name = nullptr;
  message.msg_namelen = 0;
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  message.msg_flags = 0;
  return raw_call(SYS_sendmsg, socket, pointer(&message), MSG_NOSIGNAL) == static_cast<long>(size + sizeof head);
}

// The kernel's set of signals, and its action, which are not the C library's.
using Set = uint64_t;
constexpr Set bit(int number) { return Set{1} << (number - 1); }

Set signals_that_end() {
  struct Action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    Set mask;
  };
  Set out = 0;
  static constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};
  for (const int number : kEnding) {
    Action now;
    // A blocked signal is queued even while it is ignored, so it must not be in the set at all.
    if (raw_call(SYS_rt_sigaction, number, 0, pointer(&now), sizeof(Set)) == 0 && now.handler == SIG_IGN) continue;
    out |= bit(number);
  }
  return out;
}

// False: the attendant has the run.
bool take_back(int token) {
  uint64_t count;
  return raw_call(SYS_read, token, pointer(&count), sizeof count) == sizeof count;
}

struct Asked {
  int times = 0;
  int last = 0;  // the signal
};

// Who asks again and again is not kept waiting by an attendant that hangs: our end of the socket ends the run, too.
void pass_on(int signals, int socket, Asked& asked) {
  struct Came {
    uint32_t number;
    char rest[124];
  } came;
  if (raw_call(SYS_read, signals, pointer(&came), sizeof came) != sizeof came) return;
  wire::HandoverSignal word;
  word.number = static_cast<int32_t>(came.number);
  asked.last = word.number;
  raw_call(SYS_sendto, socket, pointer(&word), sizeof word, MSG_NOSIGNAL, 0);
  if (++asked.times > kEndAtOnce) leave(128 + word.number);
}

// Until the run is over. Returns where the attendant will not have it, or is not to be waited for: one that is held up
// by what its last command left must not hold up the next. A signal that came meanwhile is for whoever does the run.
void follow(int socket, int signals, int token, Asked& asked) {
  bool is_theirs = false;
  for (;;) {
    pollfd both[2] = {{socket, POLLIN, 0}, {signals, POLLIN, 0}};
    timespec patience = {0, kPatience};
    const long ready = raw_call(SYS_ppoll, pointer(both), 2, is_theirs ? 0 : pointer(&patience), 0);
    if (ready == 0 && take_back(token)) return;
    if (ready == 0) is_theirs = true;
    if (ready <= 0) continue;
    if ((both[1].revents & POLLIN) != 0) pass_on(signals, socket, asked);
    if (both[0].revents == 0) continue;
    wire::HandoverAnswer answer;
    const long got = raw_call(SYS_recvfrom, socket, pointer(&answer), sizeof answer, 0, 0);
    if (got == sizeof answer) leave(answer.code);
    if (got < 0 && (both[0].revents & (POLLHUP | POLLERR)) == 0) continue;
    if (!is_theirs && take_back(token)) return;
    say("cloche: the attendant ended before the run did, and with it the cell: "
        "'cloche keeper status' tells whether another one is there\n");
    leave(kFailed);
  }
}

}  // namespace

extern "C" [[gnu::used]] void cloche_hand_over(const long* stack) {
  const Start start = read_start(stack);
  if (!may_be_taken(start)) return;
  Held held;
  const int socket = connect_to_attendant(start, held);
  if (socket >= 0) {
    const Set set = signals_that_end();
    Set before = 0;
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, pointer(&set), pointer(&before), sizeof set);
    const long signals = held.keep(raw_call(SYS_signalfd4, -1, pointer(&set), sizeof set, O_CLOEXEC | O_NONBLOCK));
    const long token = held.keep(raw_call(SYS_eventfd2, 1, O_CLOEXEC | O_NONBLOCK));
    Asked asked;
    if (signals >= 0 && token >= 0 && send_all(socket, static_cast<int>(token), start, held)) {
      follow(socket, static_cast<int>(signals), static_cast<int>(token), asked);
    }
    if (asked.times > 0) {
      raw_call(SYS_kill, raw_call(SYS_getpid), asked.last);  // stays blocked, and waits for cancel_signals()
    } else {
      raw_call(SYS_rt_sigprocmask, SIG_SETMASK, pointer(&before), 0, sizeof before);
    }
  }
  held.close();
}

}  // namespace cloche::door
