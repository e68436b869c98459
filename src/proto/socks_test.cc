#include "proto/socks.h"

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

using namespace std::string_view_literals;

const IpAddress* address_of(const SocksRequest& request) { return std::get_if<IpAddress>(&request.host); }

std::string named(std::string_view name, std::string_view port = "\x01\xbb") {
  return "\x05\x01" + std::string(1, '\0') + "\x03" + static_cast<char>(name.size()) + std::string(name) +
         std::string(port);
}

SocksRequest request(std::string_view bytes) {
  const auto result = parse_socks_request(bytes);
  const auto* out = std::get_if<SocksRequest>(&result);
  EXPECT_NE(out, nullptr);
  return out == nullptr ? SocksRequest{IpAddress(), 0, 0} : *out;
}

// The code of the refusal; -1 if it is none.
int refusal(std::string_view bytes) {
  const auto result = parse_socks_request(bytes);
  const auto* out = std::get_if<SocksRefusal>(&result);
  return out == nullptr ? -1 : out->reply.at(1);
}

TEST(Socks, GreetingTakesNoAuthentication) {
  const auto result = parse_socks_greeting("\x05\x02\x02\x00rest"sv);
  const auto* greeting = std::get_if<SocksGreeting>(&result);
  ASSERT_NE(greeting, nullptr);
  EXPECT_EQ(greeting->reply, "\x05\x00"sv);
  EXPECT_EQ(greeting->consumed, 4u);
  for (std::size_t size = 0; size < 4; ++size) {
    EXPECT_TRUE(std::holds_alternative<SocksNeedMore>(parse_socks_greeting("\x05\x02\x02\x00"sv.substr(0, size))));
  }
}

TEST(Socks, GreetingWithoutItIsRefused) {
  for (const std::string_view bytes : {"\x05\x01\x02"sv, "\x05\x00"sv}) {
    const auto result = parse_socks_greeting(bytes);
    ASSERT_TRUE(std::holds_alternative<SocksRefusal>(result));
    EXPECT_EQ(std::get<SocksRefusal>(result).reply, "\x05\xff"sv);
  }
}

TEST(Socks, Version4IsToldSo) {
  const auto result = parse_socks_greeting("\x04\x01\x00\x50\0\0\0\x01user\0name\0"sv);
  ASSERT_TRUE(std::holds_alternative<SocksRefusal>(result));
  EXPECT_EQ(std::get<SocksRefusal>(result).reply, "\0\x5b\0\0\0\0\0\0"sv);
  EXPECT_NE(std::get<SocksRefusal>(result).reason.find("SOCKS 5"), std::string::npos);
  EXPECT_TRUE(begins_socks('\x04'));
  EXPECT_TRUE(begins_socks('\x05'));
  EXPECT_FALSE(begins_socks('C'));
  EXPECT_TRUE(std::get<SocksRefusal>(parse_socks_greeting("GET")).reply.empty());
}

TEST(Socks, RequestsNameAHostOrAnAddress) {
  const SocksRequest name = request(named("Api.Example.") + "hello");
  EXPECT_EQ(std::get<HostName>(name.host).text(), "api.example");
  EXPECT_EQ(name.port, 443);
  EXPECT_EQ(name.consumed, 19u);
  const SocksRequest v4 = request("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"sv);
  EXPECT_EQ(*address_of(v4), *parse_ip("127.0.0.1"));
  EXPECT_EQ(v4.port, 80);
  const SocksRequest v6 = request("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\x00\x50"sv);
  EXPECT_EQ(*address_of(v6), *parse_ip("::ffff:127.0.0.1"));
  EXPECT_EQ(v6.consumed, 22u);
}

TEST(Socks, NamesThatAreAddressesAreAddresses) {
  EXPECT_EQ(*address_of(request(named("127.0.0.1"))), *parse_ip("127.0.0.1"));
  EXPECT_EQ(*address_of(request(named("::1"))), *parse_ip("::1"));
  for (const std::string_view odd :
       {""sv, "127.1"sv, "0x7f.1"sv, "[::1]"sv, "fe80::1%lo"sv, "a b"sv, "a\0b"sv, "\xff"sv, "a..b"sv, "a:80"sv}) {
    EXPECT_EQ(refusal(named(odd)), 1) << odd;
  }
}

TEST(Socks, EveryPrefixNeedsMore) {
  for (const std::string& whole : {named("api.example"), std::string("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 10),
                                   std::string("\x05\x01\x00\x04", 4) + std::string(17, '\0') + '\1'}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_TRUE(std::holds_alternative<SocksNeedMore>(parse_socks_request(whole.substr(0, size)))) << size;
    }
    EXPECT_EQ(request(whole).consumed, whole.size());
  }
}

TEST(Socks, OtherRequestsAreRefused) {
  EXPECT_EQ(refusal("\x05\x02"sv), 7);  // BIND
  EXPECT_EQ(refusal("\x05\x03"sv), 7);  // UDP ASSOCIATE
  EXPECT_EQ(refusal("\x04"sv), 1);
  EXPECT_EQ(refusal("\x05\x01\x01"sv), 1);
  EXPECT_EQ(refusal("\x05\x01\x00\x02"sv), 8);
  EXPECT_EQ(refusal("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00"sv), 1);  // port 0
}

TEST(Socks, RepliesTellNoAddress) {
  EXPECT_EQ(socks_reply(SocksCode::kGranted), "\x05\x00\x00\x01\0\0\0\0\0\0"sv);
  EXPECT_EQ(socks_reply(SocksCode::kNotAllowed), "\x05\x02\x00\x01\0\0\0\0\0\0"sv);
}

}  // namespace
}  // namespace cloche::proto
