// 16. Double-forked and setsid'ed orphans are reaped.
//
// attack: A orphans | bait: --subreaper | no-process: tier 0 has the host's process table | leaves 32 orphans behind
#include "victim.h"

// Under a tight limit there is room only when those before are gone.
static pid_t fork_patiently(void) {
  for (int round = 0; round < 100; ++round) {
    pid_t child = fork();
    if (child >= 0 || errno != EAGAIN) return child;
    nap();
  }
  return -1;
}

static pid_t make_orphan(void) {
  int pipes[2];
  pid_t orphan = -1;
  if (pipe(pipes) < 0) CANNOT("pipe: %s\n", strerror(errno));
  pid_t child = fork_patiently();
  if (child == 0) {
    pid_t grandchild = fork_patiently();
    if (grandchild == 0) {
      setsid();
      _exit(0);
    }
    _exit(write(pipes[1], &grandchild, sizeof grandchild) != sizeof grandchild);
  }
  close(pipes[1]);
  if (child > 0 && read(pipes[0], &orphan, sizeof orphan) != sizeof orphan) CANNOT("no pid came back\n");
  close(pipes[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return orphan;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  enum { kOrphans = 32 };
  pid_t orphans[kOrphans];
  int made = 0;
  while (made < kOrphans && (orphans[made] = make_orphan()) > 0) ++made;
  if (made == 0) CANNOT("no orphan can be made\n");
  // A zombie still answers kill; one that was reaped does not. The alarm bounds the wait of a reaper that is slow.
  for (int round = 0; round < 50; ++round) {
    int left = 0;
    for (int i = 0; i < made; ++i) left += kill(orphans[i], 0) == 0;
    if (left == 0 && made < kOrphans) CANNOT("there is room for %d orphans only\n", made);
    if (left == 0) HELD();
    nap();
  }
  BREACH("orphans stay behind as zombies\n");
}
