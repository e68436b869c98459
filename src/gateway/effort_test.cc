// What takes too much to search is not passed on, and nothing else is held up by that.
#include "gateway/effort.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "gateway/scrub_response.h"
#include "gateway/secret_test_support.h"
#include "gateway/spelling.h"
#include "gateway/vault.h"

namespace cloche::gateway {
namespace {

const std::string kSigns = "%25\\it's \"q\" AbCdEfGh1234&amp;%25\\";  // whatever may be read in several ways

egress::Secret secret_with(const std::string& value) {
  egress::Secret secret = a_secret(egress::SecretPlace::kHeader, "X-Key");
  secret.value = value;
  secret.placeholder = std::string(value.size(), '#');
  return secret;
}

std::string repeated(std::string_view unit, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += unit;
  return out;
}

std::string passed(ScrubStream& stream, std::string_view text, std::size_t piece) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) out += stream.feed(text.substr(at, piece));
  return out + stream.finish();
}

TEST(Effort, IsEarnedByBytesAndSavedUpToABound) {
  Effort effort;
  effort.spend(Effort::kAhead);
  EXPECT_FALSE(effort.is_over());
  effort.earn(2);
  effort.spend(2 * Effort::kPerByte);
  EXPECT_FALSE(effort.is_over());
  effort.earn(~std::size_t{0});
  effort.spend(Effort::kAhead);
  EXPECT_FALSE(effort.is_over());
  effort.spend(1);
  EXPECT_TRUE(effort.is_over());
  effort.earn(1000);
  EXPECT_TRUE(effort.is_over());
}

TEST(Effort, X9_WhatCanBeReadInTooManyWaysIsNotPassedOn) {
  const std::string quotes = "AbCdEfGh1234" + std::string(100, '"');
  const std::pair<std::string, std::string> kCases[] = {
      {kSigns, repeated("%25\\", 20'000)},
      {kSigns, repeated("%5c%2525", 10'000)},
      {quotes, quotes + std::string(1000, '"')},
  };
  for (const auto& [value, text] : kCases) {
    const SecretVault vault = vault_of({secret_with(value)});
    for (const std::size_t piece : {7u, 16'384u, 100'000u}) {
      ScrubStream stream(vault);
      const std::string out = passed(stream, text + value, piece);
      EXPECT_TRUE(stream.stopped()) << value << piece;
      EXPECT_LT(out.size(), 10'000u) << value << piece;
      EXPECT_EQ(out.find("AbCdEfGh"), std::string::npos) << value << piece;
      EXPECT_FALSE(stream.holds());
      EXPECT_EQ(stream.feed(value), "");
      EXPECT_EQ(stream.finish(), "");
    }
  }
}

// Each byte may be the end of a value that begins anywhere in the last sixty; none of them is one.
TEST(Effort, EndsThatAreLikeAValuesAreWithinIt) {
  const SecretVault vault = vault_of({secret_with("AbCdEfGh1234" + std::string(50, 'z'))});
  const std::string text(50'000, 'z');
  for (const std::size_t piece : {1'000u, 50'000u}) {
    ScrubStream stream(vault);
    EXPECT_EQ(passed(stream, text, piece), text);
  }
}

TEST(Effort, ALongValueIsFoundAgainAndAgainWithinIt) {
  std::mt19937 random(3);  // the same in every run
  std::string value;
  while (value.size() < kMaxSecret - 20) value += "abcdefghij\"\\/ %&+"[random() % 17];
  value += "0123456789Ab";
  const SecretVault vault = vault_of({secret_with(value)});
  ScrubStream stream(vault);
  const std::string out = passed(stream, repeated(value + "\n", 30), 16'384);
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(out, repeated(std::string(value.size(), '#') + "\n", 30));
}

TEST(Effort, X9_AHeadThatTakesTooMuchIsRefused) {
  const SecretVault vault = vault_of({secret_with(kSigns)});
  proto::HttpResponseHead head;
  head.headers.list = {{"X-Echo", repeated("%25\\", 5'000)}};
  const Status clean = scrub_head(vault, head);
  ASSERT_FALSE(clean);
  EXPECT_EQ(clean.error().message, ScrubStream::kStopped);
  head.headers.list = {{"X-Echo", "Bearer " + kSigns}};
  ASSERT_TRUE(scrub_head(vault, head));
}

TEST(Effort, X9_AnAnswerThatTakesTooMuchEndsItsExchangeAndSaysWhy) {
  egress::Settings settings;
  settings.secrets = {secret_with(kSigns)};
  auto vault = Vault::make(settings);
  ASSERT_TRUE(vault) << vault.error().text();
  Target target;
  target.name = host("api.example.org");
  target.port = 443;
  SecretWatcher watcher;
  watcher.begin(*vault, target);
  std::string body = repeated("%25\\", 20'000);
  const auto error = watcher.response_body(body, proto::HttpPart::kMore);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status, 502);
  EXPECT_EQ(error->text, ScrubStream::kStopped);
  watcher.begin(*vault, target);
  proto::HttpResponseHead head;
  head.headers.list = {{"X-Echo", repeated("%25\\", 5'000)}};
  ASSERT_TRUE(watcher.response_head(head));
}

TEST(Spellings, X9_OneThatFindsNoRoomIsNotForgotten) {
  Spellings ways;
  for (std::size_t i = 0; i < Spellings::kMost; ++i) ways.add(1, "x");
  EXPECT_FALSE(ways.is_over());
  ways.add(1, "x");
  EXPECT_TRUE(ways.is_over());
  Spellings too_long;
  too_long.add(kLongestLineEnd + 1, "");
  EXPECT_TRUE(too_long.is_over());
}

TEST(Spellings, OfNoTextThereIsHalfOfWhatFindsRoom) {
  constexpr std::string_view kParts[] = {
      "%",   "\\",   "&",       "%25",     "\\u",   "\\x",   "\\\\",      "&#x",  "&#", "%5C", "%5c",
      "%26", "%3B",  "&amp;",   "quot",    "{",     "}",     "41",        "0",    "a",  "A",   "\"",
      "'",   "\xc3", "\xa9",    "+",       ";",     "\n",    "\r",        "n",    "0A", "0D",  "e9",
      "d8",  "00",   "\\u000a", "\\u000d", "&#10;", "&#13;", "&NewLine;", "yuml", "\\3"};
  std::mt19937 random(11);  // the same in every run
  for (int round = 0; round < 300'000; ++round) {
    std::string text;
    for (std::size_t parts = 1 + random() % 10; parts > 0; --parts) text += kParts[random() % std::size(kParts)];
    const Spellings ways = spellings_at_end(text);
    ASSERT_LT(ways.end() - ways.begin(), std::ptrdiff_t{Spellings::kMost / 2}) << text;
    ASSERT_FALSE(ways.is_over()) << text;
  }
}

}  // namespace
}  // namespace cloche::gateway
