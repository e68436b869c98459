// 50. An allowlist; the architecture is checked; x32 numbers and 32-bit entry are refused.
//
// attack: E calls-of-32-bits | args: int80 | tries to make system calls by the 32-bit entry
// attack: E calls-of-x32 | args: x32 | tries to make system calls by x32 numbers
// attack: E obsolete-calls | args: obsolete | tries calls that no program of today makes
#include "victim.h"

#if defined(__x86_64__)
static int by_int80(void) {
  long result = 20;  // getpid of the 32-bit table
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return (int)result > 0 ? 1 : 0;
}
// The 32-bit number 48 is signal(), 5 is open(): a filter that only looks at numbers takes it for another call.
static int open_by_int80(void) {
  long result = 5;
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(0l), "c"(0l), "d"(0l) : "memory", "r8", "r9", "r10", "r11");
  return (int)result == -EFAULT ? 1 : 0;
}
static int by_x32(void) { return syscall(0x40000000l | SYS_getpid) > 0; }
static int by_x32_ioctl(void) { return syscall(0x40000000l | 514, -1, 0, 0) < 0 && errno == EBADF; }
#endif
// Calls that no program of today makes: whoever lets them through has no allowlist.
static int obsolete_sysfs(void) {
#ifdef SYS_sysfs
  return syscall(SYS_sysfs, 3) > 0;
#else
  return 0;
#endif
}
static int obsolete_ldt(void) {
#ifdef SYS_modify_ldt
  static char buffer[64];
  return syscall(SYS_modify_ldt, 0, buffer, sizeof buffer) >= 0;
#else
  return 0;
#endif
}
static int odd_personality(void) { return syscall(SYS_personality, 0x0400000l /* READ_IMPLIES_EXEC */) >= 0; }
static int odd_get_mempolicy(void) { return syscall(SYS_migrate_pages, 0, 0ul, NULL, NULL) >= 0 || errno == EINVAL; }

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static const struct {
    const char *choice, *name;
    int (*attempt)(void);
  } ways[] = {
#if defined(__x86_64__)
    {"int80", "getpid by int 0x80", by_int80},
    {"int80", "open by int 0x80", open_by_int80},
    {"x32", "getpid by an x32 number", by_x32},
    {"x32", "ioctl by an x32 number", by_x32_ioctl},
#endif
    {"obsolete", "sysfs", obsolete_sysfs},
    {"obsolete", "modify_ldt", obsolete_ldt},
    {"obsolete", "personality(READ_IMPLIES_EXEC)", odd_personality},
    {"obsolete", "migrate_pages", odd_get_mempolicy}
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (!chosen(ways[i].choice)) continue;
    int status = in_child(ways[i].attempt);
    // A signal is a refusal too: SIGSYS from the filter, SIGSEGV where the kernel has no 32-bit entry.
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) BREACH("%s works\n", ways[i].name);
  }
  HELD();
}
