#include <gtest/gtest.h>

#include "proto/byte_reader.h"
#include "proto/dns_message.h"
#include "proto/dns_name.h"

namespace cloche::proto {
namespace {

using namespace std::chrono_literals;

std::string words(std::initializer_list<unsigned> values) {
  std::string out;
  for (const unsigned value : values) put_u16(out, static_cast<std::uint16_t>(value));
  return out;
}

const std::string kOpt = std::string("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);

std::string query(std::string_view name, unsigned type, std::string_view opt = {}, unsigned flags = 0x0100) {
  return words({0x1234, flags, 1, 0, 0, opt.empty() ? 0u : 1u}) + dns_wire_name(name) + words({type, 1}) +
         std::string(opt);
}

std::expected<DnsQuery, DnsRefusal> parse(std::string_view message) {
  return parse_dns_query(message, DnsTransport::kUdp);
}

int code_of(std::string_view reply) { return reply.size() < 12 ? -1 : reply[3] & 0xf; }

int refusal_code(std::string_view message) {
  const auto parsed = parse(message);
  return parsed ? -2 : code_of(parsed.error().reply);
}

TEST(DnsQuery, ReadsWhatStubResolversSend) {
  const auto plain = parse(query("Api.Example.ORG", kDnsTypeA));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->id, 0x1234);
  EXPECT_EQ(plain->type, kDnsTypeA);
  EXPECT_EQ(plain->name.value().text(), "api.example.org");
  EXPECT_EQ(plain->shown_name, "api.example.org");
  EXPECT_TRUE(plain->recursion_desired);
  EXPECT_FALSE(plain->has_edns);
  const auto extended = parse(query("a.example", kDnsTypeAaaa, kOpt, 0x0130));
  ASSERT_TRUE(extended);
  EXPECT_TRUE(extended->has_edns);
  std::string cookie = kOpt;
  cookie[10] = 12;
  EXPECT_TRUE(parse(query("a.example", 1,
                          cookie + std::string("\0\x0a\0\x08"
                                               "12345678",
                                               12))));
}

TEST(DnsQuery, EveryPrefixIsRefused) {
  const std::string whole = query("api.example.org", kDnsTypeA, kOpt);
  ASSERT_TRUE(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse(whole.substr(0, size));
    ASSERT_FALSE(parsed) << size;
    EXPECT_EQ(parsed.error().reply.empty(), size < 12) << size;
    if (size >= 12) {
      EXPECT_EQ(code_of(parsed.error().reply), 1) << size;
    }
  }
}

TEST(DnsQuery, ResponsesGetNoAnswer) {
  const auto parsed = parse(query("a.example", 1, {}, 0x8180));
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(parsed.error().reply.empty());
}

TEST(DnsQuery, OddMessagesAreRefused) {
  const std::string plain = query("a.example", 1);
  const std::string name = dns_wire_name("a.example");
  EXPECT_EQ(refusal_code(plain + '\0'), 1);                       // bytes behind it
  EXPECT_EQ(refusal_code(query("a.example", 1, {}, 0x2100)), 4);  // status, notify, update
  EXPECT_EQ(refusal_code(query("a.example", 1, {}, 0x0300)), 1);  // truncated
  EXPECT_EQ(refusal_code(query("a.example", 1, {}, 0x0103)), 1);  // a code
  EXPECT_EQ(refusal_code(words({1, 0x100, 0, 0, 0, 0})), 1);      // no question
  EXPECT_EQ(refusal_code(words({1, 0x100, 2, 0, 0, 0}) + name + words({1, 1}) + name + words({1, 1})), 1);
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 1, 0, 0}) + name + words({1, 1})), 1);  // an answer
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 0, 1, 0}) + name + words({1, 1})), 1);  // an authority
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 0, 0, 2}) + name + words({1, 1}) + kOpt + kOpt), 1);
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 0, 0, 0}) + name + words({1, 3})), 5);        // CHAOS
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 0, 0, 0}) + "\xc0\x0c" + words({1, 1})), 1);  // compressed
  EXPECT_EQ(refusal_code(words({1, 0x100, 1, 0, 0, 0}) + "\x40x" + words({0, 1, 1})),
            1);  // a kind of label that is none
  std::string other = kOpt;
  other[2] = 1;
  EXPECT_EQ(refusal_code(query("a.example", 1, other)), 1);
  std::string cut_option = kOpt;
  cut_option[10] = 3;
  EXPECT_EQ(refusal_code(query("a.example", 1, cut_option + "abc")), 1);
}

TEST(DnsQuery, UnknownEdnsVersionIsToldSo) {
  std::string newer = kOpt;
  newer[6] = 1;
  const auto parsed = parse(query("a.example", 1, newer));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().reply.size(), 12u + 11u);
  EXPECT_EQ(parsed.error().reply[11], 1);
  EXPECT_EQ(parsed.error().reply[17], 1);  // the upper half of 16
}

TEST(DnsQuery, LengthIsBounded) {
  std::string padding = kOpt;
  padding[9] = 1;
  padding[10] = static_cast<char>(0xf4);  // 500
  const std::string bytes = query("a.example", 1, padding + std::string("\0\x0c\x01\xf0", 4) + std::string(496, '\0'));
  ASSERT_GT(bytes.size(), kDnsUdpBound);
  EXPECT_FALSE(parse_dns_query(bytes, DnsTransport::kUdp));
  EXPECT_TRUE(parse_dns_query(bytes, DnsTransport::kTcp));
  EXPECT_FALSE(parse_dns_query(query("a.example", 1) + std::string(5000, '\0'), DnsTransport::kTcp));
}

TEST(DnsQuery, NamesThatNoHostHasAreKeptApart) {
  const auto root = parse(query("", 2));
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->name);
  EXPECT_EQ(root->shown_name, ".");
  for (const std::string_view name : {"127.0.0.1", "a b.example", "\x1b[2J.example",
                                      "b\xc3\xbc"
                                      "cher.example",
                                      "0x7f.1"}) {
    const auto parsed = parse(query(name, 1));
    ASSERT_TRUE(parsed) << name;
    EXPECT_FALSE(parsed->name) << name;
    for (const char c : parsed->shown_name) EXPECT_TRUE(c >= ' ' && c < 0x7f) << name;
  }
  // A dot within a label is not a dot between two.
  const auto dotted = parse(words({1, 0x100, 1, 0, 0, 0}) +
                            std::string("\x09"
                                        "a.example\0",
                                        11) +
                            words({1, 1}));
  ASSERT_TRUE(dotted);
  EXPECT_FALSE(dotted->name);
}

TEST(DnsQuery, AnswersRepeatTheQuestionAsItCame) {
  const auto asked = parse(query("Api.eXample", kDnsTypeA));
  const std::vector<IpAddress> addresses = {*parse_ip("198.18.0.1"), *parse_ip("fd63::1"), *parse_ip("198.18.0.2")};
  const std::string answer = dns_answer(*asked, addresses, 5s);
  EXPECT_EQ(answer, words({0x1234, 0x8180, 1, 2, 0, 0}) + dns_wire_name("Api.eXample") + words({1, 1}) +
                        words({0xc00c, 1, 1, 0, 5, 4, 0xc612, 1}) + words({0xc00c, 1, 1, 0, 5, 4, 0xc612, 2}));
  const auto reply = parse_dns_reply(answer, 0x1234, *asked->name, kDnsTypeA);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->addresses, (std::vector<IpAddress>{addresses[0], addresses[2]}));
  EXPECT_EQ(reply->ttl, 5s);
}

TEST(DnsQuery, OtherTypesGetAnEmptyAnswer) {
  const std::vector<IpAddress> addresses = {*parse_ip("198.18.0.1"), *parse_ip("fd63::1")};
  for (const unsigned type : {15u, 16u, 65u, 255u}) {
    const auto asked = parse(query("a.example", type));
    EXPECT_EQ(dns_answer(*asked, addresses, 5s),
              words({0x1234, 0x8180, 1, 0, 0, 0}) + dns_wire_name("a.example") + words({type, 1}));
  }
}

TEST(DnsQuery, DenialCarriesAnExplanationIfAskedWithEdns) {
  const auto plain = parse(query("a.example", 1));
  EXPECT_EQ(dns_error(*plain, DnsCode::kNxDomain, "no"),
            words({0x1234, 0x8183, 1, 0, 0, 0}) + dns_wire_name("a.example") + words({1, 1}));
  const auto extended = parse(query("a.example", 1, kOpt));
  EXPECT_EQ(dns_error(*extended, DnsCode::kNxDomain, "no"), words({0x1234, 0x8183, 1, 0, 0, 1}) +
                                                                dns_wire_name("a.example") + words({1, 1}) + '\0' +
                                                                words({41, 512, 0, 0, 8, 15, 4, 18}) + "no");
}

TEST(DnsQuery, NoAnswerIsLongerThanADatagram) {
  const std::string label(63, 'a');
  const auto longest = parse(query(label + "." + label + "." + label + "." + std::string(61, 'b'), kDnsTypeAaaa, kOpt));
  ASSERT_TRUE(longest);
  const std::vector<IpAddress> many(100, *parse_ip("fd63::1"));
  EXPECT_LE(dns_answer(*longest, many, 5s).size(), kDnsUdpBound);
  EXPECT_LE(dns_error(*longest, DnsCode::kNxDomain, std::string(1000, 'x')).size(), kDnsUdpBound);
}

TEST(DnsFrame, NeedsTheWholeMessage) {
  const std::string bytes = dns_frame("hello") + dns_frame("");
  for (std::size_t size = 0; size < 7; ++size) {
    EXPECT_EQ(next_dns_frame(bytes.substr(0, size), 10).state, DnsFrame::State::kNeedMore) << size;
  }
  const DnsFrame frame = next_dns_frame(bytes, 10);
  EXPECT_EQ(frame.state, DnsFrame::State::kMessage);
  EXPECT_EQ(frame.message, "hello");
  EXPECT_EQ(frame.consumed, 7u);
  EXPECT_EQ(next_dns_frame(std::string_view(bytes).substr(7), 10).consumed, 2u);
  EXPECT_EQ(next_dns_frame(bytes, 4).state, DnsFrame::State::kTooLong);
}

}  // namespace
}  // namespace cloche::proto
