// The guest's side of dns_message.h.
#include <algorithm>

#include "base/units.h"
#include "proto/byte_reader.h"
#include "proto/dns_message.h"
#include "proto/dns_name.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kTypeOpt = 41;
constexpr std::uint16_t kOptionExplanation = 15;  // RFC 8914
constexpr std::uint16_t kProhibited = 18;
constexpr std::uint16_t kOurUdpSize = 512;

constexpr std::uint16_t kFlagResponse = 0x8000;
constexpr std::uint16_t kFlagRecursionDesired = 0x0100;
constexpr std::uint16_t kFlagRecursionAvailable = 0x0080;
constexpr unsigned kOpcodeShift = 11;
// Authoritative, truncated, recursion available, the bit kept for later, and the code: an answer's.
constexpr std::uint16_t kNotInAQuery = 0x0400 | 0x0200 | 0x0080 | 0x0040 | 0x000f;

constexpr std::size_t kLongestQuestion = 255 + 4;
constexpr std::size_t kOptSize = 11;
static_assert(kHeaderSize + kLongestQuestion + kDnsMostAnswers * (12 + 16) + kOptSize <= kDnsUdpBound);
static_assert(kHeaderSize + kLongestQuestion + kOptSize + 6 + kDnsLongestText <= kDnsUdpBound);

struct Header {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;
  std::uint16_t questions = 0;
  std::uint16_t answers = 0;
  std::uint16_t authorities = 0;
  std::uint16_t additions = 0;
};

Header read_header(std::string_view message) {
  ByteReader reader(message);
  Header out;
  for (std::uint16_t* field : {&out.id, &out.flags, &out.questions, &out.answers, &out.authorities, &out.additions}) {
    *field = reader.u16();
  }
  return out;
}

std::string header(std::uint16_t id, std::uint16_t flags, std::uint16_t questions, std::size_t answers,
                   std::uint16_t additions) {
  std::string out;
  for (const std::uint16_t field :
       {id, flags, questions, static_cast<std::uint16_t>(answers), std::uint16_t{0}, additions}) {
    put_u16(out, field);
  }
  return out;
}

std::uint16_t reply_flags(bool recursion_desired, DnsCode code) {
  return static_cast<std::uint16_t>(kFlagResponse | kFlagRecursionAvailable |
                                    (recursion_desired ? kFlagRecursionDesired : 0) | static_cast<unsigned>(code));
}

// The extended code's upper bits and the version are in what is a TTL elsewhere.
void put_opt(std::string& out, std::uint8_t upper_code, std::string_view options) {
  put_u8(out, 0);
  put_u16(out, kTypeOpt);
  put_u16(out, kOurUdpSize);
  put_u32(out, std::uint32_t{upper_code} << 24);
  put_u16(out, static_cast<std::uint16_t>(options.size()));
  out += options;
}

// A refusal of what could not be read to its end repeats the header alone.
std::unexpected<DnsRefusal> refuse(const Header& asked, DnsCode code, std::string_view reason) {
  const std::uint16_t opcode = asked.flags & (0xf << kOpcodeShift);
  const auto flags = static_cast<std::uint16_t>(reply_flags((asked.flags & kFlagRecursionDesired) != 0, code) | opcode);
  return std::unexpected(DnsRefusal{header(asked.id, flags, 0, 0, 0), std::string(reason)});
}

std::string printable(std::string_view name) {
  std::string quoted = shown_text(name);
  return quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"' ? quoted.substr(1, quoted.size() - 2)
                                                                             : quoted;
}

enum class Opt { kNone, kGood, kMalformed, kUnknownVersion };

// The one record that a question may carry: EDNS, whose options nobody here needs.
Opt read_opt(std::string_view rest, std::uint16_t additions) {
  if (additions == 0) return rest.empty() ? Opt::kNone : Opt::kMalformed;
  ByteReader reader(rest);
  if (additions != 1 || reader.u8() != 0 || reader.u16() != kTypeOpt) return Opt::kMalformed;
  reader.u16();  // how much the asker takes; 512 bytes are always enough
  const std::uint32_t extended = reader.u32();
  ByteReader options(reader.text16());
  if (!reader.at_end()) return Opt::kMalformed;
  while (!options.at_end()) {
    options.u16();
    options.text16();
    if (!options.good()) return Opt::kMalformed;
  }
  return (extended >> 16 & 0xff) == 0 ? Opt::kGood : Opt::kUnknownVersion;
}

}  // namespace

std::expected<DnsQuery, DnsRefusal> parse_dns_query(std::string_view message, DnsTransport transport) {
  // Nothing to answer, or two servers that answer each other for ever.
  if (message.size() < kHeaderSize) return std::unexpected(DnsRefusal{{}, "shorter than a header"});
  const Header asked = read_header(message);
  if ((asked.flags & kFlagResponse) != 0) return std::unexpected(DnsRefusal{{}, "a response, not a question"});

  if (message.size() > (transport == DnsTransport::kUdp ? kDnsUdpBound : kDnsTcpBound)) {
    return refuse(asked, DnsCode::kFormErr, "a question that is too long");
  }
  if ((asked.flags >> kOpcodeShift & 0xf) != 0) return refuse(asked, DnsCode::kNotImp, "not a standard query");
  if ((asked.flags & kNotInAQuery) != 0) return refuse(asked, DnsCode::kFormErr, "flags of an answer in a question");
  if (asked.questions != 1 || asked.answers != 0 || asked.authorities != 0) {
    return refuse(asked, DnsCode::kFormErr, "not exactly one question");
  }
  const auto name = read_dns_name(message, kHeaderSize, DnsCompression::kRefused);
  if (!name) return refuse(asked, DnsCode::kFormErr, "a malformed name");
  ByteReader reader(message.substr(name->end));
  const std::uint16_t type = reader.u16();
  const std::uint16_t in_class = reader.u16();
  if (!reader.good()) return refuse(asked, DnsCode::kFormErr, "a question that is cut off");
  const std::size_t question_end = name->end + 4;
  const Opt opt = read_opt(message.substr(question_end), asked.additions);
  if (opt == Opt::kMalformed) return refuse(asked, DnsCode::kFormErr, "more than a question and EDNS");
  if (opt == Opt::kUnknownVersion) {
    // BADVERS, 16: the lower half is in the header, the upper one in the record.
    auto out = refuse(asked, DnsCode::kNoError, "a version of EDNS other than 0");
    out.error().reply.back() = 1;
    put_opt(out.error().reply, 1, {});
    return out;
  }
  if (in_class != kClassIn) return refuse(asked, DnsCode::kRefused, "a class other than IN");

  DnsQuery out;
  out.id = asked.id;
  out.type = type;
  const std::string text = name->text();
  if (auto host = parse_host_name(text)) out.name = std::move(*host);
  out.shown_name = out.name ? out.name->text() : printable(text);
  out.recursion_desired = (asked.flags & kFlagRecursionDesired) != 0;
  out.has_edns = opt == Opt::kGood;
  out.question = message.substr(kHeaderSize, question_end - kHeaderSize);
  return out;
}

std::string dns_answer(const DnsQuery& query, std::span<const IpAddress> addresses, std::chrono::seconds ttl) {
  const bool wants_v4 = query.type == kDnsTypeA;
  std::string records;
  std::size_t count = 0;
  for (const IpAddress& address : addresses) {
    if (count == kDnsMostAnswers || (!wants_v4 && query.type != kDnsTypeAaaa)) break;
    if (address.is_v4() != wants_v4) continue;
    put_u16(records, 0xc000 | kHeaderSize);  // the name of the question
    put_u16(records, query.type);
    put_u16(records, kClassIn);
    put_u32(records, static_cast<std::uint32_t>(std::clamp<std::int64_t>(ttl.count(), 0, 0x7fffffff)));
    put_u16(records, static_cast<std::uint16_t>(address.bytes().size()));
    for (const std::uint8_t byte : address.bytes()) put_u8(records, byte);
    ++count;
  }
  std::string out =
      header(query.id, reply_flags(query.recursion_desired, DnsCode::kNoError), 1, count, query.has_edns ? 1 : 0);
  out += query.question;
  out += records;
  if (query.has_edns) put_opt(out, 0, {});
  return out;
}

std::string dns_error(const DnsQuery& query, DnsCode code, std::string_view explanation) {
  std::string out = header(query.id, reply_flags(query.recursion_desired, code), 1, 0, query.has_edns ? 1 : 0);
  out += query.question;
  if (!query.has_edns) return out;
  std::string options;
  if (!explanation.empty()) {
    const std::string_view text = explanation.substr(0, kDnsLongestText);
    put_u16(options, kOptionExplanation);
    put_u16(options, static_cast<std::uint16_t>(2 + text.size()));
    put_u16(options, kProhibited);
    options += text;
  }
  put_opt(out, 0, options);
  return out;
}

DnsFrame next_dns_frame(std::string_view bytes, std::size_t bound) {
  ByteReader reader(bytes);
  const std::size_t size = reader.u16();
  if (!reader.good()) return {};
  if (size > bound) return {DnsFrame::State::kTooLong, {}, 0};
  const std::string_view message = reader.take(size);
  if (!reader.good()) return {};
  return {DnsFrame::State::kMessage, message, 2 + size};
}

std::string dns_frame(std::string_view message) {
  std::string out;
  put_u16(out, static_cast<std::uint16_t>(message.size()));
  out += message;
  return out;
}

}  // namespace cloche::proto
