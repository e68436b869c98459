// Two searches for spelled texts, a slow one that is plainly right and the one that is used, and texts to compare them
// on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "gateway/secret_matcher.h"
#include "gateway/spelled_search.h"

namespace cloche::gateway {

// Ways to end a line of base64: as it is, in JSON, in JSON in JSON, in a URL, in markup; and with an empty line.
inline constexpr std::string_view kLineEnds[] = {"\n",
                                                 "\r\n",
                                                 "\\n",
                                                 "\\r\\n",
                                                 "\\\\n",
                                                 "\\\\r\\\\n",
                                                 "\\u000a",
                                                 "\\u000A",
                                                 "\\u000d\\u000a",
                                                 "%0A",
                                                 "%0a",
                                                 "%0D%0A",
                                                 "%0d%0a",
                                                 "&#10;",
                                                 "&#xA;",
                                                 "&#xa;",
                                                 "&#13;\n",
                                                 "&#xD;\n",
                                                 "&#xd;\n",
                                                 "&#13;&#10;",
                                                 "\n\n",
                                                 "\r\n\r\n",
                                                 "\\n\\n",
                                                 "%0A%0A",
                                                 "%0D%0A%0D%0A",
                                                 "&#10;&#10;",
                                                 "&#xD;&#xA;",
                                                 "&#13;\n&#13;\n",
                                                 "&NewLine;",
                                                 "&NewLine;&NewLine;",
                                                 "\\u000a\\u000a",
                                                 "\\u000d\\u000a\\u000d\\u000a",
                                                 "\\\\r\\\\n\\\\r\\\\n",
                                                 "&#13;&#10;&#13;&#10;"};

// Where texts end, and which.
using Ends = std::vector<std::pair<std::size_t, std::uint32_t>>;

// The law that SpelledSearch is measured by: every byte, every reading, nothing passed over and nothing forgotten.
inline Ends slow_search(const SecretMatcher& matcher, std::string_view text) {
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

inline constexpr QuietText::Key kKey = {0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1};

// All that is looked for, for both searches. Of texts that end at the same place the slow one tells the longest.
class Searched {
 public:
  explicit Searched(const std::vector<std::string>& values)
      : texts(forms_of_all(values), kKey), forms_(forms_of_all(values)), matcher_(needles_of(forms_)) {}

  Ends slowly(std::string_view text) const { return slow_search(matcher_, text); }

  // As a stream has it: pieces, and of what came before no more than is kept. `cuts`: where a piece ends.
  Ends in_pieces(std::string_view text, std::vector<std::size_t> cuts) const {
    cuts.push_back(text.size());
    SpelledSearch stream(texts);
    Ends out;
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
      const std::size_t gone = begin - std::min(begin, texts.to_keep(text.substr(0, begin)));
      const std::string raw(text.substr(gone, cut - gone));
      for (std::size_t at = begin - gone; at < raw.size();) {
        at = stream.step(raw, at);
        for (const std::uint32_t tag : stream.found()) out.emplace_back(gone + at, tag);
      }
      begin = cut;
    }
    return out;
  }
  Ends in_pieces_of(std::size_t piece, std::string_view text) const {
    std::vector<std::size_t> cuts;
    for (std::size_t at = piece; at < text.size(); at += piece) cuts.push_back(at);
    return in_pieces(text, std::move(cuts));
  }

  // Whether both found the same; the quick one may tell shorter texts as well.
  static bool is_same(Ends wanted, Ends got) {
    std::ranges::sort(wanted);
    std::ranges::sort(got);
    const auto is_wanted = [&](const auto& one) {
      return std::ranges::find(wanted, one.first, &Ends::value_type::first) != wanted.end();
    };
    return std::ranges::includes(got, wanted) && std::ranges::all_of(got, is_wanted);
  }

  const SpelledTexts texts;

 private:
  static std::vector<SecretForm> forms_of_all(const std::vector<std::string>& values) {
    std::vector<SecretForm> forms;
    for (const std::string& value : values) {
      std::ranges::move(plain_forms_of(value, std::string(value.size(), '#')), std::back_inserter(forms));
    }
    return forms;
  }
  static std::vector<SecretMatcher::Needle> needles_of(const std::vector<SecretForm>& forms) {
    std::vector<SecretMatcher::Needle> out;
    for (const SecretForm& form : forms) out.push_back({form.bytes.view(), static_cast<std::uint32_t>(out.size())});
    return out;
  }

  std::vector<SecretForm> forms_;
  SecretMatcher matcher_;
};

// Texts in which much is like what is looked for.
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
    const std::string_view end = kLineEnds[below(std::size(kLineEnds))];
    const std::size_t width = 1 + below(76);
    std::string out;
    for (std::size_t at = 0; at < digits.size(); at += width) out.append(digits, at, width).append(end);
    return out;
  }

  const std::vector<std::string>& values_;
  std::mt19937 random_;
};

}  // namespace cloche::gateway
