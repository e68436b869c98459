// 1. Descriptors 3 and up are closed in the guest.
//
// attack: C inherited-descriptors | tries to use a descriptor that its caller left open
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  for (int fd = 3; fd < 65536; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    char link[64], target[256] = "?";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n > 0) target[n] = '\0';
    BREACH("descriptor %d is open: %s\n", fd, target);
  }
  HELD();
}
