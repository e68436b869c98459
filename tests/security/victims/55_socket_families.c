// 55. Socket families are allowlisted: only AF_UNIX here.
#include <sys/socket.h>

#include "victim.h"

int main(void) {
  victim_begin();
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, 10 /* SOCK_PACKET */};
  for (int family = 0; family < 64; ++family) {
    if (family == AF_UNIX) continue;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
      int pair[2];
      long fd = syscall(SYS_socket, family, types[i], 0);
      int error = errno;
      if (fd >= 0) BREACH("socket(%d, %d) works\n", family, types[i]);
      // "Not supported" would be the kernel's answer for lack of a module: the filter must have answered before.
      if (!is_refusal(error) && error != EAFNOSUPPORT)
        BREACH("socket(%d, %d): %s\n", family, types[i], strerror(error));
      if (syscall(SYS_socketpair, family, types[i], 0, pair) == 0) BREACH("socketpair(%d) works\n", family);
    }
  }
  HELD();
}
