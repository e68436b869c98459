// loose-init: cloche-init, built from the same sources, with single calls taken out at link time (-Wl,--wrap). What a
// plan cannot express is done by init in every cell; this shows that the attack gets through once it is not. The file's
// own name says what is missing: init starts with no environment, and its arguments belong to the engine.
//   loose-init.close-range.signal-mask
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace {

// First asked for by the reset of the signals, while the host's /proc is still there.
bool without(const char* word) {
  static char name[256];
  if (name[0] == '\0') {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    const char* slash = strrchr(path, '/');
    strncpy(name, slash != nullptr ? slash + 1 : "?", sizeof name - 2);
    strcat(name, ".");
  }
  char wanted[64] = ".";
  strncat(wanted, word, sizeof wanted - 3);
  strcat(wanted, ".");
  return strstr(name, wanted) != nullptr;
}

}  // namespace

// The linker wants these names, and the kernel takes every pointer for a number.
// NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
extern "C" {

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, ...) {
  using namespace cloche::init;
  long args[6];
  va_list list;
  va_start(list, number);
  for (long& arg : args) arg = va_arg(list, long);
  va_end(list);
  if (number == kSysCloseRange && args[0] == 3 && without("close-range")) return 0;
  if (number == SYS_rt_sigaction && without("signal-handlers")) return 0;
  const bool opens_mask =
      number == SYS_rt_sigprocmask && args[1] != 0 && *reinterpret_cast<const uint64_t*>(args[1]) == 0;
  if (opens_mask && without("signal-mask")) return 0;
  if (number == SYS_setgroups && without("groups")) return 0;
  if (number == SYS_pivot_root && without("pivot")) return chroot(".");
  if (number == kSysFsmount && without("nosuid")) args[2] &= ~static_cast<long>(kAttrNoSuid);
  MountAttr attr;
  if (number == kSysMountSetattr) {
    attr = *reinterpret_cast<const MountAttr*>(args[3]);
    if (without("nosuid")) attr.set &= ~kAttrNoSuid;
    if (without("propagation")) attr.propagation = 0;
    args[3] = reinterpret_cast<long>(&attr);
  }
  OpenHow how;
  if (number == kSysOpenat2 && without("links")) {
    how = *reinterpret_cast<const OpenHow*>(args[2]);
    how.resolve = 0;
    how.flags &= ~static_cast<uint64_t>(O_NOFOLLOW);
    args[2] = reinterpret_cast<long>(&how);
  }
  return __real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

// Whoever is not the guest stays a zombie. In a pid namespace of its own the guest is always the third process, after
// the one that makes the network.
pid_t __real_waitpid(pid_t pid, int* status, int options);
pid_t __wrap_waitpid(pid_t pid, int* status, int options) {
  return __real_waitpid(pid < 0 && without("reap") ? 3 : pid, status, options);
}

// The janitor's, too: it is the same program.
int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number) { return without("kill") ? 0 : __real_kill(pid, number); }

}  // extern "C"

namespace cloche::init {

int real_receive_message(wire::Message& message, int* fds, uint32_t capacity,
                         uint32_t& count) asm("__real__ZN6cloche4init15receive_messageERNS_4wire7MessageEPijRj");
int wrap_receive_message(wire::Message& message, int* fds, uint32_t capacity,
                         uint32_t& count) asm("__wrap__ZN6cloche4init15receive_messageERNS_4wire7MessageEPijRj");
int wrap_receive_message(wire::Message& message, int* fds, uint32_t capacity, uint32_t& count) {
  int error = real_receive_message(message, fds, capacity, count);
  if (error == 0 || !without("engine-gone")) return error;
  // Deaf to the engine's end; init asks again at once, so it rests a little.
  memset(&message, 0, sizeof message);
  const struct timespec pause = {0, 20'000'000};
  nanosleep(&pause, nullptr);
  return 0;
}

int real_begin_unmount(int fd) asm("__real__ZN6cloche4init13begin_unmountEi");
int wrap_begin_unmount(int fd) asm("__wrap__ZN6cloche4init13begin_unmountEi");
int wrap_begin_unmount(int fd) { return without("pivot") ? 0 : real_begin_unmount(fd); }

[[noreturn]] void real_fail_step(int32_t step, int error) asm("__real__ZN6cloche4init9fail_stepEii");
[[noreturn]] void wrap_fail_step(int32_t step, int error) asm("__wrap__ZN6cloche4init9fail_stepEii");
void wrap_fail_step(int32_t step, int error) {
  if (without("errors")) _exit(125);
  real_fail_step(step, error);
}

}  // namespace cloche::init
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
