// 15. The guest cannot signal a process outside. EPERM counts as a breach: the process was seen.
//
// attack: D signal-process | args: kill | no-process: tier 0 has the host's process table | tries to signal a process
//     of the host in six ways
// attack: D signal-by-owner | args: owner | no-process: tier 0 has the host's process table | tries to have the
//     kernel signal a process of the host
// attack: D scan-processes | args: scan | no-process: tier 0 has the host's process table | looks for processes of
//     the host by their numbers
#include <sched.h>
#include <sys/resource.h>

#include "victim.h"

static void must_be_unknown(const char* what, long result) {
  if (result >= 0) BREACH("%s reached the host's process\n", what);
  if (errno == EPERM && strcmp(what, "pidfd_open") == 0) return;  // the filter may refuse the call as a whole
  if (errno != ESRCH && errno != ENOSYS && errno != EINVAL) BREACH("%s sees it (%s)\n", what, strerror(errno));
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  pid_t target = (pid_t)bait_number("BAIT_PID");
  if (target == getpid() || target == getppid()) CANNOT("pid %d exists in the cell too\n", target);
  if (chosen("kill")) {
    must_be_unknown("kill", kill(target, 0));
    must_be_unknown("tgkill", syscall(SYS_tgkill, target, target, 0));
    must_be_unknown("tkill", syscall(SYS_tkill, target, 0));
    must_be_unknown("pidfd_open", syscall(NR_pidfd_open, target, 0));
    must_be_unknown("killpg", kill(-target, 0));
    siginfo_t info = {.si_code = SI_QUEUE};
    must_be_unknown("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, target, 0, &info));
  }
  int pipes[2];
  if (chosen("owner") && pipe(pipes) == 0) {
    // A signal by asynchronous I/O takes another way through the kernel than kill.
    if (fcntl(pipes[0], F_SETOWN, target) == 0) BREACH("F_SETOWN accepts the host's process\n");
  }
  int others = 0;
  for (pid_t pid = 2; chosen("scan") && pid < 70000; ++pid) {
    if (pid == getpid()) continue;
    if (kill(pid, 0) == 0 || errno == EPERM) ++others;
  }
  if (others > 1) BREACH("%d processes can be seen by kill\n", others);
  HELD();
}
