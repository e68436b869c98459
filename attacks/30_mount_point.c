// 30. Creating mount points never follows a guest-controlled symlink (runc CVE-2021-30465). An earlier run left
// a symlink "evil" in the writable grant, and a later grant is to be mounted on evil/sub.
//
// attack: E mount-point-link | options: --write @WRITE@ --read @DIR@/evil-target --read @WRITE@/evil/sub | held:
//     2,126 | refusal: the path leads through a symbolic link | no-process: nothing is mounted on tier 0 |
//     left a link where the next run is to mount something
#include "mounts.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  char path[4200];
  snprintf(path, sizeof path, "%s/evil", bait("BAIT_WRITE"));
  struct stat info;
  if (lstat(path, &info) < 0) CANNOT("%s: %s\n", path, strerror(errno));
  snprintf(path, sizeof path, "%s/sub", bait("BAIT_EVIL_TARGET"));
  FILE* mounts = open_mounts();
  struct mount_line line;
  while (next_mount(mounts, &line)) {
    if (strcmp(line.point, path) == 0) BREACH("the grant was mounted where the symlink points\n");
  }
  if (lstat(path, &info) < 0) HELD();
  CANNOT("nothing is mounted by way of the symlink, but its target is here all the same\n");
}
