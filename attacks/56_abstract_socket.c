// 56. Abstract unix sockets of the host are unreachable.
//
// attack: B abstract-socket | tries to talk to an abstract unix socket of the host
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  const char* name = bait("BAIT_ABSTRACT");
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  for (size_t i = 0; i < 3; ++i) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, types[i], 0);
    if (fd < 0) continue;
    if (connect(fd, (struct sockaddr*)&address, size) == 0) BREACH("the abstract socket %s answers\n", name);
    if (errno == EPROTOTYPE) BREACH("the abstract socket %s can be seen\n", name);
    close(fd);
  }
  HELD();
}
