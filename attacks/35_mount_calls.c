// 35. The whole mount family is denied (flatpak CVE-2021-41133: the new calls were forgotten).
//
// attack: E mount | args: mount | tries to mount a file system
// attack: E bind-mount | args: bind | tries to mount a directory of the system elsewhere
// attack: E remount | args: remount | tries to remount the root writable
// attack: E unmount | args: unmount | tries to take a mount away
// attack: E pivot-root | args: pivot | tries to change the root
// attack: E open-tree | args: open-tree | tries to clone a mount
// attack: E move-mount | args: move-mount | tries to move a mount
// attack: E new-mount-calls | args: new-api | tries the newer calls that make mounts
// attack: E mount-setattr | args: setattr | tries to change the flags of a mount
// attack: E chroot | args: chroot | tries to call chroot
#include <sys/mount.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin();
  choose(argc, argv);
  static char attributes[32];
  mkdir("victim35", 0755);
  if (chosen("mount")) MUST_REFUSE(syscall(SYS_mount, "none", "victim35", "tmpfs", 0ul, "size=4k"));
  if (chosen("bind")) MUST_REFUSE(syscall(SYS_mount, "/usr", "victim35", NULL, (unsigned long)MS_BIND, NULL));
  if (chosen("remount")) MUST_REFUSE(syscall(SYS_mount, NULL, "/", NULL, (unsigned long)(MS_REMOUNT | MS_BIND), NULL));
  if (chosen("unmount")) MUST_REFUSE(syscall(SYS_umount2, "victim35", MNT_DETACH));
  if (chosen("unmount")) MUST_REFUSE(syscall(SYS_umount2, "/proc/no-such-mount", 0));
  if (chosen("pivot")) MUST_REFUSE(syscall(SYS_pivot_root, "victim35", "victim35"));
  if (chosen("open-tree")) MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 0));
  if (chosen("open-tree")) MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
  if (chosen("move-mount")) MUST_REFUSE(syscall(NR_move_mount, -1, "", AT_FDCWD, "victim35", 4));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsopen, "tmpfs", 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsconfig, -1, 6, NULL, NULL, 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsmount, -1, 0, 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fspick, AT_FDCWD, "/tmp", 0));
  if (chosen("setattr")) MUST_REFUSE(syscall(NR_mount_setattr, AT_FDCWD, "/tmp", 0, attributes, sizeof attributes));
  if (chosen("chroot")) MUST_REFUSE(syscall(SYS_chroot, "victim35"));
  HELD();
}
