// After the exec: reap orphans, pass signals to the whole tree, tell how the guest ended.
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace cloche::init {
namespace {

constexpr long kTmpfsMagic = 0x01021994;
constexpr long kExt4Magic = 0xef53;
constexpr int kMaxTree = 16384;
int g_pid[kMaxTree];
int g_parent[kMaxTree];
bool g_ours[kMaxTree];
int g_guest = -1;
bool g_guest_ended = false;
uint64_t g_started = 0;
bool g_alone = false;

// The parent of a process, from /proc/PID/stat: the field after the last ')', since a name may contain anything.
int parent_of(int proc, const char* pid) {
  char path[64];
  strcpy(path, pid);
  strcat(path, "/stat");
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return -1;
  text[n] = '\0';
  const char* after = strrchr(text, ')');
  if (after == nullptr || strlen(after) < 5) return -1;
  return atoi(after + 4);
}

// Without a pid namespace: every process below init, by parent links. Orphans come to init because it is a subreaper,
// so the tree is closed under fork. Returns how many were signalled.
int signal_descendants(int signal) {
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return 1;  // not seen is not gone
  DIR* dir = fdopendir(proc);
  int count = 0;
  while (struct dirent* entry = readdir(dir)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || count == kMaxTree || strlen(entry->d_name) > 10) continue;
    int parent = parent_of(proc, entry->d_name);
    if (parent < 0) continue;
    g_pid[count] = atoi(entry->d_name);
    g_parent[count] = parent;
    g_ours[count] = parent == getpid();
    ++count;
  }
  closedir(dir);
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < count; ++i) {
      if (g_ours[i]) continue;
      for (int j = 0; j < count && !g_ours[i]; ++j) {
        if (g_ours[j] && g_pid[j] == g_parent[i]) g_ours[i] = grew = true;
      }
    }
  }
  int signalled = 0;
  for (int i = 0; i < count; ++i) {
    if (g_ours[i] && kill(g_pid[i], signal) == 0) ++signalled;
  }
  return signalled;
}

void tell_exit(int status);

// Takes every child that has ended; the guest's end is told to the engine, whoever asked.
void reap() {
  int status = 0;
  int guest_status = 0;
  bool ended = false;
  int pid;
  while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    if (pid != g_guest) continue;
    ended = true;
    guest_status = status;
  }
  if (!ended) return;
  g_guest_ended = true;
  // Orphans of a pid namespace are its first process's children, so without a child there is nobody.
  g_alone = pid < 0 && errno == ECHILD && getpid() == 1;
  tell_exit(guest_status);
}

void signal_tree(int signal) {
  // "Everybody" means the cell only if this is a pid namespace's first process; anywhere else it would mean the host.
  if (getpid() == 1) {
    kill(-1, signal);
    // A stopped process never sees TERM until it is continued.
    if (signal != SIGKILL) kill(-1, SIGCONT);
    return;
  }
  if (signal != SIGKILL) {
    signal_descendants(signal);
    signal_descendants(SIGCONT);
    return;
  }
  // Every descendant hangs below a child, because orphans come here: without a child there is nobody to look for.
  siginfo_t info;
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD) return;
  // Stop first: a stopped process cannot fork, so that the second pass meets a tree that no longer grows.
  for (int round = 0; round < 100; ++round) {
    signal_descendants(SIGSTOP);
    int left = signal_descendants(SIGKILL);
    reap();
    if (left == 0) return;
    const struct timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void finish(int code) {
  if (getpid() != 1) signal_tree(SIGKILL);
  _exit(code);
}

uint64_t microseconds(const struct timeval& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000 + static_cast<uint64_t>(t.tv_usec);
}

// ext4 refuses a large write as a whole, so some room may be left: it is full where there is none for the largest
// piece, 2 MiB, or in a small one for a quarter of it.
uint32_t how_full(const char* place) {
  constexpr uint64_t kLargestPiece = 512;  // blocks
  struct statfs scratch;
  if (statfs(place, &scratch) != 0) return 0;
  uint64_t least = 0;
  if (scratch.f_type == kExt4Magic) {
    least = scratch.f_blocks / 4 < kLargestPiece ? scratch.f_blocks / 4 : kLargestPiece;
  } else if (scratch.f_type != kTmpfsMagic) {
    return 0;
  }
  if (scratch.f_bavail <= least) return wire::kScratchFull;
  return scratch.f_ffree == 0 ? wire::kScratchFull | wire::kInodesUsedUp : 0;
}

// Native cells have one file system behind all of these, others one for each. Outside of a cell they are the host's.
uint32_t how_full() {
  static const char* const kPlaces[] = {"/work", "/tmp", "/home/guest", "/dev/shm"};
  uint32_t found = 0;
  for (unsigned i = 0; i < 4 && found == 0 && getpid() == 1; ++i) found = how_full(kPlaces[i]);
  return found;
}

void tell_exit(int status) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kExited;
  message.status = status;
  message.stamp = now();
  message.started = g_started;
  if (g_alone) message.probe |= wire::kAlone;
  message.probe |= how_full();
  message.cpu_user_us = microseconds(usage.ru_utime);
  message.cpu_system_us = microseconds(usage.ru_stime);
  message.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
  send_message(message, -1);
}

void tell_start() {
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kStarted;
  message.started = g_started;
  send_message(message, -1);
}

}  // namespace

void watch(bool leased, int guest_pid) {
  g_guest = guest_pid;
  // Where no pid namespace dies with init, the engine's death must not kill it: it hears of that by the control socket
  // and ends its tree first.
  if (getpid() != 1) prctl(PR_SET_PDEATHSIG, 0);
  // Init keeps nothing open but the control socket: not the guest's pipes, whose end the engine waits for.
  int child_fd = -1;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (int fd = 0; fd < 3; ++fd) dup2(wire::kControlFd, fd);
  syscall(kSysCloseRange, wire::kControlFd + 1, ~0u, 0);
  child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  g_started = now();
  // The engine has nothing to do when the guest starts, so it is not woken: it hears of it with the end, or when there
  // is time.
  constexpr int kSoonMs = 20;
  bool told = false;
  for (;;) {
    reap();
    if (g_guest_ended) {
      // Alone in a leased cell: the engine needs nothing more of this process, but the cpu that its end would take.
      wire::Message last;
      uint32_t none = 0;
      while (leased && g_alone && receive_message(last, nullptr, 0, none) == 0) {
      }
      finish(0);
    }
    struct pollfd events[2] = {{wire::kControlFd, POLLIN, 0}, {child_fd, POLLIN, 0}};
    const int ready = poll(events, 2, told ? -1 : kSoonMs);
    if (ready < 0 && errno != EINTR) finish(125);
    if (ready == 0) {
      tell_start();
      told = true;
    }
    if ((events[1].revents & POLLIN) != 0) {
      struct signalfd_siginfo info;
      while (read(child_fd, &info, sizeof info) > 0) {
      }
    }
    if (events[0].revents == 0) continue;
    uint32_t none = 0;
    wire::Message message;
    if (receive_message(message, nullptr, 0, none) != 0) finish(125);  // the engine is gone
    if (message.kind == wire::MessageKind::kTerminate) signal_tree(message.number);
  }
}

}  // namespace cloche::init
