// DNS messages, resolv.conf and hosts: every answer to a question fits a datagram and reads back; a reply gives
// addresses of the family that was asked for only; and bounds hold. The first byte chooses what the rest is.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/dns_message.h"
#include "proto/dns_name.h"
#include "proto/resolv_conf.h"

namespace {

using namespace cloche::proto;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

void check_query(std::string_view bytes, DnsTransport transport) {
  const auto query = parse_dns_query(bytes, transport);
  if (!query) {
    check(query.error().reply.size() <= kDnsUdpBound && !query.error().reason.empty());
    check(query.error().reply.empty() || (query.error().reply[2] & 0x80) != 0);
    return;
  }
  for (const char c : query->shown_name) check(c >= ' ' && c < 0x7f);
  const std::vector<IpAddress> addresses(20, IpAddress(std::array<std::uint8_t, 4>{198, 18, 0, 1}));
  const std::string answer = dns_answer(*query, addresses, std::chrono::seconds(5));
  const std::string error = dns_error(*query, DnsCode::kNxDomain, std::string(300, 'x'));
  check(answer.size() <= kDnsUdpBound && error.size() <= kDnsUdpBound);
  if (!query->name) return;
  check(read_dns_name(bytes, 12, DnsCompression::kRefused)->wire == dns_wire_name(query->name->text()));
  const auto good = parse_dns_reply(answer, query->id, *query->name, query->type);
  check(good && good->addresses.size() == (query->type == kDnsTypeA ? 1 : 0));
  const auto bad = parse_dns_reply(error, query->id, *query->name, query->type);
  check(bad && bad->code == DnsCode::kNxDomain);
}

void check_reply(std::string_view bytes) {
  static const HostName kName = parse_host_name("a.example").value();
  for (const std::uint16_t type : {kDnsTypeA, kDnsTypeAaaa}) {
    const auto reply = parse_dns_reply(bytes, 7, kName, type);
    if (!reply) continue;
    check(reply->addresses.size() <= 64 && reply->ttl.count() >= 0 && reply->ttl.count() <= 86400);
    check(reply->addresses.empty() || (!reply->truncated && reply->code == DnsCode::kNoError));
    for (const IpAddress& address : reply->addresses) check(address.is_v4() == (type == kDnsTypeA));
  }
}

void check_files(std::string_view bytes) {
  const ResolvConf conf = parse_resolv_conf(bytes);
  check(conf.nameservers.size() <= 3 && conf.attempts >= 1 && conf.attempts <= 5);
  check(conf.timeout >= std::chrono::seconds(1) && conf.timeout <= std::chrono::seconds(30));
  for (const auto& [name, addresses] : parse_hosts(bytes).names) {
    check(parse_host_name(name).value().text() == name);
    check(!addresses.empty() && addresses.size() <= Hosts::kMostAddresses);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      check_query(bytes, DnsTransport::kUdp);
      break;
    case 1: {
      const DnsFrame frame = next_dns_frame(bytes, kDnsTcpBound);
      if (frame.state != DnsFrame::State::kMessage) break;
      check(dns_frame(frame.message) == bytes.substr(0, frame.consumed));
      check_query(frame.message, DnsTransport::kTcp);
      break;
    }
    case 2:
      check_reply(bytes);
      break;
    default:
      check_files(bytes);
  }
  return 0;
}
