// 11. Own session; TIOCSTI and TIOCLINUX are denied, compared on the low 32 bits (CVE-2017-5226, CVE-2019-7303).
//
// attack: D terminal-injection | options: --stdin | bait: --tty | tries to type into the caller's terminal (TIOCSTI)
// attack: D own-terminal-injection | options: --tty | bait: --tty | no-process: tier 0 refuses --tty | tries to type
//     into its own terminal (TIOCSTI)
#include <sys/ioctl.h>

#include "victim.h"

#define REQUEST_TIOCSTI 0x5412
#define REQUEST_TIOCLINUX 0x541c

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  // A session that began outside the pid namespace reads as 0, init's own as 1.
  if (getsid(0) != getpid()) BREACH("the guest is in session %d, not in its own\n", (int)getsid(0));
  int targets[4] = {0, 1, 2, -1};
  targets[3] = open("/dev/tty", O_RDWR | O_NOCTTY);
  int count = targets[3] >= 0 ? 4 : 3;
  for (int i = 0; i < count; ++i) {
    // A newline alone: were it ever pushed into a terminal it would run nothing.
    char byte = '\n';
    const long requests[] = {REQUEST_TIOCSTI, REQUEST_TIOCLINUX};
    for (size_t r = 0; r < 2; ++r) {
      MUST_REFUSE(syscall(SYS_ioctl, targets[i], requests[r], &byte));
      MUST_REFUSE(syscall(SYS_ioctl, targets[i], HIGH_GARBAGE(requests[r]), &byte));
      MUST_REFUSE(syscall(SYS_ioctl, (long)targets[i] | (1l << 32), (1l << 32) | requests[r], &byte));
    }
  }
  HELD();
}
