// 16. Double-forked and setsid'ed orphans are reaped.
//
// attack: A orphans | bait: --subreaper | no-process: tier 0 has the host's process table | leaves 32 orphans behind
#include "victim.h"

int main(void) {
  victim_begin();
  enum { kOrphans = 32 };
  pid_t orphans[kOrphans];
  for (int i = 0; i < kOrphans; ++i) {
    int pipes[2];
    if (pipe(pipes) < 0) CANNOT("pipe: %s\n", strerror(errno));
    pid_t child = fork();
    if (child < 0) CANNOT("fork: %s\n", strerror(errno));
    if (child == 0) {
      pid_t grandchild = fork();
      if (grandchild == 0) {
        setsid();
        _exit(0);
      }
      if (write(pipes[1], &grandchild, sizeof grandchild) != sizeof grandchild) _exit(1);
      _exit(0);
    }
    if (read(pipes[0], &orphans[i], sizeof orphans[i]) != sizeof orphans[i]) CANNOT("no pid came back\n");
    close(pipes[0]);
    close(pipes[1]);
    waitpid(child, NULL, 0);
    if (orphans[i] <= 0) CANNOT("the second fork failed\n");
  }
  // A zombie still answers kill; one that was reaped does not. The alarm bounds the wait of a reaper that is slow.
  for (int round = 0; round < 50; ++round) {
    int left = 0;
    for (int i = 0; i < kOrphans; ++i) left += kill(orphans[i], 0) == 0;
    if (left == 0) HELD();
    nap();
  }
  BREACH("orphans stay behind as zombies\n");
}
