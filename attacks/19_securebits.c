// 19. Securebits are locked.
//
// attack: E securebits | no-process-user: only privilege can change the bounding set and the securebits | tries to
//     get back what root is
#include <sys/prctl.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
  if (bits < 0) CANNOT("PR_GET_SECUREBITS: %s\n", strerror(errno));
  // noroot, no-setuid-fixup and no-ambient-raise with their locks; keep-caps off and locked off.
  const int required = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80;
  if ((bits & required) != required) BREACH("securebits are %#x\n", (unsigned)bits);
  if (bits & 0x10) BREACH("keep-caps is on\n");
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0) BREACH("keep-caps can be turned on\n");
  HELD();
}
