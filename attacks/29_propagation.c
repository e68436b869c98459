// 29. Mount propagation is private both ways.
//
// attack: E mount-propagation | no-bwrap: bwrap leaves its mounts slaves of the host's: nothing goes out, but mounts
//     come in | no-process: tier 0 has the host's own mounts; Landlock judges paths | looks for mounts that are shared
//     with the host
#include "mounts.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  FILE* mounts = open_mounts();
  struct mount_line line;
  int count = 0;
  while (next_mount(mounts, &line)) {
    ++count;
    if (strstr(line.optional, "shared:")) BREACH("%s is shared: mounts go out\n", line.point);
    if (strstr(line.optional, "master:") || strstr(line.optional, "propagate_from:"))
      BREACH("%s is a slave: mounts come in\n", line.point);
  }
  if (count == 0) CANNOT("mountinfo is empty\n");
  HELD();
}
