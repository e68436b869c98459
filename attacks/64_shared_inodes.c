// 64. flock, leases and inotify on shared inodes. BAIT_READ/file is granted read-only and shared with the host.
// A lease lets a reader stall the host's writers: refused. flock is advisory, and inotify and directory notifications
// show only what the guest may read anyway: documented in docs/containment.md, not refused.
//
// attack: D leases | options: --read @READ@ | tries to stall the host's programs by a lease on a file
#include "victim.h"

#define COMMAND_SETLEASE 1024

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  char path[4200];
  snprintf(path, sizeof path, "%s/file", bait("BAIT_READ"));
  int fd = open(path, O_RDONLY);
  if (fd < 0) CANNOT("%s: %s\n", path, strerror(errno));
  if (syscall(SYS_fcntl, fd, COMMAND_SETLEASE, F_RDLCK) == 0) BREACH("a lease on a shared file was granted\n");
  if (syscall(SYS_fcntl, fd, HIGH_GARBAGE(COMMAND_SETLEASE), F_RDLCK) == 0)
    BREACH("a lease with garbage above the command was granted\n");
  // A mandatory lock would be a stall too; an exclusive record lock needs a descriptor open for writing.
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_SETLK, &lock) == 0) BREACH("an exclusive record lock on a read-only file was granted\n");
  HELD();
}
