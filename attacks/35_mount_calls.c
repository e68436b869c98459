// 35. The whole mount family is denied (flatpak CVE-2021-41133: the new calls were forgotten).
#include <sys/mount.h>

#include "victim.h"

int main(void) {
  victim_begin();
  static char attributes[32];
  mkdir("/tmp/victim35", 0755);
  MUST_REFUSE(syscall(SYS_mount, "none", "/tmp/victim35", "tmpfs", 0ul, "size=4k"));
  MUST_REFUSE(syscall(SYS_mount, "/usr", "/tmp/victim35", NULL, (unsigned long)MS_BIND, NULL));
  MUST_REFUSE(syscall(SYS_mount, NULL, "/", NULL, (unsigned long)(MS_REMOUNT | MS_BIND), NULL));
  MUST_REFUSE(syscall(SYS_umount2, "/tmp/victim35", MNT_DETACH));
  MUST_REFUSE(syscall(SYS_umount2, "/proc/no-such-mount", 0));
  MUST_REFUSE(syscall(SYS_pivot_root, "/tmp/victim35", "/tmp/victim35"));
  MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 0));
  MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
  MUST_REFUSE(syscall(NR_move_mount, -1, "", AT_FDCWD, "/tmp/victim35", 4));
  MUST_REFUSE(syscall(NR_fsopen, "tmpfs", 0));
  MUST_REFUSE(syscall(NR_fsconfig, -1, 6, NULL, NULL, 0));
  MUST_REFUSE(syscall(NR_fsmount, -1, 0, 0));
  MUST_REFUSE(syscall(NR_fspick, AT_FDCWD, "/tmp", 0));
  MUST_REFUSE(syscall(NR_mount_setattr, AT_FDCWD, "/tmp", 0, attributes, sizeof attributes));
  MUST_REFUSE(syscall(SYS_chroot, "/tmp/victim35"));
  HELD();
}
