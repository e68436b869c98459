// The quick search against the slow one, where a quick one is most likely to be wrong: what looks like spellings inside
// of values, values that go on in themselves, every way to cut a stream; and what either search tells by the time it
// takes.
#include <gtest/gtest.h>

#include "gateway/scrub_response.h"
#include "gateway/secret_test_support.h"
#include "gateway/spelled_test_support.h"

namespace cloche::gateway {
namespace {

// Of the least length that a policy allows, if not longer.
const std::vector<std::vector<std::string>> kHard = {
    {"aaaaaaaaaaaaaaaa"},
    {"abababababababab", "babababababababa", "aaaaaaaaaaaaaaab"},
    {"&amp;amp;AbCd1234x"},
    {"%25%41%41AbCd1234"},
    {"\\u0041\\x41Ab12Cd"},
    {"====AbCdEfGh1234", "=AbCdEfGh1234567"},
    {"++++AbCd++Gh1234", "a b c d+e+f 1234"},
    {"////AbCdEfGh1234", "////////////abcd"},
    {"\xff\xfe\xc3\xa9"
     "AbCdEfGh1234",
     "AbCdEfGh1234\xc3\xa9\xc3\xa9"},
    {"nnnnrrrrnrnrnnrr", "\\n\\r\\nAbCd123456"},
    {"\"\"\"\"AbCdEfGh1234\"\"", "''AbCd''EfGh1234"},
};

TEST(SpelledSearch, X9_HardValuesAreFoundWhereASlowSearchFindsThem) {
  std::size_t found = 0;
  for (const auto& values : kHard) {
    const Searched searched(values);
    for (unsigned seed = 1000; seed < 1060; ++seed) {
      const std::string text = Maker(values, seed).text(500);
      const Ends wanted = searched.slowly(text);
      found += wanted.size();
      for (const std::size_t piece : {1u, 3u, 7u, 8u, 9u, 16u, 17u, 40u, 5000u}) {
        const Ends got = searched.in_pieces_of(piece, text);
        ASSERT_TRUE(Searched::is_same(wanted, got)) << values[0] << " seed " << seed << " piece " << piece;
      }
    }
  }
  EXPECT_GT(found, 3000u);
}

// Two cuts, at any two places.
TEST(SpelledSearch, X9_NoTwoCutsHideAValue) {
  for (const auto& values : kHard) {
    const Searched searched(values);
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::string text = Maker(values, seed).text(60).substr(0, 60) + values[0] + "\nand on";
      const Ends wanted = searched.slowly(text);
      ASSERT_FALSE(wanted.empty()) << values[0];
      for (std::size_t first = 1; first < text.size(); ++first) {
        for (std::size_t second = first; second < text.size(); second += 1 + second % 3) {
          ASSERT_TRUE(Searched::is_same(wanted, searched.in_pieces(text, {first, second}))) << first << ' ' << second;
        }
      }
    }
  }
}

TEST(SpelledSearch, X9_Base64IsFoundBehindAnyNumberOfBytesInLinesOfAnyWidth) {
  for (const auto& values : kHard) {
    const Searched searched({values[0]});
    for (std::size_t before = 0; before < 6; ++before) {
      const std::string digits = to_base64(std::string(before, 'x') + values[0] + "and more of it");
      for (std::size_t width = 1; width <= 24; ++width) {
        std::string text;
        for (std::size_t at = 0; at < digits.size(); at += width) text += digits.substr(at, width) + "\r\n";
        const Ends wanted = searched.slowly(text);
        ASSERT_FALSE(wanted.empty()) << values[0] << before << ' ' << width;
        for (const std::size_t piece : {1u, 2u, 7u, 19u, 500u}) {
          ASSERT_TRUE(Searched::is_same(wanted, searched.in_pieces_of(piece, text))) << width << ' ' << piece;
        }
      }
    }
  }
}

SecretVault vault_with(const std::string& value) {
  egress::Secret secret = a_secret(egress::SecretPlace::kHeader, "X-Key");
  secret.value = value;
  secret.placeholder = std::string(value.size(), '#');
  return vault_of({secret});
}

// The placeholder of a value agrees with it in its signs, which another value may have letters before and behind of.
TEST(SpelledSearch, X9_WhatOneSecretOverwroteNoOtherOneBringsBack) {
  egress::Secret first = a_secret(egress::SecretPlace::kHeader, "X-Key");
  first.value = "abcdefgh-12345678";
  first.placeholder = "qrstuvwx#98765432";
  egress::Secret second = a_secret(egress::SecretPlace::kHeader, "X-Other");
  second.name = "OTHER";
  second.value = "efgh-12345678-ijkl";
  second.placeholder = "mnop-55555555-tuvw";
  for (const bool is_turned : {false, true}) {
    const SecretVault vault = is_turned ? vault_of({second, first}) : vault_of({first, second});
    ScrubStream stream(vault);
    std::string out = stream.feed("abcdefgh-12345678-ijkl");
    out += stream.finish();
    EXPECT_EQ(out, "qrstmnop#55555555-tuvw");
  }
}

// Each line by itself, as a server that flushes after each: nothing that is sent on may have the value in it.
TEST(SpelledSearch, X9_Base64IsHeldBackLineByLineHoweverShortTheLinesAre) {
  const std::string value = "sk-Real_Value_0123456789_abcdefgh";
  const SecretVault vault = vault_with(value);
  for (std::size_t before = 0; before < 30; ++before) {
    const std::string digits = to_base64(std::string(before, 'x') + value + " and more of it");
    for (std::size_t width = 4; width <= 80; ++width) {
      for (const std::string end : {"\n", "\r\n", "&#13;\n", "&#xD;\n", "%0A", "\\n", "\\u000a", "&#10;", "\n\n",
                                    "\r\n\r\n", "&#13;\n&#13;\n"}) {
        ScrubStream stream(vault);
        std::string out;
        for (std::size_t at = 0; at < digits.size(); at += width) out += stream.feed(digits.substr(at, width) + end);
        out += stream.finish();
        for (auto at = out.find(end); at != std::string::npos; at = out.find(end)) out.erase(at, end.size());
        ASSERT_EQ(out.size(), digits.size());
        const std::string text = from_base64(out).value_or("");
        // The first and the last digit belong to the neighbours as well.
        ASSERT_EQ(text.substr(before + 1, value.size() - 2), std::string(value.size() - 2, '#')) << width << end;
      }
    }
  }
}

TEST(SpelledSearch, X9_BehindOtherWordsALineOfTwelveDigitsWaits) {
  const std::string value = "sk-Real_Value_0123456789_abcdefgh";
  const SecretVault vault = vault_with(value);
  const std::string digits = to_base64(value);
  for (std::size_t width = 12; width <= 44; ++width) {
    ScrubStream stream(vault);
    std::string out = stream.feed("key: " + digits.substr(0, width) + "\n");
    if (width < digits.size()) {
      EXPECT_EQ(out, "") << width;
    }
    out += stream.feed(digits.substr(width) + "\n");
    out += stream.finish();
    EXPECT_EQ(out.find(digits.substr(0, 8)), std::string::npos) << out;
  }
}

// An event of a stream has a name in front, ends in an empty line and is to come at once. A line that is nothing but
// base64 is none, and waits.
TEST(SpelledSearch, X9_AnEmptyLineInBase64WaitsIfItGoesOn) {
  const std::string value = "sk-Real_Value_0123456789_abcdefgh";
  const SecretVault vault = vault_with(value);
  const std::string digits = to_base64(value);
  for (const std::string end : {"\n\n", "\r\n\r\n"}) {
    EXPECT_EQ(ScrubStream(vault).feed("data: " + digits.substr(0, 16) + end), "data: " + digits.substr(0, 16) + end);
    for (std::size_t cut = 0; cut < 20; ++cut) {
      const std::string text = digits.substr(0, 20) + end + digits.substr(20) + "\n";
      ScrubStream stream(vault);
      std::string out = stream.feed(text.substr(0, 20 + end.size() + cut));
      out += stream.feed(text.substr(20 + end.size() + cut));
      out += stream.finish();
      EXPECT_EQ(out.find(digits.substr(4, 8)), std::string::npos) << out;
    }
  }
}

TEST(ScrubStream, LinesThatEndInAnOrdinaryWordDoNotWait) {
  const SecretVault vault = vault_with("sk-Real_Value_0123456789_abcdefgh");
  for (const std::string line :
       {"all is well\n", "ok\n", "{\"a\": 1}\n", "event: message\n", "100%\r\n", "done.\n", "\n"}) {
    ScrubStream stream(vault);
    EXPECT_EQ(stream.feed(line), line);
  }
}

// A guest that makes a server repeat its guesses a million times can tell a step more or less by its watch. So the
// steps are the same for a right guess as for a wrong one, whatever is around it, unless it is right in eight
// characters at once, and not at the beginning, which many know.
TEST(SpelledSearch, X9_StepsDoNotTellHowMuchOfABeginningIsRight) {
  const std::string value = "Kq7vT2mXw9Lb4RzN8sYc";
  const std::string other = "Hj3rG5pUk6Je0PiM1uWf";  // digits where it has digits, and nothing else alike
  const Searched searched({value});
  const auto steps = [&](const std::string& unit) {
    std::string text;
    while (text.size() < 2000) text += unit;
    SpelledSearch stream(searched.texts);
    std::vector<std::size_t> ends;
    for (std::size_t at = 0; at < text.size();) ends.push_back(at = stream.step(text, at));
    return ends;
  };
  for (const std::string around : {"~~\n", "~~%", "~~\\n", "~~&", "~~%41", "\r\n", "~~\"", "~~~~~~~~~~~~~~~~~~~~\n"}) {
    for (std::size_t known = 0; known < 12; ++known) {
      const auto right = steps(value.substr(0, known + 1) + around);
      const auto wrong = steps(value.substr(0, known) + other[known] + around);
      EXPECT_EQ(right.size(), wrong.size()) << around << known;
      EXPECT_EQ(right, wrong) << around << known;
    }
    for (std::size_t known = 0; known < QuietText::kWindow - 1; ++known) {
      const std::size_t at = value.size() - known - 1;
      EXPECT_EQ(steps(value.substr(at) + around), steps(other[at] + value.substr(at + 1) + around)) << around << known;
    }
  }
}

}  // namespace
}  // namespace cloche::gateway
