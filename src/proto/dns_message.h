// DNS as the way out speaks it. To the guest it is a nameserver: one question in, an answer that fits 512 bytes out, so
// that none is ever cut. To the host's nameserver it is a stub: A and AAAA questions only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::proto {

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;

enum class DnsCode : std::uint8_t {
  kNoError = 0,
  kFormErr = 1,
  kServFail = 2,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
};

enum class DnsTransport { kUdp, kTcp };

inline constexpr std::size_t kDnsUdpBound = 512;
inline constexpr std::size_t kDnsTcpBound = 4096;    // for what a guest asks
inline constexpr std::size_t kDnsMostAnswers = 8;    // what fits 512 bytes behind the longest question
inline constexpr std::size_t kDnsLongestText = 160;  // of an explanation

// --- The guest's side ---

struct DnsQuery {
  std::uint16_t id = 0;
  std::uint16_t type = 0;
  std::optional<HostName> name;  // nothing: a name that no host can have; the root among them
  std::string shown_name;        // for the record; printable ASCII, bounded
  bool recursion_desired = false;
  bool has_edns = false;
  std::string question;  // as it came: an answer repeats its upper and lower case

  bool operator==(const DnsQuery&) const = default;
};

struct DnsRefusal {
  std::string reply;   // to be sent; empty: no answer is due
  std::string reason;  // for the record

  bool operator==(const DnsRefusal&) const = default;
};

std::expected<DnsQuery, DnsRefusal> parse_dns_query(std::string_view message, DnsTransport transport);

// The addresses of the family that was asked for, at most kDnsMostAnswers; without any it is an answer that says that
// the name has no such record.
std::string dns_answer(const DnsQuery& query, std::span<const IpAddress> addresses, std::chrono::seconds ttl);
// An answer without records. A text goes along as "Prohibited" (RFC 8914, 18) if the asker knows EDNS.
std::string dns_error(const DnsQuery& query, DnsCode code, std::string_view explanation = {});

// Over TCP a message stands behind its length.
struct DnsFrame {
  enum class State { kNeedMore, kMessage, kTooLong };
  State state = State::kNeedMore;
  std::string_view message;
  std::size_t consumed = 0;
};
DnsFrame next_dns_frame(std::string_view bytes, std::size_t bound);
std::string dns_frame(std::string_view message);

// --- The nameserver's side ---

// Without EDNS, which every server understands; what does not fit comes back truncated and is asked again over TCP.
std::string dns_question(std::uint16_t id, const HostName& name, std::uint16_t type);

struct DnsReply {
  DnsCode code = DnsCode::kNoError;
  bool truncated = false;            // ask again over TCP; there is nothing else in here then
  std::vector<IpAddress> addresses;  // each once, at most 64; empty with kNoError: no such record
  std::chrono::seconds ttl{0};       // the least of all records that led to the addresses, at most a day

  bool operator==(const DnsReply&) const = default;
};

// Only what answers exactly this question. Anything else is an error, and whoever waits goes on waiting.
Result<DnsReply> parse_dns_reply(std::string_view message, std::uint16_t id, const HostName& name, std::uint16_t type);

}  // namespace cloche::proto
