// 48. Calls that reach deep into the kernel are denied. Arguments are wrong on purpose: a call that gets through fails
// with another errno than a refusal and changes nothing.
//
// attack: E userfaultfd | args: userfaultfd | tries to handle page faults, which makes kernel races winnable
// attack: E bpf | args: bpf | tries to load a program into the kernel
// attack: E perf-events | args: perf | tries to measure the kernel
// attack: E kexec | args: kexec | tries to load another kernel
// attack: E kernel-modules | args: module | tries to load and unload kernel modules
// attack: E open-by-handle | args: handle | tries to open files by handles, around every path
// attack: E swap | args: swap | tries to change where the kernel swaps
// attack: E reboot | args: reboot | tries to call reboot
// attack: E accounting | args: accounting | tries to change process accounting
// attack: E quota | args: quota | tries to change quotas
// attack: E set-clock | args: clock | tries to set the clock
// attack: E kernel-log | args: syslog | tries to read the kernel's log
// attack: E fanotify | args: fanotify | tries to watch all file accesses
// attack: E vmsplice | args: vmsplice | tries to give memory to a pipe
// attack: E hardware-ports | args: ports | tries to get at hardware ports
// attack: E segment-table | args: ldt | tries to change its segment table
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static char zero[256];
  if (chosen("userfaultfd")) MUST_REFUSE(syscall(SYS_userfaultfd, 1 /* user mode only: needs no privilege */));
  if (chosen("userfaultfd")) MUST_REFUSE(syscall(SYS_userfaultfd, 0));
  if (chosen("bpf")) MUST_REFUSE(syscall(SYS_bpf, 0, zero, 48));
  if (chosen("bpf")) MUST_REFUSE(syscall(SYS_bpf, 99, zero, 0));
  if (chosen("perf")) MUST_REFUSE(syscall(SYS_perf_event_open, zero, 0, -1, -1, 0ul));
  if (chosen("kexec")) MUST_REFUSE(syscall(SYS_kexec_load, 0ul, 999999ul, NULL, ~0ul));
#ifdef SYS_kexec_file_load
  if (chosen("kexec")) MUST_REFUSE(syscall(SYS_kexec_file_load, -1, -1, 0ul, NULL, ~0ul));
#endif
  if (chosen("module")) MUST_REFUSE(syscall(SYS_init_module, NULL, 0ul, ""));
  if (chosen("module")) MUST_REFUSE(syscall(SYS_finit_module, -1, "", 0));
  if (chosen("module")) MUST_REFUSE(syscall(SYS_delete_module, "cloche_no_such_module", 0));
  if (chosen("handle")) MUST_REFUSE(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
  if (chosen("swap")) MUST_REFUSE(syscall(SYS_swapon, "/cloche-no-such-file", 0));
  if (chosen("swap")) MUST_REFUSE(syscall(SYS_swapoff, "/cloche-no-such-file"));
  if (chosen("reboot")) MUST_REFUSE(syscall(SYS_reboot, 0, 0, 0, NULL));
  if (chosen("accounting")) MUST_REFUSE(syscall(SYS_acct, "/cloche-no-such-file"));
  if (chosen("quota")) MUST_REFUSE(syscall(SYS_quotactl, -1, "/cloche-no-such-file", 0, NULL));
  if (chosen("clock")) MUST_REFUSE(syscall(SYS_clock_settime, 999, NULL));
  if (chosen("syslog")) MUST_REFUSE(syscall(SYS_syslog, 10, NULL, 0));
  if (chosen("fanotify")) MUST_REFUSE(syscall(SYS_fanotify_init, ~0u, 0u));
  if (chosen("vmsplice")) MUST_REFUSE(syscall(SYS_vmsplice, -1, NULL, 0ul, 0xffu));
#ifdef SYS_iopl
  if (chosen("ports")) MUST_REFUSE(syscall(SYS_iopl, 99));
  if (chosen("ports")) MUST_REFUSE(syscall(SYS_ioperm, ~0ul, ~0ul, 0));
  if (chosen("ldt")) MUST_REFUSE(syscall(SYS_modify_ldt, 0, zero, sizeof zero));
#endif
  HELD();
}
