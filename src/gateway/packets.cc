#include "gateway/packets.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gateway/door.h"
#include "proto/address_class.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kV4Header = 20;
constexpr std::size_t kV6Header = 40;
constexpr std::size_t kTcpFlags = 13;
constexpr unsigned char kSyn = 0x02;
constexpr unsigned char kAck = 0x10;
constexpr int kTurns = 64;

unsigned char byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

template <std::size_t N>
proto::IpAddress address_at(std::string_view bytes, std::size_t at) {
  std::array<std::uint8_t, N> out{};
  std::memcpy(out.data(), bytes.data() + at, N);
  return proto::IpAddress(out);
}

// The engine may be too slow for all of them: those that it is not told are counted.
void record(Shared& shared, const Attempt& attempt) {
  const Target target = target_of(shared, attempt.to.address, attempt.to.port);
  // What a guest does on its own loopback is its own.
  if (!target.name && proto::classify(target.address) == proto::AddressClass::kLoopback) return;
  if (shared.link->is_behind()) {
    ++shared.attempts_dropped;
    return;
  }
  Flow flow(shared, Via::kDirect);
  flow.record.port = target.port;
  flow.record.address = attempt.to.address.text();
  if (target.name) flow.record.name = target.name->text();
  if (attempt.datagram) {
    flow.deny("datagrams do not leave the cell");
    return;
  }
  const proto::RuleSet& rules = shared.rules.now();
  const proto::Decision decision =
      target.name ? rules.decide_name(*target.name, target.port) : rules.decide_address(target.address, target.port);
  flow.deny(decision.allowed() ? "the port was not named when the run began" : decision.reason);
}

}  // namespace

std::optional<Attempt> read_attempt(std::string_view packet) {
  if (packet.empty()) return std::nullopt;
  const unsigned version = byte_at(packet, 0) >> 4;
  Attempt attempt;
  std::size_t header = 0;
  unsigned protocol = 0;
  if (version == 4) {
    header = std::size_t{byte_at(packet, 0) & 0xfu} * 4;
    if (header < kV4Header || packet.size() < header) return std::nullopt;
    // A later fragment has no ports.
    if ((byte_at(packet, 6) & 0x1f) != 0 || byte_at(packet, 7) != 0) return std::nullopt;
    protocol = byte_at(packet, 9);
    attempt.to.address = address_at<4>(packet, 16);
  } else if (version == 6) {
    header = kV6Header;
    if (packet.size() < header) return std::nullopt;
    protocol = byte_at(packet, 6);
    attempt.to.address = address_at<16>(packet, 24);
  } else {
    return std::nullopt;
  }
  const std::string_view rest = packet.substr(header);
  if (rest.size() < 4) return std::nullopt;
  attempt.to.port = static_cast<std::uint16_t>((byte_at(rest, 2) << 8) | byte_at(rest, 3));
  if (protocol == IPPROTO_UDP) {
    attempt.datagram = true;
    return attempt;
  }
  if (protocol != IPPROTO_TCP || rest.size() <= kTcpFlags) return std::nullopt;
  if ((byte_at(rest, kTcpFlags) & (kSyn | kAck)) != kSyn) return std::nullopt;
  return attempt;
}

std::uint64_t lost_attempts(const Shared& shared) {
  // All that passed the filter, also what there was no room for.
  tpacket_stats seen{};
  socklen_t size = sizeof seen;
  if (shared.packet_socket < 0 ||
      ::getsockopt(shared.packet_socket, SOL_PACKET, PACKET_STATISTICS, &seen, &size) != 0) {
    return shared.attempts_dropped;
  }
  const std::uint64_t unread = seen.tp_packets > shared.packets_read ? seen.tp_packets - shared.packets_read : 0;
  return unread + shared.attempts_dropped;
}

Task<void> watch_packets(Shared& shared, std::unique_ptr<Stream> socket, const std::set<std::uint16_t>& taken,
                         const std::set<std::uint16_t>& doors) {
  // Room for some thousand attempts in a burst; the host's net.core.rmem_max bounds it.
  const int room = 1 << 20;
  ::setsockopt(socket->fd(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  shared.packet_socket = socket->fd();
  for (int turn = 0;; ++turn) {
    if (turn % kTurns == kTurns - 1) co_await shared.loop.others();
    char bytes[128];
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t n = ::recvfrom(socket->fd(), bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0) {
      if (errno == EAGAIN) {
        socket->not_readable();
        co_await socket->readable();
      } else if (errno != EINTR) {
        shared.attempts_dropped = lost_attempts(shared);
        shared.packet_socket = -1;
        co_return;
      }
      continue;
    }
    ++shared.packets_read;
    // On loopback every packet passes twice: once out, once in.
    if (from.sll_pkttype == PACKET_OUTGOING) continue;
    const auto attempt = read_attempt(std::string_view(bytes, static_cast<std::size_t>(n)));
    if (!attempt) continue;
    ++shared.taken;
    // A door listens at every address, the proxy and the nameserver at one: there they tell of it themselves.
    const bool at_home = attempt->to.address.text() == "127.0.0.1";
    const bool heard = doors.contains(attempt->to.port) || (at_home && taken.contains(attempt->to.port));
    if (!attempt->datagram && heard) continue;
    record(shared, *attempt);
  }
}

}  // namespace cloche::gateway
