// 41. Hard link or rename cannot leave a writable root. BAIT_WRITE is granted for writing, its parent is not.
//
// attack: D leave-grant | options: --write @WRITE@ | no-bwrap-root: bwrap under root cannot map a
//     directory's owner to the guest, so such a grant is refused | tries to get out of a writable grant by links and renames
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  const char* granted = bait("BAIT_WRITE");
  char inside[4200], outside[4200], around[4200];
  snprintf(inside, sizeof inside, "%s/victim41", granted);
  snprintf(outside, sizeof outside, "%s/../victim41-escaped", granted);
  snprintf(around, sizeof around, "%s/../read/../victim41-escaped", granted);
  int fd = open(inside, O_RDWR | O_CREAT, 0600);
  if (fd < 0) CANNOT("%s: %s\n", inside, strerror(errno));
  MUST_DENY_PATH("link to", outside, link(inside, outside));
  MUST_DENY_PATH("link to", around, link(inside, around));
  MUST_DENY_PATH("rename to", outside, rename(inside, outside));
  char by_descriptor[64];
  snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", fd);
  MUST_DENY_PATH("linkat by descriptor", outside,
                 linkat(AT_FDCWD, by_descriptor, AT_FDCWD, outside, AT_SYMLINK_FOLLOW));
  const char* program = own_path("/usr/bin", "41");
  g_litter[0] = program;
  MUST_DENY_PATH("rename to", program, rename(inside, program));
  g_litter[0] = NULL;
  // The other direction would carry a host inode into a place where the guest can change it.
  snprintf(outside, sizeof outside, "%s/victim41-in", granted);
  MUST_DENY_PATH("link from", bait("BAIT_FILE"), link(bait("BAIT_FILE"), outside));
  MUST_DENY_PATH("link from", "/usr/bin/env", link("/usr/bin/env", outside));
  snprintf(outside, sizeof outside, "%s/victim41-link", granted);
  unlink(outside);
  if (symlink(bait("BAIT_FILE"), outside) == 0) {
    MUST_DENY_PATH("open through", outside, open(outside, O_RDONLY));
    unlink(outside);
  }
  unlink(inside);
  HELD();
}
