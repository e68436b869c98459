#include "gateway/dns_service.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cloche::gateway {
namespace {

constexpr std::chrono::seconds kTtl{5};
constexpr Millis kIdle{30'000};
constexpr int kTurns = 64;

void record(Shared& shared, std::string name, std::string reason) {
  Flow flow(shared, Via::kDns);
  flow.record.name = std::move(name);
  flow.record.port = 53;
  flow.deny(std::move(reason));
}

// The cell's own.
bool is_own_loopback(const proto::HostName& name) {
  return name.text() == "localhost" || name.text().ends_with(".localhost");
}

}  // namespace

std::string answer_dns(Shared& shared, std::string_view message, proto::DnsTransport transport) {
  const auto query = proto::parse_dns_query(message, transport);
  if (!query) {
    record(shared, "", query.error().reason);
    return query.error().reply;
  }
  if (const std::string why = shared.vault.stopped_name(query->shown_name); !why.empty()) {
    record(shared, query->shown_name, why);
    return proto::dns_error(*query, proto::DnsCode::kNxDomain, why);
  }
  if (!query->name) {
    const std::string reason = "\"" + query->shown_name + "\" is no name of a host";
    record(shared, query->shown_name, reason);
    return proto::dns_error(*query, proto::DnsCode::kNxDomain, reason);
  }
  const proto::Decision decision = shared.rules.now().decide_lookup(*query->name);
  if (!decision.allowed()) {
    if (is_own_loopback(*query->name)) {
      const std::array<proto::IpAddress, 1> own = {
          query->type == proto::kDnsTypeA ? proto::parse_ip("127.0.0.1").value() : proto::parse_ip("::1").value()};
      return proto::dns_answer(*query, own, kTtl);
    }
    record(shared, query->name->text(), decision.reason);
    return proto::dns_error(*query, proto::DnsCode::kNxDomain, decision.reason);
  }
  const auto addresses = shared.names.addresses_of(*query->name);
  if (!addresses) {
    record(shared, query->name->text(), "the guest has asked for too many names");
    return proto::dns_error(*query, proto::DnsCode::kRefused, "too many names");
  }
  const std::array<proto::IpAddress, 2> both = {addresses->v4, addresses->v6};
  return proto::dns_answer(*query, both, kTtl);
}

Task<void> serve_dns_datagrams(Shared& shared, std::unique_ptr<Stream> socket) {
  for (int turn = 0;; ++turn) {
    if (turn % kTurns == kTurns - 1) co_await shared.loop.others();
    co_await link_in_time(shared);  // the kernel drops what does not fit meanwhile, and guests ask again
    char bytes[proto::kDnsUdpBound + 1];
    sockaddr_storage from{};
    socklen_t from_size = sizeof from;
    const ssize_t n = ::recvfrom(socket->fd(), bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &from_size);
    if (n < 0) {
      if (errno == EAGAIN) {
        socket->not_readable();
        co_await socket->readable();
      } else if (errno != EINTR && errno != ECONNREFUSED) {
        co_return;
      }
      continue;
    }
    const std::string reply =
        answer_dns(shared, std::string_view(bytes, static_cast<std::size_t>(n)), proto::DnsTransport::kUdp);
    // A guest that does not take its answer asks again.
    if (!reply.empty()) {
      (void)::sendto(socket->fd(), reply.data(), reply.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&from),
                     from_size);
    }
  }
}

Task<void> serve_dns_stream(Shared& shared, Fd client) {
  auto stream = Stream::make(shared.loop, std::move(client));
  if (!stream) co_return;
  std::string bytes;
  for (;;) {
    const proto::DnsFrame frame = proto::next_dns_frame(bytes, proto::kDnsTcpBound);
    if (frame.state == proto::DnsFrame::State::kTooLong) co_return;
    if (frame.state == proto::DnsFrame::State::kMessage) {
      co_await link_in_time(shared);
      const std::string reply = answer_dns(shared, frame.message, proto::DnsTransport::kTcp);
      bytes.erase(0, frame.consumed);
      if (reply.empty()) co_return;
      const std::string framed = proto::dns_frame(reply);
      const int error = co_await (*stream)->write_all(framed, Clock::now() + kIdle);
      if (error != 0) co_return;
      continue;
    }
    char part[1024];
    const std::int64_t n = co_await (*stream)->read_some(part, sizeof part, Clock::now() + kIdle);
    if (n <= 0) co_return;
    bytes.append(part, static_cast<std::size_t>(n));
  }
}

}  // namespace cloche::gateway
