// 3. stdio is never the host's terminal; a pty, when asked for, is the cell's own.
//
// attack: D host-terminal | options: --stdin | bait: --tty | tries to read and write the caller's terminal
// attack: D own-terminal | args: own-pty | options: --tty | bait: --tty | no-process: a terminal of its own needs a
//     devpts of its own; tier 0 refuses --tty | tries to find the caller's terminal behind a terminal of its own
#include <sys/ioctl.h>
#include <termios.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  int own_pty = argc > 1 && strcmp(argv[1], "own-pty") == 0;
  unsigned long host_device = strtoul(bait("BAIT_TTY_INODE"), NULL, 10);
  unsigned long host_fs = strtoul(bait("BAIT_TTY_FS"), NULL, 10);
  for (int fd = 0; fd < 3; ++fd) {
    struct stat info;
    if (fstat(fd, &info) < 0) continue;
    int terminal = isatty(fd);
    if (terminal && !own_pty) BREACH("descriptor %d is a terminal nobody asked for\n", fd);
    if (!terminal && own_pty && fd == 0) CANNOT("stdin is no terminal although --tty was given\n");
    // Numbers of pts devices repeat between devpts instances; the file system tells them apart.
    if (terminal && info.st_dev == host_fs && info.st_ino == host_device) BREACH("descriptor %d is the host's\n", fd);
  }
  int tty = open("/dev/tty", O_RDWR | O_NOCTTY);
  if (tty >= 0) {
    struct stat info;
    char name[64] = "";
    if (!own_pty) BREACH("/dev/tty opens: there is a controlling terminal\n");
    if (ttyname_r(tty, name, sizeof name) == 0 && stat(name, &info) == 0 && info.st_dev == host_fs)
      BREACH("/dev/tty is the host's %s\n", name);
  }
  HELD();
}
