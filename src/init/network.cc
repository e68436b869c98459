// What the kernel makes us wait for, done beside the other steps by a helper that shares this process's memory,
// descriptors and mounts: the cell's own network namespace, which takes longer than the whole root, and the unmounting
// of the old root, which waits for a grace period.
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include "init/cell.h"
#include "init/kernel.h"
#include "wire/raw_call.h"

namespace cloche::init {
namespace {

// In the order of the work; a futex.
enum Stage : int { kMakingNetwork, kNetworkMade, kUnmounting, kUnmounted, kLeave };

struct Workshop {
  int stage = kMakingNetwork;
  long network = -1;  // the namespace's descriptor
  int old_root = -1;
  long unmounted = 0;  // 0 or a negative errno
  int helper = -1;
  bool given = false;
};
Workshop g_workshop;
char g_stack[8 * 1024] __attribute__((aligned(16)));

long address(const void* p) { return reinterpret_cast<long>(p); }

void reach(int stage) {
  __atomic_store_n(&g_workshop.stage, stage, __ATOMIC_RELEASE);
  wire::raw_call(SYS_futex, address(&g_workshop.stage), FUTEX_WAKE, 1);
}

int wait_while(int stage) {
  int now;
  while ((now = __atomic_load_n(&g_workshop.stage, __ATOMIC_ACQUIRE)) == stage) {
    wire::raw_call(SYS_futex, address(&g_workshop.stage), FUTEX_WAIT, stage, 0);
  }
  return now;
}

// Shares errno with init, which runs on: so nothing here may set it.
int work(void*) {
  using wire::raw_call;
  if (raw_call(SYS_unshare, CLONE_NEWNET) == 0) {
    g_workshop.network = raw_call(SYS_openat, AT_FDCWD, address("/proc/thread-self/ns/net"), O_RDONLY | O_CLOEXEC);
  }
  reach(kNetworkMade);
  if (wait_while(kNetworkMade) == kUnmounting) {
    long result = raw_call(SYS_fchdir, g_workshop.old_root);
    if (result == 0) result = raw_call(SYS_umount2, address("."), MNT_DETACH);
    g_workshop.unmounted = result;
    reach(kUnmounted);
  }
  for (;;) raw_call(SYS_exit, 0);
}

// Init's side. Should somebody have killed the helper, nobody will ever come: -1.
int await_helper(int stage) {
  for (;;) {
    const int now = __atomic_load_n(&g_workshop.stage, __ATOMIC_ACQUIRE);
    if (now != stage) return now;
    const struct timespec patience = {0, 20'000'000};
    syscall(SYS_futex, &g_workshop.stage, FUTEX_WAIT, stage, &patience, nullptr, 0);
    siginfo_t ended;
    ended.si_pid = 0;
    const bool asked =
        waitid(P_PID, static_cast<id_t>(g_workshop.helper), &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
    const bool gone = asked && ended.si_pid == g_workshop.helper;
    if (gone && __atomic_load_n(&g_workshop.stage, __ATOMIC_ACQUIRE) == stage) return -1;
  }
}

int unmount_here() {
  if (fchdir(g_workshop.old_root) != 0 || umount2(".", MNT_DETACH) != 0) return errno;
  return chdir("/") == 0 ? 0 : errno;
}

void end_helper() {
  while (waitpid(g_workshop.helper, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  g_workshop.helper = -1;
}

}  // namespace

void begin_network(const char* how) {
  g_workshop.given = strcmp(how, "given") == 0;
  if (strcmp(how, "net") != 0) return;
  g_workshop.helper = clone(work, g_stack + sizeof g_stack, CLONE_VM | CLONE_FILES | SIGCHLD, nullptr);
}

int enter_network() {
  if (g_workshop.given) return 0;
  if (g_workshop.helper >= 0 && await_helper(kMakingNetwork) < 0) end_helper();
  // Without the helper, or without a /proc to take the namespace from: made here, and waited for.
  if (g_workshop.network < 0) return unshare(CLONE_NEWNET) == 0 ? 0 : errno;
  const int fd = static_cast<int>(g_workshop.network);
  const int error = setns(fd, CLONE_NEWNET) == 0 ? 0 : errno;
  close(fd);
  return error;
}

int begin_unmount(int fd) {
  g_workshop.old_root = fd;
  if (g_workshop.helper >= 0 && await_helper(kMakingNetwork) < 0) end_helper();
  if (g_workshop.helper < 0) return unmount_here();
  reach(kUnmounting);
  return 0;
}

int finish_unmount() {
  if (g_workshop.helper < 0) return 0;
  const bool unmounting = g_workshop.old_root >= 0;
  int error = 0;
  if (!unmounting) {
    if (await_helper(kMakingNetwork) >= 0) reach(kLeave);
  } else if (await_helper(kUnmounting) >= 0) {
    error = static_cast<int>(-g_workshop.unmounted);
  } else {
    error = unmount_here();
  }
  end_helper();
  if (unmounting) close(g_workshop.old_root);
  return error;
}

}  // namespace cloche::init
