// 20. setgroups is denied; no supplementary groups.
//
// attack: E groups | no-process-user: the groups of an ordinary user stay (supplementary-groups) | tries to use the
//     caller's groups, and to take others
#include <grp.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  gid_t groups[256];
  int count = getgroups(256, groups);
  if (count < 0) CANNOT("getgroups: %s\n", strerror(errno));
  if (count > 0) BREACH("%d supplementary groups, the first is %u\n", count, groups[0]);
  gid_t wanted[1] = {0};
  MUST_REFUSE(syscall(SYS_setgroups, 1, wanted));
  MUST_REFUSE(syscall(SYS_setgroups, 0, NULL));
  if (syscall(SYS_setresgid, 0, 0, 0) == 0) BREACH("group 0 can be taken\n");
  HELD();
}
