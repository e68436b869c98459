#include "gateway/secret_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace cloche::gateway {
namespace {

SecretMatcher matcher_of(const std::vector<std::string>& texts) {
  std::vector<SecretMatcher::Needle> needles;
  for (const std::string& text : texts) needles.push_back({text, static_cast<std::uint32_t>(needles.size())});
  return SecretMatcher(needles);
}

// As a scan does it, piece by piece: where the first needle ends, or npos.
std::size_t first_end(const SecretMatcher& matcher, std::string_view text, std::size_t piece) {
  SecretMatcher::State state = SecretMatcher::kStart;
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    const std::string_view bytes = text.substr(begin, piece);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      if (state == SecretMatcher::kStart) at += matcher.skip(bytes.substr(at));
      if (at == bytes.size()) break;
      state = matcher.next(state, bytes[at]);
      if (matcher.found(state).length != 0) return begin + at + 1;
    }
  }
  return std::string::npos;
}

std::size_t plain_end(const std::vector<std::string>& texts, std::string_view text) {
  std::size_t out = std::string::npos;
  for (const std::string& one : texts) {
    if (const auto at = text.find(one); at != std::string::npos) out = std::min(out, at + one.size());
  }
  return out;
}

std::string letters_of(std::string_view text, std::size_t size, std::mt19937& random) {
  std::string out;
  while (out.size() < size) out += text[random() % text.size()];
  return out;
}

// The last ones have a needle that is too short for windows.
const std::vector<std::vector<std::string>> kNeedles = {
    {"sk-Fake_Other_9876543210"}, {"aaaabaaaab", "aabaaaabaaaa", "bbbbbbb"}, {"abcdefg"}, {"abcdefgh", "cde"}, {"x"},
};

TEST(SecretMatcher, X9_NoNeedleIsSkippedWhereverItBeginsAndHoweverItIsCut) {
  std::mt19937 random(5);  // the same in every run
  for (const auto& texts : kNeedles) {
    const SecretMatcher matcher = matcher_of(texts);
    for (std::size_t before = 0; before < 40; ++before) {
      const std::string& needle = texts[before % texts.size()];
      const std::string text = letters_of(needle + "~", before, random) + needle + letters_of(needle, 20, random);
      for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        ASSERT_EQ(first_end(matcher, text, piece), plain_end(texts, text)) << text << ' ' << piece;
      }
      EXPECT_NE(matcher.first_in(text).length, 0u) << text;
    }
  }
}

TEST(SecretMatcher, LettersOfNeedlesAreSkippedLikeOthers) {
  const std::string needle = kNeedles[0][0];
  std::vector<std::string> needles;  // that begin with each of its letters
  for (std::size_t at = 0; at < needle.size(); ++at) needles.push_back(needle.substr(at) + needle.substr(0, at));
  const SecretMatcher matcher = matcher_of(needles);
  std::mt19937 random(7);  // the same in every run
  const std::string text = letters_of(needle, 100'000, random);
  std::size_t skipped = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t count = matcher.skip(std::string_view(text).substr(at));
    skipped += count;
    at += count;
  }
  EXPECT_GT(skipped, text.size() * 8 / 10);
}

}  // namespace
}  // namespace cloche::gateway
