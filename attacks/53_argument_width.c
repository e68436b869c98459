// 53. Arguments are compared at the width the kernel uses: garbage above a 32-bit argument changes nothing.
//
// attack: E argument-width | way-out-args: way-out | exec-writable-args: exec-writable | tries to fool the filter
//     by the upper halves of arguments
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "victim.h"

static long g_flags;
static int by_clone(void) {
  long child = syscall(SYS_clone, g_flags, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  return child > 0 ? 200 : errno;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const long tops[] = {1l << 32, 0x7fffffffl << 32, (long)0xdeadbeef00000000ul, (long)0xffffffff00000000ul};
  int has_way_out = 0, may_execute = 0;
  for (int i = 1; i < argc; ++i) {
    has_way_out |= strcmp(argv[i], "way-out") == 0;
    may_execute |= strcmp(argv[i], "exec-writable") == 0;
  }
  char byte = '\n';
  uint64_t zero[2] = {0, 0};
  for (size_t i = 0; i < sizeof tops / sizeof *tops; ++i) {
    long top = tops[i];
    MUST_REFUSE(syscall(SYS_ioctl, 0, top | 0x5412, &byte));
    MUST_REFUSE(syscall(SYS_ioctl, 0, top | 0x541c, &byte));
    static const int families[] = {AF_INET, AF_INET6, 16 /* netlink */, 17 /* packet */, 38 /* alg */, 40 /* vsock */};
    for (size_t f = has_way_out ? 2 : 0; f < sizeof families / sizeof *families; ++f) {
      long fd = syscall(SYS_socket, top | families[f], (long)SOCK_DGRAM, 0l);
      if (fd >= 0) BREACH("garbage above family %d makes a socket\n", families[f]);
      if (!is_refusal(errno) && errno != EAFNOSUPPORT) BREACH("family %d: %s\n", families[f], strerror(errno));
    }
    MUST_REFUSE(syscall(SYS_unshare, top | (long)NS_USER));
    MUST_REFUSE(syscall(SYS_prlimit64, 0l, top | RLIMIT_CORE, zero, NULL));
    if (!may_execute) MUST_REFUSE(syscall(SYS_memfd_create, "victim", top | 0x10 /* MFD_EXEC */));
    g_flags = top | (long)(NS_USER | SIGCHLD);
    int status = in_child(by_clone);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 200)
      BREACH("clone with %#lx made a namespace\n", (unsigned long)g_flags);
    if (WIFEXITED(status) && !is_refusal(WEXITSTATUS(status)))
      BREACH("clone with %#lx reached the kernel (%s)\n", (unsigned long)g_flags, strerror(WEXITSTATUS(status)));
  }
  // The other way round: a permitted call with garbage must not be broken by it.
  int pair[2];
  if (syscall(SYS_socketpair, HIGH_GARBAGE(AF_UNIX), (long)SOCK_STREAM, 0l, pair) != 0)
    BREACH("garbage above AF_UNIX breaks a permitted call (%s)\n", strerror(errno));
  HELD();
}
