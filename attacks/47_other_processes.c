// 47. process_vm_*, ptrace of others, pidfd_getfd, kcmp denied.
//
// attack: C read-memory | args: read-memory | tries to read the memory of another process
// attack: E write-memory | args: write-memory | tries to write to the memory of another process
// attack: E compare-processes | args: compare | tries to learn kernel addresses by comparing processes
// attack: E trace | args: trace | tries to trace other processes
// attack: C take-descriptor | args: take-descriptor | tries to take a descriptor of another process
// attack: E advise-process | args: advise | tries to take the memory of another process away
// attack: C init-by-proc | args: proc | tries to read the memory and environment of the first process
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  char byte = 0;
  struct iovec local = {&byte, 1}, remote = {&byte, 1};
  const pid_t targets[] = {1, getppid(), (pid_t)bait_number("BAIT_PID"), getpid()};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    long pid = targets[i];
    if (chosen("read-memory")) MUST_REFUSE(syscall(SYS_process_vm_readv, pid, &local, 1ul, &remote, 1ul, 0ul));
    // No bytes: where it works, nobody's memory is changed.
    if (chosen("write-memory")) MUST_REFUSE(syscall(SYS_process_vm_writev, pid, &local, 0ul, &remote, 0ul, 0ul));
    if (chosen("compare")) MUST_REFUSE(syscall(SYS_kcmp, pid, pid, 0, 0ul, 0ul));
    if (pid == getpid()) continue;
    // Seizing stops nobody, and ends with the tracer.
    if (chosen("trace")) MUST_REFUSE(syscall(SYS_ptrace, 0x4206l /* SEIZE */, pid, 0l, 0l));
    if (chosen("trace")) MUST_REFUSE(syscall(SYS_ptrace, 16l /* ATTACH */, pid, 0l, 0l));
  }
  if (chosen("take-descriptor")) MUST_REFUSE(syscall(NR_pidfd_getfd, -1, 0, 0));
  if (chosen("advise")) MUST_REFUSE(syscall(NR_process_madvise, -1, &local, 1ul, 4, 0));
  if (chosen("advise")) MUST_REFUSE(syscall(NR_process_mrelease, -1, 0));
  char path[64];
  static const char* const files[] = {"mem", "environ", "maps", "syscall", "stack", "auxv"};
  for (size_t i = 0; chosen("proc") && i < sizeof files / sizeof *files; ++i) {
    snprintf(path, sizeof path, "/proc/1/%s", files[i]);
    int fd = open(path, O_RDONLY);
    if (fd >= 0 && read(fd, &byte, 1) == 1) BREACH("%s can be read\n", path);
  }
  HELD();
}
