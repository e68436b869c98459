// Looks for a way to send something out. Nothing is ever sent: a socket that can be made and a route that leads off
// this machine are enough. The addresses are those of documentation, where nobody is. In a cell with a gateway every
// address is the cell's own, which shows in the source address that the kernel chooses.
//
// attack: C tcp-out | args: tcp | not-with: host-network | looks for a way to send by TCP
// attack: C udp-out | args: udp | not-with: host-network | looks for a way to send by UDP or DNS
// attack: C ipv6-out | args: ipv6 | not-with: host-network | looks for a way to send by IPv6
// attack: C ping-out | args: ping | tries to send by ICMP
// attack: C raw-out | args: raw | tries to send raw packets
// attack: C sctp-out | args: sctp | looks for a way to send by SCTP or multipath TCP
#include <netinet/in.h>
#include <sys/socket.h>

#include "victim.h"

#define DOCUMENTATION 0xcb007107u /* 203.0.113.7 */

static int leads_out(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)}, from = {0};
  to.sin_addr.s_addr = htonl(DOCUMENTATION);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof from;
  if (fd < 0 || connect(fd, (struct sockaddr*)&to, sizeof to) < 0) return 0;  // for UDP this only asks for a route
  if (getsockname(fd, (struct sockaddr*)&from, &size) < 0) return 0;
  uint32_t own = ntohl(from.sin_addr.s_addr);
  return own >> 24 != 127 && own != DOCUMENTATION;
}
static int leads_out6(void) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(53)}, from = {0};
  static const uint8_t documentation[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7}, loopback[16] = {[15] = 1};
  memcpy(&to.sin6_addr, documentation, 16);
  int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof from;
  if (fd < 0 || connect(fd, (struct sockaddr*)&to, sizeof to) < 0) return 0;
  if (getsockname(fd, (struct sockaddr*)&from, &size) < 0) return 0;
  return memcmp(&from.sin6_addr, loopback, 16) != 0 && memcmp(&from.sin6_addr, documentation, 16) != 0;
}
static int is_made(int family, int type, int protocol) {
  int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  if (chosen("tcp") && is_made(AF_INET, SOCK_STREAM, 0) && leads_out()) BREACH("TCP has a way off this machine\n");
  if (chosen("udp") && leads_out()) BREACH("UDP, and so DNS, has a way off this machine\n");
  if (chosen("ipv6") && leads_out6()) BREACH("IPv6 has a way off this machine\n");
  if (chosen("ping")) {
    if (is_made(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) || is_made(AF_INET6, SOCK_DGRAM, 58)) BREACH("ICMP can be sent\n");
  }
  if (chosen("raw")) {
    if (is_made(AF_INET, SOCK_RAW, 255) || is_made(AF_INET, SOCK_RAW, IPPROTO_TCP)) BREACH("raw packets can be sent\n");
  }
  if (chosen("sctp") && (is_made(AF_INET, SOCK_STREAM, 132) || is_made(AF_INET, SOCK_STREAM, 262)) && leads_out())
    BREACH("SCTP or multipath TCP has a way off this machine\n");
  HELD();
}
