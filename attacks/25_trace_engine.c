// 25. Runs outside, as the engine's own user: what the engine holds must not be readable by a neighbour.
// Usage: 25_trace_engine PID
//
// attack: none; it runs outside of a cell, beside the engine
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  if (argc != 2) CANNOT("no pid was given\n");
  if (prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 1 && geteuid() == 0) CANNOT("root may trace anything\n");
  pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
  static const char* const files[] = {"mem", "environ", "maps", "auxv"};
  // Whoever may use perf may read the others since Linux 6.15, dumpable or not.
  const size_t count = geteuid() == 0 ? 1 : sizeof files / sizeof *files;
  for (size_t i = 0; i < count; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
    int fd = open(path, O_RDONLY);
    char byte;
    if (fd >= 0 && (i == 0 || read(fd, &byte, 1) == 1)) BREACH("%s can be read\n", path);
    if (fd < 0 && errno == ENOENT) CANNOT("%s is gone\n", path);
  }
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    BREACH("the engine can be traced\n");
  }
  int handle = (int)syscall(NR_pidfd_open, pid, 0);
  if (handle >= 0 && syscall(NR_pidfd_getfd, handle, 1, 0) >= 0) BREACH("the engine's descriptors can be taken\n");
  HELD();
}
