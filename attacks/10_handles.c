// 10. O_PATH and pidfd handles are not inherited.
//
// attack: E inherited-handles | tries to use path and process handles that its caller left open
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  for (int fd = 0; fd < 65536; ++fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) continue;
    if (flags & O_PATH) BREACH("descriptor %d is an O_PATH handle\n", fd);
    // Signal 0 asks whether the descriptor is a pidfd without sending anything.
    if (syscall(NR_pidfd_send_signal, fd, 0, NULL, 0) == 0) BREACH("descriptor %d is a pidfd\n", fd);
  }
  HELD();
}
