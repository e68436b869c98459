// What a gateway listens on. The cell's network has a loopback and nothing else, and every address of the world leads
// there: so a listener on a port takes whoever wants that port of anybody, and what nobody listens on is refused by the
// kernel at once. The sockets go to the engine; this process closes them, and the guest never holds one.
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "init/kernel.h"
#include "init/mounts.h"

namespace cloche::init {
namespace {

// egress::ListenerKind, which this program cannot include.
enum Listener : uint32_t { kPort = 1, kProxy, kDnsDatagram, kDnsStream, kSeenPackets, kUnix };

constexpr int kBacklog = 1024;
constexpr int kLoopbackIndex = 1;  // of every network namespace

// Consumes the socket.
int hand_over(int fd, uint32_t kind, uint64_t which) {
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kListener;
  message.number = static_cast<int32_t>(kind);
  message.amount = which;
  const int error = send_message(message, fd);
  close(fd);
  return error;
}

// Sends one request to the kernel's network and takes its answer. 0 or an errno.
int ask_network(const void* request, size_t size) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return errno;
  struct {
    struct nlmsghdr head;
    struct nlmsgerr answer;
    char rest[256];  // the request comes back with it
  } reply;
  int error = send(fd, request, size, 0) == static_cast<ssize_t>(size) ? 0 : errno;
  ssize_t n = -1;
  while (error == 0 && (n = recv(fd, &reply, sizeof reply, 0)) < 0) {
    if (errno != EINTR) error = errno;
  }
  if (error == 0) {
    const bool whole = n >= static_cast<ssize_t>(sizeof reply.head + sizeof reply.answer);
    error = whole && reply.head.nlmsg_type == NLMSG_ERROR ? -reply.answer.error : EPROTO;
  }
  close(fd);
  return error;
}

struct Number {
  struct rtattr attribute;
  uint32_t value;
};

constexpr Number number(unsigned short type, uint32_t value) { return {{RTA_LENGTH(sizeof value), type}, value}; }

// `local default dev lo` of one family. 0 or an errno.
int add_local_route(unsigned char family) {
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    Number out;
  } request;
  memset(&request, 0, sizeof request);
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = RTM_NEWROUTE;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  request.route.rtm_family = family;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  request.out = number(RTA_OIF, kLoopbackIndex);
  return ask_network(&request, sizeof request);
}

// Bytes pass between guest and gateway in pieces of 64 KiB unless this network is told that its loopback takes larger
// ones. Only speed depends on it: kernels before 6.3 (IPv6: 5.19) refuse, or know nothing of it, and go on as they
// were.
void pass_large_pieces() {
  // IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE and the same of IPv4, which older headers do not name.
  constexpr unsigned short kSizes[] = {41, 58, 63, 64};
  constexpr uint32_t kLargest = 524280;  // what the kernel's loopback can take, tso_max_size
  struct {
    struct nlmsghdr head;
    struct ifinfomsg link;
    Number sizes[sizeof kSizes / sizeof kSizes[0]];
  } request;
  memset(&request, 0, sizeof request);
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = RTM_NEWLINK;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_index = kLoopbackIndex;
  for (unsigned i = 0; i < sizeof kSizes / sizeof kSizes[0]; ++i) request.sizes[i] = number(kSizes[i], kLargest);
  (void)ask_network(&request, sizeof request);
}

// Without this a guest could not serve itself on a port below 1024. Where /proc/sys is read-only, it cannot.
void open_low_ports(Cell& cell) {
  if (cell.proc_fd < 0) return;
  int fd = openat(cell.proc_fd, "sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0) {
    (void)!write(fd, "0", 1);
    close(fd);
  }
  close(cell.proc_fd);
  cell.proc_fd = -1;
}

int make_every_address_local(Cell& cell) {
  open_low_ports(cell);
  pass_large_pieces();
  if (int error = add_local_route(AF_INET); error != 0) return error;
  // Without IPv6 its addresses lead nowhere, which is as good.
  const int error = add_local_route(AF_INET6);
  const bool missing = error == EAFNOSUPPORT || error == EOPNOTSUPP || error == EACCES || error == ENODEV;
  return missing ? 0 : error;
}

// A socket bound to the address, or -errno.
int bind_socket(int type, const void* address, socklen_t size, int family) {
  int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  const int off = 0;
  // The other family's addresses come to the same listener.
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  int error = bind(fd, static_cast<const struct sockaddr*>(address), size) == 0 ? 0 : errno;
  if (error == 0 && type == SOCK_STREAM && listen(fd, kBacklog) != 0) error = errno;
  if (error == 0) return fd;
  close(fd);
  return -error;
}

int bind_v4(int type, uint32_t host, uint16_t port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return bind_socket(type, &address, sizeof address, AF_INET);
}

int bind_any(uint16_t port) {
  struct sockaddr_in6 address;
  memset(&address, 0, sizeof address);
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const int fd = bind_socket(SOCK_STREAM, &address, sizeof address, AF_INET6);
  return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? bind_v4(SOCK_STREAM, INADDR_ANY, port) : fd;
}

int listen_on(const wire::Step& step) {
  if (step.y == 0 || step.y > 65535) return EINVAL;
  const auto kind = static_cast<uint32_t>(step.x);
  const auto port = static_cast<uint16_t>(step.y);
  int fd = -EINVAL;
  if (kind == kPort) fd = bind_any(port);
  if (kind == kProxy || kind == kDnsStream) fd = bind_v4(SOCK_STREAM, INADDR_LOOPBACK, port);
  if (kind == kDnsDatagram) fd = bind_v4(SOCK_DGRAM, INADDR_LOOPBACK, port);
  return fd < 0 ? -fd : hand_over(fd, kind, port);
}

// Places in the program below.
enum Place : int {
  kVersion4 = 4,
  kTcp4 = 10,
  kUdp4 = 13,
  kVersion6 = 21,
  kTcp6 = 24,
  kKeep = 27,
  kDrop = 28,
  kPort4 = 29,
  kPort6 = 31,
  kPorts = 32
};

constexpr struct sock_filter load(uint16_t size, uint16_t mode, uint32_t offset) {
  return {static_cast<uint16_t>(BPF_LD | size | mode), 0, 0, offset};
}
constexpr struct sock_filter mask(uint32_t bits) { return {BPF_ALU | BPF_AND | BPF_K, 0, 0, bits}; }
constexpr struct sock_filter jump(int here, uint16_t test, uint32_t value, int yes, int no) {
  return {static_cast<uint16_t>(BPF_JMP | test | BPF_K), static_cast<uint8_t>(yes - here - 1),
          static_cast<uint8_t>(no - here - 1), value};
}
constexpr struct sock_filter give(uint32_t bytes) { return {BPF_RET | BPF_K, 0, 0, bytes}; }

// A TCP opening that is no answer to one, or UDP that is neither for our nameserver nor from it.
constexpr uint32_t kSynAck = 0x12, kSyn = 0x02, kDnsPort = 53, kSnap = 128;
constexpr struct sock_filter kAttempts[] = {
    load(BPF_B, BPF_ABS, 0),
    mask(0xf0),
    jump(2, BPF_JEQ, 0x40, kVersion4, 3),
    jump(3, BPF_JEQ, 0x60, kVersion6, kDrop),
    load(BPF_H, BPF_ABS, 6),  // kVersion4; only the first fragment has ports
    jump(5, BPF_JSET, 0x1fff, kDrop, 6),
    {BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0},
    load(BPF_B, BPF_ABS, 9),
    jump(8, BPF_JEQ, IPPROTO_TCP, kTcp4, 9),
    jump(9, BPF_JEQ, IPPROTO_UDP, kUdp4, kDrop),
    load(BPF_B, BPF_IND, 13),  // kTcp4: flags
    mask(kSynAck),
    jump(12, BPF_JEQ, kSyn, kPort4, kDrop),
    load(BPF_H, BPF_IND, 2),  // kUdp4: where to
    jump(14, BPF_JEQ, kDnsPort, 15, 17),
    load(BPF_W, BPF_ABS, 16),
    jump(16, BPF_JEQ, INADDR_LOOPBACK, kDrop, kKeep),
    load(BPF_H, BPF_IND, 0),  // where from
    jump(18, BPF_JEQ, kDnsPort, 19, kKeep),
    load(BPF_W, BPF_ABS, 12),
    jump(20, BPF_JEQ, INADDR_LOOPBACK, kDrop, kKeep),
    load(BPF_B, BPF_ABS, 6),  // kVersion6, without extension headers
    jump(22, BPF_JEQ, IPPROTO_TCP, kTcp6, 23),
    jump(23, BPF_JEQ, IPPROTO_UDP, kKeep, kDrop),
    load(BPF_B, BPF_ABS, 40 + 13),  // kTcp6
    mask(kSynAck),
    jump(26, BPF_JEQ, kSyn, kPort6, kDrop),
    give(kSnap),
    give(0),
    load(BPF_H, BPF_IND, 2),  // kPort4: where to
    {BPF_JMP | BPF_JA, 0, 0, kPorts - kPort6},
    load(BPF_H, BPF_ABS, 40 + 2),  // kPort6
};
static_assert(sizeof kAttempts / sizeof kAttempts[0] == kPorts);

// What goes on at kPorts: an opening that a listener takes is told by who accepts it, and would wake the gateway for
// nothing. One that there is no room for here wakes it.
struct Attempts {
  struct sock_filter code[kPorts + 2 * 160];
  size_t size;
};

void add(Attempts& attempts, struct sock_filter one) { attempts.code[attempts.size++] = one; }

// Drops what goes to a port with such a listener; the port is in the accumulator.
void drop_taken(const Cell& cell, Attempts& attempts, bool (*is_such)(uint64_t kind)) {
  constexpr size_t kSpare = 16;  // for what follows
  constexpr size_t kMost = sizeof attempts.code / sizeof attempts.code[0] - kSpare;
  for (uint32_t i = 0; i < cell.spec.header().step_count && attempts.size < kMost; ++i) {
    const wire::Step& step = cell.spec.step(i);
    if (step.kind != wire::StepKind::kListen || !is_such(step.x)) continue;
    add(attempts, {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<uint32_t>(step.y)});
    add(attempts, give(0));
  }
}

void make_attempts(const Cell& cell, Attempts& attempts) {
  memcpy(attempts.code, kAttempts, sizeof kAttempts);
  attempts.size = kPorts;
  drop_taken(cell, attempts, [](uint64_t kind) { return kind == kPort; });
  // The others listen at 127.0.0.1 alone.
  add(attempts, load(BPF_B, BPF_ABS, 0));
  add(attempts, mask(0xf0));
  add(attempts, {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0x40});
  add(attempts, give(kSnap));
  add(attempts, load(BPF_W, BPF_ABS, 16));
  add(attempts, {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, INADDR_LOOPBACK});
  add(attempts, give(kSnap));
  add(attempts, load(BPF_H, BPF_IND, 2));
  drop_taken(cell, attempts, [](uint64_t kind) { return kind == kProxy || kind == kDnsStream; });
  add(attempts, give(kSnap));
}

// The filter is on before there is anything to see.
int watch_packets(const Cell& cell) {
  int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  Attempts attempts;
  make_attempts(cell, attempts);
  struct sock_fprog program = {static_cast<uint16_t>(attempts.size), attempts.code};
  const int on = 1;
  struct sockaddr_ll address;
  memset(&address, 0, sizeof address);
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = kLoopbackIndex;
  // On the loopback everything goes out and comes in: once is enough.
  const bool ready = setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 &&
                     setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof on) == 0 &&
                     setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) == 0 &&
                     bind(fd, reinterpret_cast<const struct sockaddr*>(&address), sizeof address) == 0;
  if (ready) return hand_over(fd, kSeenPackets, 0);
  const int error = errno;
  close(fd);
  return error;
}

// An address has no room for a long path, so the socket is made under a short name beside its own.
int listen_unix(Cell& cell, const wire::Step& step) {
  const char* leaf = nullptr;
  int dir = open_parent(cell, cell.spec.text(step.a), leaf);
  if (dir < 0) return -dir;
  // A run leaves nothing in a directory of the host.
  if (!cell.parent_is_ours) return EXDEV;
  constexpr char kShort[] = ".cloche-socket";
  const DescriptorPath place(dir);
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", place.text, kShort);
  int fd = bind_socket(SOCK_STREAM, &address, sizeof address, AF_UNIX);
  if (fd < 0) return -fd;
  // To connect is to write, and the guest is whoever the plan says.
  int error = fchmodat(dir, kShort, 0666, 0) == 0 ? 0 : errno;
  constexpr unsigned kNoReplace = 1;
  if (error == 0 && syscall(SYS_renameat2, dir, kShort, dir, leaf, kNoReplace) != 0) error = errno;
  if (error == 0) return hand_over(fd, kUnix, step.y);
  unlinkat(dir, kShort, 0);
  close(fd);
  return error;
}

}  // namespace

void prepare_way_out(Cell& cell) {
  for (uint32_t i = 0; i < cell.spec.header().step_count; ++i) {
    if (cell.spec.step(i).kind != wire::StepKind::kLocalRoutes) continue;
    cell.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return;
  }
}

int run_way_out_step(Cell& cell, const wire::Step& step) {
  switch (step.kind) {
    case wire::StepKind::kLocalRoutes:
      return make_every_address_local(cell);
    case wire::StepKind::kListen:
      return listen_on(step);
    case wire::StepKind::kPackets:
      return watch_packets(cell);
    case wire::StepKind::kListenUnix:
      return listen_unix(cell, step);
    default:
      return EINVAL;
  }
}

}  // namespace cloche::init
