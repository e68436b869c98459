// Talks to services of the host that listen on loopback: the bait's own, which answer "bait" to everybody. In a cell
// with a way out somebody else may answer; then nothing comes, or the connection is closed.
//
// attack: B loopback-tcp | args: tcp | not-with: host-network | tries to talk to a TCP service on loopback
// attack: B loopback-udp | args: udp | not-with: host-network | tries to talk to a UDP service on loopback
// attack: B any-address | args: any-address | not-with: host-network | tries to reach loopback by 0.0.0.0
// attack: B loopback-tcp6 | args: tcp6 | not-with: host-network | tries to talk to a service on IPv6 loopback
// attack: B mapped-address | args: mapped | not-with: host-network | tries to reach loopback by an IPv4-mapped address
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "victim.h"

static int says_bait(int fd) {
  struct pollfd ready = {fd, POLLIN, 0};
  char text[16] = "";
  if (poll(&ready, 1, 1000) <= 0) return 0;
  return recv(fd, text, sizeof text - 1, 0) >= 4 && strncmp(text, "bait", 4) == 0;
}

static void must_not_answer(int type, const void* address, socklen_t size, int family) {
  int fd = socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (connect(fd, address, size) == 0) {
    (void)!send(fd, "hello", 5, MSG_NOSIGNAL);
    if (says_bait(fd)) BREACH("a service of the host answers\n");
  }
  close(fd);
}
static void try_inet(int type, uint32_t host, long port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(host);
  must_not_answer(type, &address, sizeof address, AF_INET);
}
static void try_inet6(int type, const uint8_t bytes[16], long port) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  memcpy(&address.sin6_addr, bytes, 16);
  must_not_answer(type, &address, sizeof address, AF_INET6);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  static const uint8_t loopback6[16] = {[15] = 1};
  static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
  long tcp = bait_number("BAIT_TCP"), udp = bait_number("BAIT_UDP");
  // Where the host has no IPv6 there is no such service, but a socket might still be had.
  long tcp6 = getenv("BAIT_TCP6") ? bait_number("BAIT_TCP6") : 9;
  if (chosen("tcp")) try_inet(SOCK_STREAM, INADDR_LOOPBACK, tcp);
  if (chosen("udp")) try_inet(SOCK_DGRAM, INADDR_LOOPBACK, udp);
  if (chosen("any-address")) try_inet(SOCK_STREAM, INADDR_ANY, tcp);
  if (chosen("tcp6")) try_inet6(SOCK_STREAM, loopback6, tcp6);
  if (chosen("mapped")) try_inet6(SOCK_STREAM, mapped, tcp);
  HELD();
}
