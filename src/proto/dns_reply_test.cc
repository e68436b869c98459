#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/byte_reader.h"
#include "proto/dns_message.h"
#include "proto/dns_name.h"

namespace cloche::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string words(std::initializer_list<unsigned> values) {
  std::string out;
  for (const unsigned value : values) put_u16(out, static_cast<std::uint16_t>(value));
  return out;
}

HostName name(std::string_view text) { return parse_host_name(text).value(); }
IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

std::string record(std::string_view owner_wire, unsigned type, unsigned ttl, std::string_view data) {
  return std::string(owner_wire) + words({type, 1, ttl >> 16, ttl & 0xffff, static_cast<unsigned>(data.size())}) +
         std::string(data);
}
std::string a_record(std::string_view owner, unsigned ttl, std::string_view data) {
  return record(dns_wire_name(owner), 1, ttl, data);
}
std::string alias(std::string_view owner, std::string_view target, unsigned ttl) {
  return record(dns_wire_name(owner), 5, ttl, dns_wire_name(target));
}

struct Counts {
  unsigned answers = 0;
  unsigned authorities = 0;
  unsigned additions = 0;
  unsigned flags = 0x8180;
};

std::string reply(const Counts& counts, std::string_view records) {
  return words({7, counts.flags, 1, counts.answers, counts.authorities, counts.additions}) +
         dns_wire_name("a.example") + words({1, 1}) + std::string(records);
}

Result<DnsReply> parse(std::string_view message) { return parse_dns_reply(message, 7, name("a.example"), kDnsTypeA); }

TEST(DnsReply, QuestionIsPlain) {
  EXPECT_EQ(dns_question(7, name("a.example"), 28),
            words({7, 0x0100, 1, 0, 0, 0}) + dns_wire_name("a.example") + words({28, 1}));
  EXPECT_TRUE(parse_dns_query(dns_question(7, name("a.example"), 28), DnsTransport::kUdp));
}

TEST(DnsReply, GivesEachAddressOnceAndTheLeastTtl) {
  const auto parsed = parse(reply({3}, a_record("a.example", 300, "\1\2\3\4") + a_record("A.Example", 60, "\5\6\7\x8") +
                                           a_record("a.example", 900, "\1\2\3\4")));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_THAT(parsed->addresses, ElementsAre(ip("1.2.3.4"), ip("5.6.7.8")));
  EXPECT_EQ(parsed->ttl, 60s);
  EXPECT_EQ(parsed->code, DnsCode::kNoError);
}

TEST(DnsReply, ReadsV6AndCompressedNames) {
  const std::string message = words({7, 0x8180, 1, 1, 0, 0}) + dns_wire_name("a.example") + words({28, 1}) +
                              record("\xc0\x0c", 28, 5, std::string_view("\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16));
  const auto parsed = parse_dns_reply(message, 7, name("a.example"), kDnsTypeAaaa);
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_THAT(parsed->addresses, ElementsAre(ip("2001:db8::1")));
}

TEST(DnsReply, FollowsAliasesInAnyOrder) {
  const auto parsed =
      parse(reply({4}, a_record("c.example", 300, "\1\2\3\4") + alias("b.example", "c.example", 20) +
                           alias("a.example", "B.example", 30) + a_record("d.example", 1, "\x9\x9\x9\x9")));
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_THAT(parsed->addresses, ElementsAre(ip("1.2.3.4")));
  EXPECT_EQ(parsed->ttl, 20s);
}

TEST(DnsReply, RecordsThatNobodyAskedForDoNotCount) {
  const auto other = parse(reply({1}, a_record("b.example", 300, "\1\2\3\4")));
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->addresses.empty());
  const auto additional = parse(reply({0, 0, 1}, a_record("a.example", 300, "\1\2\3\4")));
  ASSERT_TRUE(additional);
  EXPECT_TRUE(additional->addresses.empty());
  const auto beside_alias =
      parse(reply({2}, alias("a.example", "b.example", 5) + a_record("a.example", 5, "\1\2\3\4")));
  ASSERT_TRUE(beside_alias);
  EXPECT_TRUE(beside_alias->addresses.empty());
}

TEST(DnsReply, CirclesAndForksAreRefused) {
  EXPECT_FALSE(parse(reply({1}, alias("a.example", "a.example", 5))));
  EXPECT_FALSE(parse(reply({2}, alias("a.example", "b.example", 5) + alias("b.example", "a.example", 5))));
  EXPECT_FALSE(parse(reply({2}, alias("a.example", "b.example", 5) + alias("a.example", "c.example", 5))));
  std::string chain = alias("a.example", "n0.example", 5);
  for (int i = 0; i < 40; ++i) {
    chain += alias("n" + std::to_string(i) + ".example", "n" + std::to_string(i + 1) + ".example", 5);
  }
  EXPECT_THAT(parse(reply({41}, chain)).error().message, HasSubstr("too long"));
}

TEST(DnsReply, OnlyTheQuestionThatWasAsked) {
  const std::string good = reply({1}, a_record("a.example", 300, "\1\2\3\4"));
  ASSERT_TRUE(parse(good));
  EXPECT_FALSE(parse_dns_reply(good, 8, name("a.example"), 1));
  EXPECT_FALSE(parse_dns_reply(good, 7, name("b.example"), 1));
  EXPECT_FALSE(parse_dns_reply(good, 7, name("a.example"), 28));
  EXPECT_FALSE(parse(dns_question(7, name("a.example"), 1)));
  EXPECT_FALSE(parse(words({7, 0x8180, 0, 0, 0, 0})));
  EXPECT_FALSE(parse(words({7, 0x8183, 0, 0, 0, 0})));
  EXPECT_FALSE(parse(words({7, 0xa980, 1, 0, 0, 0}) + good.substr(12)));
}

TEST(DnsReply, CodesAreTold) {
  EXPECT_EQ(parse(reply({0, 0, 0, 0x8183}, ""))->code, DnsCode::kNxDomain);
  EXPECT_EQ(parse(reply({0, 0, 0, 0x8182}, ""))->code, DnsCode::kServFail);
  EXPECT_EQ(parse(words({7, 0x8181, 0, 0, 0, 0}))->code, DnsCode::kFormErr);
  const auto with_address = parse(reply({1, 0, 0, 0x8183}, a_record("a.example", 300, "\1\2\3\4")));
  ASSERT_TRUE(with_address);
  EXPECT_TRUE(with_address->addresses.empty());
}

TEST(DnsReply, TruncatedOnesHaveNoAddresses) {
  const std::string whole = reply({2, 0, 0, 0x8380}, a_record("a.example", 300, "\1\2\3\4"));
  const auto parsed = parse(whole.substr(0, whole.size() - 3));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->truncated);
  EXPECT_TRUE(parsed->addresses.empty());
}

TEST(DnsReply, EveryPrefixIsRefused) {
  const std::string whole = reply({2}, alias("a.example", "b.example", 30) + record("\xc0\x0c", 1, 5, "\1\2\3\4"));
  ASSERT_TRUE(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse(whole.substr(0, size))) << size;
  EXPECT_FALSE(parse(whole + '\0'));
}

TEST(DnsReply, PointersLeadBackwards) {
  const std::string head = reply({1}, "");
  const auto pointing_to = [&](std::size_t target) {
    std::string pointer;
    put_u16(pointer, static_cast<std::uint16_t>(0xc000 | target));
    return parse(head + record(pointer, 1, 5, "\1\2\3\4"));
  };
  EXPECT_TRUE(pointing_to(12));
  EXPECT_FALSE(pointing_to(0));                // the header
  EXPECT_FALSE(pointing_to(head.size()));      // itself
  EXPECT_FALSE(pointing_to(head.size() + 2));  // forwards
  EXPECT_FALSE(pointing_to(0x3fff));
  // Labels, then a pointer back to those labels.
  std::string loop = head + "\1x";
  put_u16(loop, static_cast<std::uint16_t>(0xc000 | head.size()));
  EXPECT_FALSE(parse(loop + words({1, 1, 0, 5, 4}) + "\1\2\3\4"));
}

TEST(DnsReply, LongChainsOfPointersAreRefused) {
  std::string message(12, '\0');
  message += std::string("\1a\0", 3);
  std::size_t last = 12;
  for (int i = 0; i < 40; ++i) {
    const std::size_t here = message.size();
    put_u16(message, static_cast<std::uint16_t>(0xc000 | last));
    const auto parsed = read_dns_name(message, here, DnsCompression::kBackwards);
    EXPECT_EQ(parsed.has_value(), i < 16) << i;
    if (parsed) {
      EXPECT_EQ(parsed->text(), "a");
    }
    last = here;
  }
}

TEST(DnsReply, NamesAreAtMost255BytesLong) {
  std::string message(12, '\0');
  for (int i = 0; i < 3; ++i) message += '\x3f' + std::string(63, 'a');
  const std::string fits = message + '\x3d' + std::string(61, 'b') + '\0';
  const std::string over = message + '\x3e' + std::string(62, 'b') + '\0';
  EXPECT_TRUE(read_dns_name(fits, 12, DnsCompression::kRefused));
  EXPECT_FALSE(read_dns_name(over, 12, DnsCompression::kRefused));
}

TEST(DnsReply, MalformedRecordsAreRefused) {
  EXPECT_FALSE(parse(reply({1}, a_record("a.example", 5, "\1\2\3"))));
  EXPECT_FALSE(parse(reply({1}, a_record("a.example", 5, "\1\2\3\4\5"))));
  EXPECT_FALSE(parse(reply({1}, record(dns_wire_name("a.example"), 28, 5, "\1\2\3\4"))));
  EXPECT_FALSE(parse(reply({1}, record(dns_wire_name("a.example"), 5, 5, dns_wire_name("b") + "x"))));
  EXPECT_FALSE(parse(reply({1}, record(dns_wire_name("a.example"), 5, 5, "\5b"))));
  EXPECT_FALSE(parse(reply({600}, "")));
  EXPECT_TRUE(parse(reply({1}, record(dns_wire_name("a.example"), 46, 5, "anything"))));
}

TEST(DnsReply, TtlIsBounded) {
  EXPECT_EQ(parse(reply({1}, a_record("a.example", 0x7fffffff, "\1\2\3\4")))->ttl, 86400s);
  EXPECT_EQ(parse(reply({1}, a_record("a.example", 0x80000000, "\1\2\3\4")))->ttl, 0s);
}

}  // namespace
}  // namespace cloche::proto
