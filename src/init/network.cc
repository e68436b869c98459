// The cell's own network namespace. Making one takes the kernel longer than building the whole root, and nothing else
// waits for it: so a helper, which shares this process's memory and descriptors, makes it while the root is built.
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "init/cell.h"
#include "init/kernel.h"
#include "wire/raw_call.h"

namespace cloche::init {
namespace {

enum State : int { kWorking, kFinished };

struct Workshop {
  int state = kWorking;  // a futex
  long fd = -1;          // the namespace
  int helper = -1;
  bool given = false;
};
Workshop g_workshop;
char g_stack[8 * 1024] __attribute__((aligned(16)));

// Shares errno with init, which runs on: so nothing here may set it.
int work(void*) {
  using wire::raw_call;
  if (raw_call(SYS_unshare, CLONE_NEWNET) == 0) {
    g_workshop.fd =
        raw_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/thread-self/ns/net"), O_RDONLY | O_CLOEXEC);
  }
  __atomic_store_n(&g_workshop.state, kFinished, __ATOMIC_RELEASE);
  raw_call(SYS_futex, reinterpret_cast<long>(&g_workshop.state), FUTEX_WAKE, 1);
  for (;;) raw_call(SYS_exit, 0);
}

}  // namespace

void begin_network(const char* how) {
  g_workshop.given = strcmp(how, "given") == 0;
  if (strcmp(how, "net") != 0) return;
  g_workshop.helper = clone(work, g_stack + sizeof g_stack, CLONE_VM | CLONE_FILES | SIGCHLD, nullptr);
}

int enter_network() {
  if (g_workshop.given) return 0;
  // Without the helper, or without a /proc to take the namespace from: made here, and waited for.
  if (g_workshop.helper < 0) return unshare(CLONE_NEWNET) == 0 ? 0 : errno;
  while (__atomic_load_n(&g_workshop.state, __ATOMIC_ACQUIRE) == kWorking) {
    syscall(SYS_futex, &g_workshop.state, FUTEX_WAIT, kWorking, nullptr, nullptr, 0);
  }
  while (waitpid(g_workshop.helper, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  g_workshop.helper = -1;
  if (g_workshop.fd < 0) return unshare(CLONE_NEWNET) == 0 ? 0 : errno;
  const int fd = static_cast<int>(g_workshop.fd);
  const int error = setns(fd, CLONE_NEWNET) == 0 ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace cloche::init
