// Looks into a process of the host, or disturbs it. The process is the bait's own and does nothing but wait.
//
// attack: C process-environment | args: environment | tries to read the environment of a host's process
// attack: C process-command-line | args: command-line | tries to read the command line of a host's process
// attack: C process-memory-file | args: memory | tries to open the memory of a host's process
// attack: C process-descriptors | args: descriptors | tries to list the descriptors of a host's process
// attack: C process-root | args: root | tries to reach files by the root of a host's process
// attack: D oom-score | args: oom | tries to make the kernel kill a host's process first
// attack: D process-priority | args: priority | tries to slow a host's process down
// attack: D process-limits-of-others | args: limits | tries to change the limits of a host's process
// attack: D process-affinity | args: processor | tries to move a host's process to another processor
// attack: D signal-continue | args: end | tries to signal a host's process
#include <sched.h>
#include <sys/resource.h>

#include "victim.h"

static pid_t g_target;

static void must_not_read(const char* name) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/%s", g_target, name);
  if (read_file(path, text, sizeof text) > 0) BREACH("%s can be read\n", path);
}
static void must_not_open(const char* name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", g_target, name);
  if (open(path, flags | O_CLOEXEC) >= 0) BREACH("%s opens\n", path);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  g_target = (pid_t)bait_number("BAIT_PID");
  if (g_target == getpid() || g_target == getppid()) CANNOT("pid %d exists in the cell too\n", g_target);
  if (chosen("environment")) must_not_read("environ");
  if (chosen("command-line")) must_not_read("cmdline");
  if (chosen("memory")) must_not_open("mem", O_RDONLY);
  if (chosen("memory")) must_not_read("maps");
  if (chosen("descriptors")) must_not_open("fd", O_RDONLY | O_DIRECTORY);
  if (chosen("root")) must_not_open("root/etc", O_RDONLY | O_DIRECTORY);
  if (chosen("oom")) must_not_open("oom_score_adj", O_WRONLY);
  if (chosen("priority") && setpriority(PRIO_PROCESS, (id_t)g_target, 19) == 0) BREACH("its priority was lowered\n");
  if (chosen("limits")) {
    uint64_t few[2] = {1024, 1024};
    if (syscall(SYS_prlimit64, g_target, RLIMIT_NOFILE, few, NULL) == 0) BREACH("its limits were changed\n");
    if (syscall(SYS_prlimit64, g_target, RLIMIT_NOFILE, NULL, few) == 0) BREACH("its limits can be read\n");
  }
  if (chosen("processor")) {
    unsigned long mask[16] = {0};
    long size = syscall(SYS_sched_getaffinity, g_target, sizeof mask, mask);
    if (size > 0 && syscall(SYS_sched_setaffinity, g_target, (size_t)size, mask) == 0)
      BREACH("it can be moved to another processor\n");
  }
  if (chosen("end") && kill(g_target, SIGCONT) == 0) BREACH("a signal reached it\n");
  HELD();
}
