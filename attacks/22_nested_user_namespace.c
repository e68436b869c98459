// 22. A nested user namespace cannot be made.
//
// attack: E user-namespace-unshare | args: unshare | tries to make a user namespace by unshare
// attack: E user-namespace-clone | args: clone | tries to make a user namespace by clone
// attack: E user-namespace-clone3 | args: clone3 | tries to make a user namespace by clone3
#include "victim.h"

static int by_unshare(void) { return syscall(SYS_unshare, NS_USER) == 0; }
static int by_unshare_with_mount(void) { return syscall(SYS_unshare, NS_USER | NS_MNT) == 0; }
static int by_clone(void) {
  long child = syscall(SYS_clone, NS_USER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  return child > 0;
}
static int by_clone_garbage(void) {
  long child = syscall(SYS_clone, HIGH_GARBAGE(NS_USER | SIGCHLD), NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  return child > 0;
}
static int by_clone3(void) {
  uint64_t args[11] = {NS_USER, 0, 0, 0, SIGCHLD};
  long child = syscall(NR_clone3, args, 64);
  if (child == 0) _exit(0);
  return child > 0;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static const struct {
    const char *choice, *name;
    int (*attempt)(void);
  } ways[] = {{"unshare", "unshare", by_unshare},
              {"unshare", "unshare with a mount namespace", by_unshare_with_mount},
              {"clone", "clone", by_clone},
              {"clone", "clone with garbage above the flags", by_clone_garbage},
              {"clone3", "clone3", by_clone3}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (!chosen(ways[i].choice)) continue;
    int status = in_child(ways[i].attempt);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) BREACH("%s makes a user namespace\n", ways[i].name);
  }
  HELD();
}
