// The nameserver's side of dns_message.h.
#include <algorithm>
#include <array>

#include "proto/byte_reader.h"
#include "proto/dns_message.h"
#include "proto/dns_name.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kTypeCname = 5;
constexpr std::uint16_t kFlagResponse = 0x8000;
constexpr std::uint16_t kFlagTruncated = 0x0200;
constexpr std::uint16_t kOpcodeBits = 0x7800;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr unsigned kMostRecords = 512;
constexpr int kLongestChain = 16;
constexpr std::size_t kMostAddresses = 64;
constexpr std::uint32_t kLongestTtl = 24 * 60 * 60;

std::unexpected<Error> refuse(std::string_view why) {
  return fail(ErrorCode::kInvalidInput, "nameserver", "the reply " + std::string(why));
}

struct Record {
  std::string owner;
  std::uint16_t type = 0;
  std::uint32_t ttl = 0;
  std::string target;  // of a CNAME
  IpAddress address;   // of an A or AAAA
};

template <std::size_t kSize>
IpAddress address_of(std::string_view data) {
  std::array<std::uint8_t, kSize> bytes{};
  std::transform(data.begin(), data.end(), bytes.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return IpAddress(bytes);
}

// One record at an offset, which moves behind it. Nothing if it is malformed; a record of no interest has type 0.
std::optional<Record> read_record(std::string_view message, std::size_t& at) {
  const auto owner = read_dns_name(message, at, DnsCompression::kBackwards);
  if (!owner) return std::nullopt;
  ByteReader reader(message.substr(owner->end));
  Record out;
  const std::uint16_t type = reader.u16();
  const std::uint16_t in_class = reader.u16();
  const std::uint32_t ttl = reader.u32();
  const std::string_view data = reader.text16();
  if (!reader.good()) return std::nullopt;
  at = owner->end + 10 + data.size();
  if (in_class != kClassIn) return out;
  if (type == kTypeCname) {
    const auto target = read_dns_name(message, at - data.size(), DnsCompression::kBackwards);
    if (!target || target->end != at) return std::nullopt;
    out.target = target->wire;
  } else if (type == kDnsTypeA) {
    if (data.size() != 4) return std::nullopt;
    out.address = address_of<4>(data);
  } else if (type == kDnsTypeAaaa) {
    if (data.size() != 16) return std::nullopt;
    out.address = address_of<16>(data);
  } else {
    return out;
  }
  out.type = type;
  out.owner = owner->wire;
  out.ttl = ttl > 0x7fffffff ? 0 : std::min(ttl, kLongestTtl);  // RFC 2181, 8
  return out;
}

// From alias to alias to the addresses. Records of other names are not looked at: nobody asked for them.
Status follow(const std::vector<Record>& records, std::string name, std::uint16_t type, DnsReply& out) {
  std::uint32_t ttl = kLongestTtl;
  for (int hop = 0; hop <= kLongestChain; ++hop) {
    const Record* alias = nullptr;
    for (const Record& record : records) {
      if (record.owner != name || record.type != kTypeCname) continue;
      if (alias != nullptr && alias->target != record.target) return refuse("has two aliases for one name");
      alias = &record;
    }
    if (alias != nullptr) {
      ttl = std::min(ttl, alias->ttl);
      name = alias->target;
      continue;
    }
    for (const Record& record : records) {
      if (record.owner != name || record.type != type || out.addresses.size() == kMostAddresses) continue;
      ttl = std::min(ttl, record.ttl);
      if (std::find(out.addresses.begin(), out.addresses.end(), record.address) == out.addresses.end()) {
        out.addresses.push_back(record.address);
      }
    }
    out.ttl = std::chrono::seconds(out.addresses.empty() ? 0 : ttl);
    return {};
  }
  return refuse("has a chain of aliases that is too long, or a circle");
}

}  // namespace

std::string dns_question(std::uint16_t id, const HostName& name, std::uint16_t type) {
  std::string out;
  for (const std::uint16_t field :
       {id, kRecursionDesired, std::uint16_t{1}, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}}) {
    put_u16(out, field);
  }
  out += dns_wire_name(name.text());
  put_u16(out, type);
  put_u16(out, kClassIn);
  return out;
}

Result<DnsReply> parse_dns_reply(std::string_view message, std::uint16_t id, const HostName& name, std::uint16_t type) {
  ByteReader reader(message);
  const std::uint16_t its_id = reader.u16();
  const std::uint16_t flags = reader.u16();
  const std::uint16_t questions = reader.u16();
  const std::uint16_t answers = reader.u16();
  const unsigned others = unsigned{reader.u16()} + reader.u16();
  if (!reader.good()) return refuse("is shorter than a header");
  if (its_id != id) return refuse("answers another question: its id differs");
  if ((flags & kFlagResponse) == 0 || (flags & kOpcodeBits) != 0) return refuse("is no answer to a query");

  DnsReply out;
  out.code = static_cast<DnsCode>(flags & 0xf);
  const bool has_content = out.code == DnsCode::kNoError || out.code == DnsCode::kNxDomain;
  // Servers that did not understand a question may leave it out.
  if (questions == 0 && !has_content) return out;
  if (questions != 1) return refuse("does not have exactly one question");
  const std::string wire = dns_wire_name(name.text());
  const auto echoed = read_dns_name(message, kHeaderSize, DnsCompression::kRefused);
  if (!echoed || echoed->wire != wire) return refuse("answers another question: its name differs");
  ByteReader rest(message.substr(echoed->end));
  const std::uint16_t its_type = rest.u16();
  const std::uint16_t its_class = rest.u16();
  if (!rest.good() || its_type != type || its_class != kClassIn) {
    return refuse("answers another question: its type differs");
  }
  if (!has_content) return out;
  // It may end anywhere now, also within a record.
  if ((flags & kFlagTruncated) != 0) {
    out.truncated = true;
    return out;
  }

  if (answers + others > kMostRecords) return refuse("has too many records");
  std::vector<Record> records;
  std::size_t at = echoed->end + 4;
  for (unsigned i = 0; i < answers + others; ++i) {
    auto record = read_record(message, at);
    if (!record) return refuse("has a malformed record");
    if (i < answers && record->type != 0) records.push_back(std::move(*record));
  }
  if (at != message.size()) return refuse("has bytes behind its last record");
  if (out.code == DnsCode::kNoError) CLOCHE_TRY(follow(records, wire, type, out));
  return out;
}

}  // namespace cloche::proto
