// 45. No core dump reaches the host's core_pattern.
//
// attack: C core-dump | crashes, for its memory to be written to the host
#include <sys/prctl.h>
#include <sys/resource.h>

#include "victim.h"

static int crash(void) {
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  raise(SIGSEGV);
  return 0;
}

int main(void) {
  victim_begin();
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) < 0) CANNOT("getrlimit: %s\n", strerror(errno));
  int status = in_child(crash);
  if (WIFSIGNALED(status) && WCOREDUMP(status)) {
    unlink("core");
    BREACH("a core was dumped\n");
  }
  // A pipe in core_pattern ignores a limit of 0 and honours 1, so that 1 must not be lowered either.
  if (limit.rlim_cur != 1 || limit.rlim_max != 1)
    BREACH("RLIMIT_CORE is %llu, hard %llu\n", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
  const struct rlimit tries[] = {{0, 0}, {0, 1}, {RLIM_INFINITY, RLIM_INFINITY}};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t pair[2] = {tries[i].rlim_cur, tries[i].rlim_max};
    MUST_REFUSE(syscall(SYS_prlimit64, 0, RLIMIT_CORE, pair, NULL));
    MUST_REFUSE(syscall(SYS_prlimit64, 0, HIGH_GARBAGE(RLIMIT_CORE), pair, NULL));
    MUST_REFUSE(syscall(SYS_prlimit64, (long)getpid(), RLIMIT_CORE, pair, NULL));
#ifdef SYS_setrlimit
    MUST_REFUSE(syscall(SYS_setrlimit, RLIMIT_CORE, pair));
#endif
  }
  HELD();
}
