// 55. Socket families are allowlisted: only AF_UNIX here; with "way-out" also TCP and UDP.
//
// attack: C internet-sockets | args: internet | way-out-args: way-out | tries to make internet sockets of every type
// attack: E netlink | args: netlink | way-out-args: way-out | tries to talk to the kernel's network configuration
// attack: C packet-socket | args: packet | way-out-args: way-out | tries to open a raw packet socket
// attack: E kernel-crypto | args: crypto | way-out-args: way-out | tries to use the kernel's crypto sockets
// attack: C machine-sockets | args: vsock | way-out-args: way-out | tries to talk to the hypervisor and other
//     machines on it
// attack: E radio-sockets | args: radio | way-out-args: way-out | tries to use bluetooth, nfc and infrared sockets
// attack: E odd-sockets | args: others | way-out-args: way-out | tries every other family of sockets
#include <sys/socket.h>

#include "victim.h"

// Which attempt a family belongs to.
static const char* attempt_of(int family) {
  switch (family) {
    case AF_INET:
    case AF_INET6:
      return "internet";
    case 16:
      return "netlink";
    case 17:
      return "packet";
    case 38:
      return "crypto";
    case 40:
      return "vsock";
    case 31:
    case 32:
    case 39:
      return "radio";
    default:
      return "others";
  }
}

static int is_granted(int family, int type) {
  return (family == AF_INET || family == AF_INET6) && (type == SOCK_STREAM || type == SOCK_DGRAM);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  int has_way_out = argc > 1 && strcmp(argv[1], "way-out") == 0;
  if (has_way_out) g_choice = NULL;
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, 10 /* SOCK_PACKET */};
  for (int family = 0; family < 64; ++family) {
    if (family == AF_UNIX || !chosen(attempt_of(family))) continue;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
      int pair[2];
      if (has_way_out && is_granted(family, types[i])) continue;
      long fd = syscall(SYS_socket, family, types[i], 0);
      int error = errno;
      if (fd >= 0) BREACH("socket(%d, %d) works\n", family, types[i]);
      // "Not supported" would be the kernel's answer for lack of a module: the filter must have answered before.
      // With a way out the filter says of all but TCP and UDP that the protocol is not supported; the kernel would say
      // that of the type.
      int other_protocol = has_way_out && (family == AF_INET || family == AF_INET6) && error == EPROTONOSUPPORT;
      if (!is_refusal(error) && error != EAFNOSUPPORT && !other_protocol)
        BREACH("socket(%d, %d): %s\n", family, types[i], strerror(error));
      if (syscall(SYS_socketpair, family, types[i], 0, pair) == 0) BREACH("socketpair(%d) works\n", family);
    }
  }
  // Multipath TCP, SCTP, ping: the kernel makes some of them for everybody.
  static const int others[][2] = {
      {SOCK_STREAM, 262}, {SOCK_STREAM, 132}, {SOCK_DGRAM, 1}, {SOCK_DGRAM, 58}, {SOCK_DGRAM, 136}};
  for (size_t i = 0; has_way_out && i < sizeof others / sizeof *others; ++i) {
    if (syscall(SYS_socket, AF_INET, others[i][0], others[i][1]) >= 0 ||
        syscall(SYS_socket, AF_INET6, others[i][0], others[i][1]) >= 0)
      BREACH("socket of protocol %d works\n", others[i][1]);
  }
  HELD();
}
