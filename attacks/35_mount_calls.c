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

static void must_not_mount(const char* what, const char* place, const char* type, unsigned long flags) {
  long result = syscall(SYS_mount, what, place, type, flags, type == NULL ? NULL : "size=4k");
  int error = errno;
  if (result == 0) syscall(SYS_umount2, place, MNT_DETACH);
  must_refuse("mount", result, error);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static char attributes[32];
  const char* place = own_path(".", "35");
  if (mkdir(place, 0755) == 0) g_litter[0] = place;
  if (chosen("mount")) must_not_mount("none", place, "tmpfs", 0);
  if (chosen("bind")) must_not_mount("/usr", place, NULL, MS_BIND);
  if (chosen("remount")) MUST_REFUSE(syscall(SYS_mount, NULL, "/", NULL, (unsigned long)(MS_REMOUNT | MS_BIND), NULL));
  if (chosen("unmount")) MUST_REFUSE(syscall(SYS_umount2, place, MNT_DETACH));
  if (chosen("unmount")) MUST_REFUSE(syscall(SYS_umount2, "/proc/no-such-mount", 0));
  if (chosen("pivot")) MUST_REFUSE(syscall(SYS_pivot_root, place, place));
  if (chosen("open-tree")) MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 0));
  if (chosen("open-tree")) MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
  if (chosen("move-mount")) MUST_REFUSE(syscall(NR_move_mount, -1, "", AT_FDCWD, place, 4));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsopen, "tmpfs", 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsconfig, -1, 6, NULL, NULL, 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fsmount, -1, 0, 0));
  if (chosen("new-api")) MUST_REFUSE(syscall(NR_fspick, AT_FDCWD, "/tmp", 0));
  if (chosen("setattr")) MUST_REFUSE(syscall(NR_mount_setattr, AT_FDCWD, "/tmp", 0, attributes, sizeof attributes));
  if (chosen("chroot")) MUST_REFUSE(syscall(SYS_chroot, place));
  HELD();
}
