// The small parts: what the first bytes are, addresses for names, limits, leases, packets.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "gateway/classify.h"
#include "gateway/confine.h"
#include "gateway/dialer.h"
#include "gateway/live_rules.h"
#include "gateway/meter.h"
#include "gateway/names.h"
#include "gateway/packets.h"
#include "gateway/socket_service.h"

namespace cloche::gateway {
namespace {

using namespace std::string_view_literals;

proto::HostName name(std::string_view text) { return proto::parse_host_name(text).value(); }
proto::IpAddress ip(std::string_view text) { return proto::parse_ip(text).value(); }

// A socket that is bound to a port of its own, and where that is.
proto::Endpoint bound(const Fd& fd, std::string_view address) {
  proto::SocketAddress where = proto::to_sockaddr(ip(address), 0);
  EXPECT_EQ(::bind(fd.get(), where.get(), where.size), 0);
  socklen_t size = sizeof where.storage;
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&where.storage), &size), 0);
  return proto::from_sockaddr(where.get(), size).value();
}

TEST(Dialer, AConnectionToItselfIsTold) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const proto::Endpoint own = bound(fd, "127.0.0.1");
  const proto::SocketAddress where = proto::to_sockaddr(own.address, own.port);
  ASSERT_EQ(::connect(fd.get(), where.get(), where.size), 0);
  EXPECT_TRUE(leads_to_itself(fd.get(), own.address, own.port));
}

TEST(Dialer, AConnectionToAnotherIsNone) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const proto::Endpoint there = bound(listener, "127.0.0.1");
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const proto::SocketAddress where = proto::to_sockaddr(there.address, there.port);
  ASSERT_EQ(::connect(fd.get(), where.get(), where.size), 0);
  EXPECT_FALSE(leads_to_itself(fd.get(), there.address, there.port));
}

TEST(Classify, TlsIsToldByItsFirstByte) {
  EXPECT_EQ(classify_speech("\x16\x03\x01", false), Speech::kTls);
  // An alert, or anything else of TLS, in front of the greeting must not make it opaque.
  for (char kind = 0x14; kind <= 0x1a; ++kind) EXPECT_EQ(classify_speech(std::string(1, kind), false), Speech::kTls);
}

TEST(Classify, TextIsHttpOrNothing) {
  for (const std::string_view text :
       {"GET / HTTP/1.1"sv, "get /"sv, "\r\nGET /"sv, " GET /"sv, "*1\r\n"sv, "PRI * "sv}) {
    EXPECT_EQ(classify_speech(text, false), Speech::kHttp) << text;
  }
}

TEST(Classify, SshMayBegin) {
  EXPECT_EQ(classify_speech("S", false), Speech::kMore);
  EXPECT_EQ(classify_speech("SSH", false), Speech::kMore);
  EXPECT_EQ(classify_speech("SSH-2.0-x", false), Speech::kOpaque);
  EXPECT_EQ(classify_speech("SSX", false), Speech::kHttp);
}

TEST(Classify, TextAfterTheServersGreetingIsOpaque) {
  EXPECT_EQ(classify_speech("EHLO x", true), Speech::kOpaque);
  EXPECT_EQ(classify_speech("\x16\x03", true), Speech::kTls);
}

TEST(Classify, AGreetingOfSsl2IsFound) {
  EXPECT_EQ(classify_speech("\x80", false), Speech::kMore);
  EXPECT_EQ(classify_speech("\x80\x2e\x01\x03\x01", false), Speech::kOldHello);
  EXPECT_EQ(classify_speech("\x80\x2e\x02", false), Speech::kOpaque);
  EXPECT_EQ(classify_speech("\0\0\0"sv, false), Speech::kMore);
  EXPECT_EQ(classify_speech("\0\0\0\x07"sv, false), Speech::kOpaque);
  EXPECT_EQ(classify_speech("\0\0\0\x4e\0\x03\0\0"sv, false), Speech::kOpaque);  // PostgreSQL
}

TEST(Classify, PostgresAsksForTlsFirst) {
  for (const bool server_spoke : {false, true}) {
    for (const std::string_view question : {"\0\0\0\x08\x04\xd2\x16\x2f"sv, "\0\0\0\x08\x04\xd2\x16\x30"sv}) {
      for (std::size_t size = 1; size < question.size(); ++size) {
        EXPECT_EQ(classify_speech(question.substr(0, size), server_spoke), Speech::kMore) << size;
      }
      EXPECT_EQ(classify_speech(question, server_spoke), Speech::kAsksTls);
      EXPECT_EQ(classify_speech(std::string(question) + "\x16\x03", server_spoke), Speech::kAsksTls);
    }
    EXPECT_EQ(classify_speech("\0\0\0\x08\x04\xd2\x16\x2e"sv, server_spoke), Speech::kOpaque);  // CancelRequest
  }
}

TEST(Classify, WhatALenientReaderSkipsHidesNoRequest) {
  for (const std::string_view blank : {"\x0b"sv, "\x0c"sv, "\x1c"sv, "\x1d"sv, "\x1e"sv, "\x1f"sv, "\x85"sv, "\xa0"sv,
                                       "\xef\xbb\xbf"sv, "\xc2\xa0"sv, "\0"sv, "\0\0\0"sv}) {
    EXPECT_EQ(classify_speech(std::string(blank) + "GET / HTTP/1.1", false), Speech::kHttp);
  }
}

TEST(Names, AnAddressStandsForItsName) {
  Names names;
  const auto first = names.addresses_of(name("a.example"));
  const auto second = names.addresses_of(name("b.example"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->v4, second->v4);
  EXPECT_EQ(names.addresses_of(name("a.example"))->v4, first->v4);
  EXPECT_EQ(names.name_of(first->v4)->text(), "a.example");
  EXPECT_EQ(names.name_of(second->v6)->text(), "b.example");
  EXPECT_EQ(names.name_of(ip("198.18.9.9")), nullptr);
  EXPECT_EQ(names.name_of(ip("198.18.0.1")), nullptr);
  EXPECT_EQ(names.name_of(ip("fd63:6c6f:6368:6500:1::100")), nullptr);
  EXPECT_EQ(names.name_of(ip("10.0.1.0")), nullptr);
}

TEST(Names, AreBounded) {
  Names names;
  for (std::size_t i = 0; i < Names::kMost; ++i) {
    const auto pair = names.addresses_of(name("n" + std::to_string(i) + ".example"));
    ASSERT_TRUE(pair);
    ASSERT_EQ(names.name_of(pair->v4)->text(), "n" + std::to_string(i) + ".example");
    ASSERT_EQ(names.name_of(pair->v6)->text(), "n" + std::to_string(i) + ".example");
  }
  EXPECT_FALSE(names.addresses_of(name("one.more.example")));
  EXPECT_TRUE(names.addresses_of(name("n0.example")));
}

TEST(Meter, SaysWhichLimitWasHit) {
  Meter meter({.bytes_in = 10, .bytes_out = 5, .connections = 1, .rate = std::nullopt});
  EXPECT_EQ(meter.add_connection(), "");
  EXPECT_EQ(meter.add_connection(), "net.limits.connections");
  EXPECT_EQ(meter.add(Way::kIn, 10), "");
  EXPECT_EQ(meter.add(Way::kOut, 5), "");
  EXPECT_EQ(meter.add(Way::kOut, 1), "net.limits.bytes_out");
  egress::Limits little;
  little.bytes_in = 1;
  EXPECT_EQ(Meter(little).add(Way::kIn, 2), "net.limits.bytes_in");
}

TEST(Meter, ARateMovesTheNextBytesAway) {
  egress::Limits slow;
  slow.rate = 1000;
  Meter meter(slow);
  const auto before = Clock::now();
  EXPECT_EQ(meter.add(Way::kIn, 500), "");
  EXPECT_GE(meter.free_at(), before + Millis(499));
  EXPECT_LE(meter.most_at_once(100'000), 1000u);
  // What is still ahead has not been waited for.
  EXPECT_LT(meter.waited(Clock::now()), Millis(500));
  EXPECT_EQ(meter.waited(meter.free_at() + Millis(9000)), Millis(500));
}

TEST(LiveRules, ALeaseEndsAndAGrantOpens) {
  const auto now = Clock::now();
  auto rules =
      LiveRules::make({{"a.example:443", std::nullopt}, {"b.example:443", Millis(1000)}, {"c.example:443", Millis(0)}},
                      {"d.example:443"}, now);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->now().decide_name(name("a.example"), 443).allowed());
  EXPECT_TRUE(rules->now().decide_name(name("b.example"), 443).allowed());
  EXPECT_FALSE(rules->now().decide_name(name("c.example"), 443).allowed());
  EXPECT_EQ(rules->next_end(), now + Millis(1000));
  EXPECT_EQ(rules->expire(now + Millis(1000)), std::vector<std::string>{"b.example:443"});
  EXPECT_FALSE(rules->now().decide_name(name("b.example"), 443).allowed());
  EXPECT_EQ(rules->next_end(), kNever);
  ASSERT_TRUE(rules->grant("C.example.:443", std::nullopt, now));
  EXPECT_TRUE(rules->now().decide_name(name("c.example"), 443).allowed());
  ASSERT_TRUE(rules->grant("d.example:443", std::nullopt, now));
  EXPECT_FALSE(rules->now().decide_name(name("d.example"), 443).allowed());  // deny wins, also over a grant
  ASSERT_TRUE(rules->revoke("c.example:443"));
  EXPECT_FALSE(rules->now().decide_name(name("c.example"), 443).allowed());
  EXPECT_FALSE(rules->revoke("c.example:443"));
  EXPECT_FALSE(rules->grant("nonsense", std::nullopt, now));
}

TEST(LiveSockets, AreGrantedAndRevokedByPath) {
  const auto now = Clock::now();
  egress::Socket first;
  first.path = "/run/a";
  egress::Socket second;
  second.path = "/run/b";
  second.lasts = Millis(0);
  LiveSockets sockets({first, second}, now);
  EXPECT_TRUE(sockets.is_granted(0));
  EXPECT_FALSE(sockets.is_granted(1));
  EXPECT_TRUE(sockets.grant("/run/b", Millis(10), now));
  EXPECT_EQ(sockets.next_end(), now + Millis(10));
  EXPECT_EQ(sockets.expire(now + Millis(10)), std::vector<std::string>{"/run/b"});
  EXPECT_TRUE(sockets.revoke("/run/a"));
  EXPECT_FALSE(sockets.revoke("/run/a"));
  EXPECT_FALSE(sockets.grant("/run/c", std::nullopt, now));
}

std::string tcp4(unsigned char flags) {
  std::string packet(40, '\0');
  packet[0] = 0x45;
  packet[9] = 6;
  packet.replace(16, 4, "\x08\x08\x08\x08");
  packet[22] = 0x01;
  packet[23] = static_cast<char>(0xbb);
  packet[33] = static_cast<char>(flags);
  return packet;
}

TEST(Packets, AnOpeningIsReadAndNothingElse) {
  const auto attempt = read_attempt(tcp4(0x02));
  ASSERT_TRUE(attempt);
  EXPECT_EQ(attempt->to.address, ip("8.8.8.8"));
  EXPECT_EQ(attempt->to.port, 443);
  EXPECT_FALSE(attempt->datagram);
  EXPECT_FALSE(read_attempt(tcp4(0x12)));
  EXPECT_FALSE(read_attempt(tcp4(0x10)));
}

TEST(Packets, APacketThatIsCutOffIsNone) {
  const std::string packet = tcp4(0x02);
  for (std::size_t size = 0; size < 34; ++size) EXPECT_FALSE(read_attempt(packet.substr(0, size))) << size;
}

TEST(Confine, TheFilterLeavesNoWayToFilesOrPrograms) {
  const auto filter = gateway_filter();
  ASSERT_FALSE(filter.empty());
  EXPECT_LT(filter.size(), 200u);
}

}  // namespace
}  // namespace cloche::gateway
