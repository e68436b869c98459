// 48. Calls that reach deep into the kernel are denied. Arguments are wrong on purpose: a call that gets through fails
// with another errno than a refusal and changes nothing.
#include "victim.h"

int main(void) {
  victim_begin();
  static char zero[256];
  MUST_REFUSE(syscall(SYS_userfaultfd, 1 /* user mode only: needs no privilege */));
  MUST_REFUSE(syscall(SYS_userfaultfd, 0));
  MUST_REFUSE(syscall(SYS_bpf, 0, zero, 48));
  MUST_REFUSE(syscall(SYS_bpf, 99, zero, 0));
  MUST_REFUSE(syscall(SYS_perf_event_open, zero, 0, -1, -1, 0ul));
  MUST_REFUSE(syscall(SYS_kexec_load, 0ul, 999999ul, NULL, ~0ul));
#ifdef SYS_kexec_file_load
  MUST_REFUSE(syscall(SYS_kexec_file_load, -1, -1, 0ul, NULL, ~0ul));
#endif
  MUST_REFUSE(syscall(SYS_init_module, NULL, 0ul, ""));
  MUST_REFUSE(syscall(SYS_finit_module, -1, "", 0));
  MUST_REFUSE(syscall(SYS_delete_module, "cloche_no_such_module", 0));
  MUST_REFUSE(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
  MUST_REFUSE(syscall(SYS_swapon, "/cloche-no-such-file", 0));
  MUST_REFUSE(syscall(SYS_swapoff, "/cloche-no-such-file"));
  MUST_REFUSE(syscall(SYS_reboot, 0, 0, 0, NULL));
  MUST_REFUSE(syscall(SYS_acct, "/cloche-no-such-file"));
  MUST_REFUSE(syscall(SYS_quotactl, -1, "/cloche-no-such-file", 0, NULL));
  MUST_REFUSE(syscall(SYS_clock_settime, 999, NULL));
  MUST_REFUSE(syscall(SYS_syslog, 10, NULL, 0));
  MUST_REFUSE(syscall(SYS_fanotify_init, ~0u, 0u));
  MUST_REFUSE(syscall(SYS_vmsplice, -1, NULL, 0ul, 0xffu));
#ifdef SYS_iopl
  MUST_REFUSE(syscall(SYS_iopl, 99));
  MUST_REFUSE(syscall(SYS_ioperm, ~0ul, ~0ul, 0));
  MUST_REFUSE(syscall(SYS_modify_ldt, 0, zero, sizeof zero));
#endif
  HELD();
}
