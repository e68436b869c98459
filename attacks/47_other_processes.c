// 47. process_vm_*, ptrace of others, pidfd_getfd, kcmp denied.
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "victim.h"

int main(void) {
  victim_begin();
  char byte = 0;
  struct iovec local = {&byte, 1}, remote = {&byte, 1};
  const pid_t targets[] = {1, getppid(), (pid_t)bait_number("BAIT_PID"), getpid()};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    long pid = targets[i];
    MUST_REFUSE(syscall(SYS_process_vm_readv, pid, &local, 1ul, &remote, 1ul, 0ul));
    MUST_REFUSE(syscall(SYS_process_vm_writev, pid, &local, 1ul, &remote, 1ul, 0ul));
    MUST_REFUSE(syscall(SYS_kcmp, pid, pid, 0, 0ul, 0ul));
    if (pid != getpid()) MUST_REFUSE(syscall(SYS_ptrace, 0x4206l /* SEIZE */, pid, 0l, 0l));
    if (pid != getpid()) MUST_REFUSE(syscall(SYS_ptrace, 16l /* ATTACH */, pid, 0l, 0l));
  }
  MUST_REFUSE(syscall(NR_pidfd_getfd, -1, 0, 0));
  MUST_REFUSE(syscall(NR_process_madvise, -1, &local, 1ul, 4, 0));
  MUST_REFUSE(syscall(NR_process_mrelease, -1, 0));
  char path[64];
  static const char* const files[] = {"mem", "environ", "maps", "syscall", "stack", "auxv"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    snprintf(path, sizeof path, "/proc/1/%s", files[i]);
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && read(fd, &byte, 1) == 1) BREACH("%s can be read\n", path);
  }
  HELD();
}
