#include "gateway/quiet_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "base/base64.h"
#include "gateway/spelled_search.h"

namespace cloche::gateway {
namespace {

// Where texts end, and which.
using Ends = std::vector<std::pair<std::size_t, std::uint32_t>>;

// The law that SpelledSearch is measured by: every byte, every reading, nothing passed over and nothing forgotten.
Ends slow_search(const SpelledTexts& texts, std::string_view text) {
  const SecretMatcher& matcher = texts.matcher();
  std::vector<std::vector<SecretMatcher::State>> after(1);  // an empty one is the start, which is in all others
  Ends out;
  for (std::size_t end = 1; end <= text.size(); ++end) {
    auto& here = after.emplace_back();
    const auto follow = [&](std::size_t length, std::string_view meant) {
      auto from = after[end - length];
      if (from.empty()) from = {SecretMatcher::kStart};
      for (SecretMatcher::State state : from) {
        for (const char c : meant) state = matcher.next(state, c);
        if (state != SecretMatcher::kStart && std::ranges::find(here, state) == here.end()) here.push_back(state);
      }
    };
    follow(1, text.substr(end - 1, 1));
    for (const Spelling& one : spellings_at_end(text.substr(0, end))) follow(one.length, one.meant());
    Ends found;
    for (const SecretMatcher::State state : here) {
      if (const auto one = matcher.found(state); one.length != 0) found.emplace_back(end, one.tag);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

// As a stream has it: pieces, and of what came before no more than is needed.
Ends search(const SpelledTexts& texts, std::string_view text, std::size_t piece) {
  constexpr std::size_t kContext = kLineDigits + 2;
  SpelledSearch stream(texts);
  Ends out;
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    const std::size_t gone = begin - std::min(begin, kContext);
    const std::string raw(text.substr(gone, begin + piece - gone));
    for (std::size_t at = begin - gone; at < raw.size();) {
      at = stream.step(raw, at);
      std::vector<std::uint32_t> found = stream.found();
      std::ranges::sort(found);
      for (const std::uint32_t tag : found) out.emplace_back(gone + at, tag);
    }
  }
  return out;
}

SpelledTexts texts_of(const std::vector<std::string>& values) {
  std::vector<SecretForm> forms;
  for (const std::string& value : values) {
    std::ranges::move(plain_forms_of(value, std::string(value.size(), '#')), std::back_inserter(forms));
  }
  return SpelledTexts(std::move(forms));
}

// Values of which each takes another way: nothing but letters, which leaves most signs to themselves; quotes, blanks
// and letters beyond ASCII, which do not; ones that begin alike, go on in one another or in themselves; one too short
// for windows.
const std::vector<std::vector<std::string>> kValues = {
    {"sk-Real_Value_0123456789"},
    {"it's \"q\" \\b/<&>+%41;=\xc3\xa9\xf0\x9f\x98\x80zz12AbCd"},
    {"aaaabaaaabaaaab", "aabaaaabaaaabaa", "aaaaaaaaaaaaaaaaaaaaaaab"},
    {"41414141%41%41%41414141", "nnnnnnnnnnnnnnnnn\\n"},
    {"with a blank or two in it", "''''''''''''''''\"\"\"\""},
    {"n0w\xe9\xe8 Latin-1 in full"},
    {"\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8"},
    {"too-short"},
};

class Maker {
 public:
  Maker(const std::vector<std::string>& values, unsigned seed) : values_(values), random_(seed) {}

  // Pieces of values, whole ones, both in spellings, and what lies between them in other texts.
  std::string text(std::size_t size) {
    std::string out;
    while (out.size() < size) out += piece();
    return out;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  std::string piece() {
    const std::string& value = values_[below(values_.size())];
    switch (below(9)) {
      case 0:
        return spelled(value);
      case 1:
        return spelled(value.substr(0, below(value.size()))) + spelled(value.substr(below(value.size())));
      case 2:
        return lines(to_base64(std::string(below(40), 'x') + value + "and more of it"));
      case 3:
        return std::string(below(70), "x%\\&;}n3'\"+\r\n"[below(13)]);
      case 4:
        return signs();
      case 5: {
        std::string out;
        for (std::size_t i = below(60); i > 0; --i) out += static_cast<char>(random_());
        return out;
      }
      case 6:
        return value;
      case 7:
        return in_other_characters(value);
      default:
        return std::string("the quick brown fox jumps over a lazy dog, and so on, 99").substr(below(50));
    }
  }

  std::string signs() {
    constexpr std::string_view kParts[] = {
        "%",     "\\",      "&",     "%25",     "\\u", "\\x",    "\\u00", "&#x",  "&#",   "%5C",     "%26",   "%3B",
        "&amp;", "\\u0026", "quot;", "\\U0000", "{",   "}",      "41",    "0",    "a",    "\"",      "'",     "\xc3",
        "\xa9",  "+",       ";",     "\r",      "\n",  "\\r\\n", "\\n",   "d83d", "de00", "\\ude00", "&sol;", "u"};
    std::string out;
    for (std::size_t i = below(20); i > 0; --i) out += kParts[below(std::size(kParts))];
    return out;
  }

  std::string spelled(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789aBcDeF";
    std::string out;
    const std::size_t how_often = below(4);
    for (const char c : text) {
      const auto code = static_cast<unsigned char>(c);
      const std::string hex = {kDigits[code >> 4], kDigits[code & 15]};
      const std::string all[] = {"%" + hex,
                                 "%25" + hex,
                                 "\\x" + hex,
                                 "\\u00" + hex,
                                 "\\\\u00" + hex,
                                 "%5Cu00" + hex,
                                 "\\U000000" + hex,
                                 "\\u{" + hex + "}",
                                 "&#x" + hex + ";",
                                 "&#" + std::to_string(code) + ";",
                                 std::string("\\") + c,
                                 std::string(2, c),
                                 c == ' ' ? "+" : std::string(1, c)};
      out += below(4) < how_often ? all[below(std::size(all))] : std::string(1, c);
    }
    return out;
  }

  // UTF-8 in Latin-1, and Latin-1 in UTF-8.
  static std::string in_other_characters(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto code = static_cast<unsigned char>(text[i]);
      if ((code == 0xc2 || code == 0xc3) && i + 1 < text.size()) {
        out += static_cast<char>(static_cast<unsigned char>(text[++i]) | (code & 1) << 6);
      } else if (code >= 0x80) {
        out.append({static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))});
      } else {
        out += text[i];
      }
    }
    return out;
  }

  std::string lines(const std::string& digits) {
    constexpr std::string_view kEnds[] = {"\n", "\r\n", "\\n", "\\r\\n"};
    const std::string_view end = kEnds[below(std::size(kEnds))];
    const std::size_t width = 1 + below(76);
    std::string out;
    for (std::size_t at = 0; at < digits.size(); at += width) out.append(digits, at, width).append(end);
    return out;
  }

  const std::vector<std::string>& values_;
  std::mt19937 random_;
};

TEST(QuietText, X9_PassingOverTextFindsWhatASlowSearchFindsHoweverItIsCut) {
  std::size_t found = 0;
  for (const auto& values : kValues) {
    const SpelledTexts texts = texts_of(values);
    for (unsigned seed = 0; seed < 60; ++seed) {
      const std::string text = Maker(values, seed).text(700);
      const Ends wanted = slow_search(texts, text);
      found += wanted.size();
      for (const std::size_t piece : {1u, 2u, 5u, 8u, 13u, 16u, 31u, 64u, 100u, 333u, 5000u}) {
        ASSERT_EQ(search(texts, text, piece), wanted) << values[0] << " seed " << seed << " piece " << piece;
      }
    }
  }
  EXPECT_GT(found, 1000u);
}

// Every place of a grid, every cut, and what stands before and behind.
TEST(QuietText, X9_AValueIsFoundAtEachPlaceOfPlainText) {
  for (const auto& values : kValues) {
    const SpelledTexts texts = texts_of(values);
    for (const std::string_view around : {"x", "%", "\n", "'", "\xc3", "ab\r\n", "sk", "a"}) {
      std::string filler;
      while (filler.size() < 64) filler += around;
      for (std::size_t before = 0; before < 40; ++before) {
        const std::string text = filler.substr(0, before) + values[0] + filler;
        const Ends wanted = slow_search(texts, text);
        ASSERT_TRUE(
            std::ranges::any_of(wanted, [&](const auto& one) { return one.first == before + values[0].size(); }))
            << around << before;
        for (std::size_t piece = 1; piece < text.size(); ++piece)
          ASSERT_EQ(search(texts, text, piece), wanted) << piece;
      }
    }
  }
}

TEST(QuietText, X9_NoByteIsTakenForItselfThatASpellingEndsIn) {
  const std::string_view kParts[] = {"%", "\\", "&", "x", "u", "U",   "4",  "1", "{",
                                     "}", ";",  "#", "n", "r", "amp", "25", "5C"};
  std::mt19937 random(7);  // the same in every run
  for (int round = 0; round < 200'000; ++round) {
    std::string text(random() % 14, 'z');
    for (std::size_t parts = 1 + random() % 10; parts > 0; --parts) text += kParts[random() % std::size(kParts)];
    const auto sign = text.find_last_of("%\\&", text.size() - 2);
    const std::size_t since = text.size() < 2 || sign == std::string::npos ? kLongestSpelling : text.size() - 1 - sign;
    const Spellings ways = spellings_at_end(text);
    ASSERT_TRUE(ways.begin() == ways.end() || may_end_spelling(text, since)) << text;
  }
}

TEST(QuietText, PlainTextIsPassed) {
  const std::string value = "sk-Real_Value_0123456789";
  const QuietText quiet({value});
  const std::string plain(1000, 'x');
  EXPECT_GT(quiet.pass(plain, 0), 980u);
  EXPECT_EQ(quiet.pass("short", 0), 0u);
  for (std::size_t before = 0; before < 100; ++before) {
    const std::string text = std::string(before, 'x') + value + plain;
    EXPECT_LE(quiet.pass(text, 0), before);
  }
  for (const char stop : {'%', '\\', '&', '\n'}) {
    const std::string text = std::string(100, 'x') + stop + plain;
    EXPECT_LE(quiet.pass(text, 0) + QuietText::kWindow, 100u);
  }
}

}  // namespace
}  // namespace cloche::gateway
