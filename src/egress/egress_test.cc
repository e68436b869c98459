#include <gtest/gtest.h>

#include "egress/message.h"
#include "egress/settings.h"

namespace cloche::egress {
namespace {

Settings sample() {
  Settings settings;
  settings.allow = {{"api.example.org:443", std::nullopt}, {"*.example.org:80", Millis(0)}};
  settings.deny = {"10.0.0.0/8:1-65535"};
  settings.limits = {.bytes_in = 1, .bytes_out = std::nullopt, .connections = 3, .rate = 4};
  settings.secrets = {
      {"KEY", "cloche-0000", "s3cr3t-0001", {"api.example.org:443"}, SecretPlace::kQuery, "k", Millis(5)}};
  settings.sockets = {{"/run/a.sock", true, {"log.*"}, {{"tenant", "a"}}, 4096, std::nullopt},
                      {"/run/b.sock", false, {}, {}, 1, Millis(1)}};
  settings.proxy_port = 3128;
  settings.resolv_conf = "nameserver 127.0.0.1\n";
  settings.hosts = "127.0.0.1 localhost\n";
  settings.ca_bundle = "-----BEGIN";
  settings.ends_tls = true;
  settings.uid = 70001;
  return settings;
}

TEST(Egress, SettingsComeBackAsTheyWere) {
  const auto back = decode_settings(encode(sample()));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample());
}

TEST(Egress, DamagedSettingsAreRefused) {
  const std::string bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_settings(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_settings(bytes + "x"));
}

TEST(Egress, RecordsComeBackAsTheyWere) {
  Connection connection{.at = std::chrono::microseconds(7),
                        .via = Via::kSocks,
                        .name = "a.example",
                        .address = "1.2.3.4",
                        .port = 443,
                        .verdict = Verdict::kDenied,
                        .reason = "no rule",
                        .bytes_in = 1,
                        .bytes_out = 2,
                        .took = std::chrono::microseconds(9),
                        .count = 3};
  EXPECT_EQ(decode_connection(encode(connection)), connection);
  Call call{.at = {}, .socket = "/s", .method = "m", .id = "1", .verdict = Verdict::kAllowed, .reason = "", .count = 1};
  EXPECT_EQ(decode_call(encode(call)), call);
  Change change{.what = Change::What::kSecret, .text = "KEY", .lasts = Millis(10)};
  EXPECT_EQ(decode_change(encode(change)), change);
  const Confined confined{.authority = "-----BEGIN", .limits = sample().limits};
  EXPECT_EQ(decode_confined(encode(confined)), confined);
  EXPECT_FALSE(decode_confined(encode(confined) + "x"));
  EXPECT_FALSE(decode_confined("-----BEGIN CERTIFICATE-----")) << "another build's";
  EXPECT_FALSE(decode_confined(encode(Confined{.authority = std::string(kMaxAuthority + 1, 'x'), .limits = {}})));
  const Tally tally{.lost = 7, .rate_waited = std::chrono::microseconds(5)};
  EXPECT_EQ(decode_tally(encode(tally)), tally);
  EXPECT_FALSE(decode_tally(encode(tally) + "x"));
  EXPECT_FALSE(decode_tally(""));
}

TEST(Egress, AMomentIsTheSameForBoth) {
  const Clock::time_point moment{std::chrono::microseconds(1'234'567'890)};
  EXPECT_EQ(decode_moment(encode(moment)), moment);
  EXPECT_FALSE(decode_moment(""));
  EXPECT_FALSE(decode_moment(encode(moment) + "x"));
  EXPECT_FALSE(decode_moment(std::string(8, '\xff'))) << "later than any";
}

TEST(Egress, LongTextsAreCutAtACharacter) {
  Connection connection;
  connection.name = std::string(1023, 'a') + "\xc3\xa4";
  const auto back = decode_connection(encode(connection));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, std::string(1023, 'a'));
}

TEST(Egress, FramesOfAnotherBuildAreRefused) {
  std::string bytes = frame({.kind = Kind::kServe}, "x");
  ASSERT_TRUE(unframe(bytes));
  EXPECT_EQ(unframe(bytes)->payload, "x");
  bytes[0] ^= 1;
  EXPECT_FALSE(unframe(bytes));
  EXPECT_FALSE(unframe("short"));
}

}  // namespace
}  // namespace cloche::egress
