// 51. clone flags are masked; clone3 gives ENOSYS so that libc falls back.
//
// attack: E make-namespaces | args: namespaces | tries to make namespaces of every kind
// attack: E enter-namespace | args: setns | tries to enter a namespace
// attack: E clone3 | args: clone3 | tries the call whose arguments no filter can see
#include "victim.h"

static unsigned long g_flags;
static int by_clone(void) {
  long child = syscall(SYS_clone, g_flags | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  return child > 0 ? 200 : errno;
}
static int by_unshare(void) { return syscall(SYS_unshare, g_flags) == 0 ? 200 : errno; }
static int by_clone3(void) {
  uint64_t args[11] = {0, 0, 0, 0, SIGCHLD};
  long child = syscall(NR_clone3, args, 64);
  if (child == 0) _exit(0);
  return child > 0 ? 200 : errno;
}
static int by_setns(void) {
  int fd = open("/proc/self/ns/uts", O_RDONLY);
  return syscall(SYS_setns, fd, 0) == 0 ? 200 : errno;
}

static void judge(const char* name, int status) {
  if (WIFSIGNALED(status)) return;
  int error = WEXITSTATUS(status);
  if (error == 200) BREACH("%s with flags %#lx succeeded\n", name, g_flags);
  if (!is_refusal(error)) BREACH("%s with flags %#lx reached the kernel (%s)\n", name, g_flags, strerror(error));
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  g_flags = 0;
  int status = in_child(by_clone);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 200) CANNOT("plain clone does not work\n");
  static const unsigned long flags[] = {NS_USER, NS_MNT, NS_PID, NS_NET, NS_IPC, NS_UTS, NS_CGROUP, NS_USER | NS_MNT};
  for (size_t i = 0; chosen("namespaces") && i < sizeof flags / sizeof *flags; ++i) {
    g_flags = flags[i];
    judge("clone", in_child(by_clone));
    judge("unshare", in_child(by_unshare));
  }
  g_flags = NS_TIME;
  if (chosen("namespaces")) judge("unshare", in_child(by_unshare));
  g_flags = 0;
  if (chosen("setns")) judge("setns", in_child(by_setns));
  if (!chosen("clone3")) HELD();
  status = in_child(by_clone3);
  if (WIFSIGNALED(status)) BREACH("clone3 killed its caller with signal %d\n", WTERMSIG(status));
  if (WEXITSTATUS(status) != ENOSYS)
    BREACH("clone3 gave %s\n", WEXITSTATUS(status) == 200 ? "a child" : strerror(WEXITSTATUS(status)));
  HELD();
}
