#include "gateway/spelled_search.h"

#include <algorithm>
#include <random>

#include "base/base64.h"
#include "gateway/scrub_response.h"
#include "gateway/secret_test_support.h"
#include "gateway/spelled_test_support.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;

// A value with everything that some library escapes: quotes, a blank, a backslash, markup, Latin-1 and beyond.
const std::string kAwkward = "it's \"q\" \\b/<&>+%41;=\xc3\xa9\xf0\x9f\x98\x80zz12AbCd";
const std::string kInstead = "uf'k \"j\" \\m/<&>+%73;=\xc3\xa9\xf0\x9f\x98\x80qq98XyZw";

SecretVault vault_with(std::string value, std::string placeholder) {
  egress::Secret secret = a_secret(SecretPlace::kHeader, "X-Key");
  secret.value = std::move(value);
  secret.placeholder = std::move(placeholder);
  return vault_of({secret});
}

std::string scrub(const SecretVault& vault, std::string_view text, std::size_t piece) {
  ScrubStream stream(vault);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) out += stream.feed(text.substr(at, piece));
  return out + stream.finish();
}

std::string number(unsigned code, int width, std::string_view digits = "0123456789abcdef") {
  std::string out;
  for (int i = width - 1; i >= 0; --i) out += digits[code >> (4 * i) & 15];
  return out;
}

// One character of a text, and where the next begins.
std::uint32_t take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint32_t code = size == 1 ? first : first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  text.remove_prefix(size);
  return code;
}

std::string utf16(std::uint32_t code) {
  if (code < 0x10000) return "\\u" + number(code, 4);
  code -= 0x10000;
  return "\\u" + number(0xd800 + (code >> 10), 4) + "\\u" + number(0xdc00 + (code & 0x3ff), 4);
}

std::string percent(std::string_view bytes, std::string_view digits) {
  std::string out;
  for (const char c : bytes) out += "%" + number(static_cast<unsigned char>(c), 2, digits);
  return out;
}

// Every way to write one character.
std::vector<std::string> ways(std::uint32_t code, std::string_view plain) {
  std::vector<std::string> out = {std::string(plain),
                                  utf16(code),
                                  "\\U" + number(code, 8),
                                  "\\u{" + number(code, 5) + "}",
                                  percent(plain, "0123456789ABCDEF"),
                                  percent(plain, "0123456789abcdef"),
                                  "&#" + std::to_string(code) + ";",
                                  "&#x" + number(code, 5) + ";"};
  if (code < 0x100) out.push_back("\\x" + number(code, 2));
  if (code < 0x100) out.push_back("%" + number(code, 2));
  if (code >= 0x80 && code < 0x100) out.push_back({static_cast<char>(static_cast<unsigned char>(code))});
  if (code == ' ') out.emplace_back("+");
  if (code == '\'') out.insert(out.end(), {"\\'", "''", "&apos;"});
  if (code == '"') out.insert(out.end(), {"\\\"", "\"\"", "&quot;"});
  if (code == '\\') out.insert(out.end(), {"\\\\", "&bsol;", "\\134"});
  if (code == '/') out.insert(out.end(), {"\\/", "&sol;", "\\\\/", "%252F"});
  if (code == 0xe9) out.insert(out.end(), {"&eacute;", "&amp;#233;"});
  if (code == '&') out.emplace_back("&amp;");
  if (code == '<') out.emplace_back("&lt;");
  if (code == '>') out.emplace_back("&gt;");
  return out;
}

std::string mixed(std::string_view text, std::mt19937& random) {
  std::string out;
  while (!text.empty()) {
    std::string_view rest = text;
    const std::uint32_t code = take(rest);
    const auto all = ways(code, text.substr(0, text.size() - rest.size()));
    out += all[random() % all.size()];
    text = rest;
  }
  return out;
}

TEST(SpelledSearch, X9_AValueIsFoundInAnyMixtureOfSpellingsWhereverItIsCut) {
  const SecretVault vault = vault_with(kAwkward, kInstead);
  std::mt19937 random(1);  // the same in every run
  for (int round = 0; round < 200; ++round) {
    const std::string echo = mixed(kAwkward, random);
    const std::string body = "{\"a\": \"" + echo + "\"}";
    const std::string out = scrub(vault, body, body.size());
    ASSERT_EQ(out.size(), body.size());
    // Whatever may differ from the placeholder does.
    EXPECT_EQ(out.substr(0, 7), "{\"a\": \"");
    EXPECT_EQ(out.substr(out.size() - 2), "\"}");
    EXPECT_EQ(scrub(vault, out, out.size()), out) << body;
    EXPECT_NE(out, body);
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 11u, 64u}) ASSERT_EQ(scrub(vault, body, piece), out) << body;
  }
}

TEST(SpelledSearch, X9_TheSpellingStaysAndTheTextIsThePlaceholders) {
  const SecretVault vault = vault_with("it's \"q\" 12AbCd99", "uf'k \"j\" 98XyZw77");
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"it's \"q\" 12AbCd99", "uf'k \"j\" 98XyZw77"},                            // as it is
      {"it's \\\"q\\\" 12AbCd99", "uf'k \\\"j\\\" 98XyZw77"},                    // json.dumps
      {"it&#x27;s &quot;q&quot; 12AbCd99", "uf&#x27;k &quot;j&quot; 98XyZw77"},  // html.escape
      {"it%27s+%22q%22+12AbCd99", "uf%27k+%22j%22+98XyZw77"},                    // quote_plus
      {"it%27s%20%22q%22%2012AbCd99", "uf%27k%20%22j%22%2098XyZw77"},            // quote
      {"\\u0069t's \"q\" \\x312%41bCd99", "\\u0075f'k \"j\" \\x398%58yZw77"},    // mixed
      {"it's \"q\" 1&#50;AbC&#x64;99", "uf'k \"j\" 9&#56;XyZ&#x77;77"},
  };
  for (const auto& [echo, wanted] : kCases) {
    const std::string out = scrub(vault, echo, 3);
    EXPECT_EQ(out.size(), echo.size());
    EXPECT_EQ(out, wanted);
  }
}

TEST(SpelledSearch, X9_WhatComesBeforeAValueCannotHideItsBeginning) {
  const SecretVault vault = vault_with("41abcdef0123456789", "77qrstuv9876543210");
  for (const std::string before :
       {"%", "%4", "\\", "\\x", "\\u", "\\u00", "&#x", "&", "&#", "\\u{", "'", "\xc3", "%%4"}) {
    for (std::size_t piece = 1; piece < 8; ++piece) {
      const std::string out = scrub(vault, before + "41abcdef0123456789;", piece);
      EXPECT_EQ(out.find("0123456789"), std::string::npos) << before;
    }
  }
}

// A URL in a URL, JSON in JSON, markup in JSON: a library that writes what another one wrote.
TEST(SpelledSearch, X9_AValueIsFoundThoughItWasWrittenTwice) {
  const SecretVault vault = vault_with("Ab+9d\"GH'1/2&QzzXk3\\w", "Qr+3x\"KL'7/5&MuuTc8\\e");
  const std::string_view kTwice[] = {
      R"(Ab%252B9d%2522GH%25271%252F2%2526QzzXk3%255Cw)",                          // the URL of a page behind a login
      R"(Ab%252b9d%2522GH%25271%252f2%2526QzzXk3%255cw)",                          // the same
      R"(Ab+9d\\\"GH'1/2&QzzXk3\\\\w)",                                            // JSON in JSON
      R"(Ab\\u002b9d\\u0022GH\\u00271\\/2\\u0026QzzXk3\\\\w)",                     // the same by others
      R"(Ab+9d&amp;quot;GH&amp;#x27;1/2&amp;amp;QzzXk3\w)",                        // markup in markup
      R"(Ab&amp;#43;9d&amp;#34;GH&amp;#39;1&amp;#47;2&amp;#38;QzzXk3&amp;#92;w)",  // the same by others
      R"(Ab+9d\&quot;GH&#x27;1/2&amp;QzzXk3\\w)",                                  // JSON in an attribute
      R"(Ab+9d\u0026quot;GH\u0026#39;1/2\u0026amp;QzzXk3\\w)",                     // markup in JSON
      R"(Ab%2B9d%5C%22GH%271%5C%2F2%5Cu0026QzzXk3%5C%5Cw)",                        // JSON in a URL
      R"(Ab%2B9d%26quot%3BGH%26%2339%3B1%2F2%26amp%3BQzzXk3%5Cw)",                 // markup in a URL
  };
  for (const std::string_view echo : kTwice) {
    for (const std::size_t piece : {1u, 5u, 100u}) {
      const std::string out = scrub(vault, "<" + std::string(echo) + ">", piece);
      ASSERT_EQ(out.size(), echo.size() + 2);
      EXPECT_EQ(out.find("Xk3"), std::string::npos) << out;
      EXPECT_EQ(out.substr(0, 3), "<Qr") << out;
    }
  }
}

TEST(SpelledSearch, X9_Base64IsFoundInTheSpellingsOfItsSigns) {
  const SecretVault vault = vault_with("\xff\xfe sk-Real?~?>~>~~~ 123456789", "\xff\xfe qq-Fake?~?>~>~~~ 987654321");
  const std::string plain = to_base64("\xff\xfe sk-Real?~?>~>~~~ 123456789");
  std::string echo;
  for (const char c : plain) echo += c == '/' ? "\\/" : c == '+' ? "\\u002b" : std::string(1, c);
  ASSERT_NE(echo, plain);
  for (const std::string& text : {plain, echo}) {
    const std::string out = scrub(vault, text, 5);
    EXPECT_EQ(out.size(), text.size());
    EXPECT_EQ(out.find(text.substr(8, 16)), std::string::npos) << out;
  }
}

// As mails and the usual commands write it: in lines of 60 to 76 digits.
TEST(SpelledSearch, X9_Base64IsFoundInLines) {
  const SecretVault vault = vault_with("sk-Real_Value_0123456789_abcdefgh", "qq-Fake_Other_9876543210_zyxwvuts");
  for (std::size_t before = 20; before < 60; ++before) {
    const std::string digits = to_base64(std::string(before, 'x') + "sk-Real_Value_0123456789_abcdefgh and more of it");
    for (const std::string_view end : kLineEnds) {
      std::string echo;
      for (std::size_t at = 0; at < digits.size(); at += 60) echo += digits.substr(at, 60) + std::string(end);
      for (const std::size_t piece : {1u, 61u, 1000u}) {
        std::string out = scrub(vault, echo, piece);
        ASSERT_EQ(out.size(), echo.size());
        for (std::size_t at = out.find(end); at != std::string::npos; at = out.find(end)) out.erase(at, end.size());
        const std::string text = from_base64(out).value_or("");
        ASSERT_EQ(text.size(), before + 48) << out;
        // The first and the last digit belong to the neighbours as well.
        EXPECT_EQ(text.substr(before + 1, 31), "q-Fake_Other_9876543210_zyxwvut") << end << piece;
      }
    }
  }
}

TEST(SpelledSearch, OtherTextPassesUnchanged) {
  const SecretVault vault = vault_with(kAwkward, kInstead);
  std::string text = "{\"it's \\\"q\\\" %5Cb\": \"&#x27;&amp;&quot;\", \"u\": \"\\ud83d\\ude00\"} \xc3\xa9 + %41 it's";
  for (int i = 0; i < 6; ++i) text += text;
  for (std::size_t piece = 1; piece < 40; ++piece) ASSERT_EQ(scrub(vault, text, piece), text);
}

TEST(SpelledSearch, WhatIsHeldIsBounded) {
  const SecretVault vault = vault_with(kAwkward, kInstead);
  for (const std::string unit : {"x", "%41", "\\", "&", "\\u0041", "\"", "\xc3\xa9", "&#x27;", "''"}) {
    ScrubStream stream(vault);
    std::size_t fed = 0, passed = 0;
    for (int i = 0; i < 3000; ++i) {
      fed += unit.size();
      passed += stream.feed(unit).size();
      ASSERT_LE(fed - passed, vault.values().longest()) << unit;
    }
    EXPECT_GT(passed, 0u) << unit;
  }
  // Plain text waits for no more than what may be plain.
  ScrubStream stream(vault);
  const std::string words(2000, 'a');
  EXPECT_LT(words.size() - stream.feed(words).size(), 150u);
}

TEST(Spelling, EndsAreToldApart) {
  const auto meant = [](std::string_view text) {
    std::vector<std::string> out;
    for (const Spelling& one : spellings_at_end(text))
      out.push_back(std::to_string(one.length) + std::string(one.meant()));
    std::ranges::sort(out);
    return out;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(meant("x%41"), List{"3A"});
  EXPECT_EQ(meant("\\u0041"), List{"6A"});
  EXPECT_EQ(meant("\\x41"), List{"4A"});
  EXPECT_EQ(meant("\\101"), List{"4A"});
  EXPECT_EQ(meant("&#65;"), List{"5A"});
  EXPECT_EQ(meant("&#x0041;"), List{"8A"});
  EXPECT_EQ(meant("&amp;"), List{"5&"});
  EXPECT_EQ(meant("&eacute;"), (List{"8\xc3\xa9", "8\xe9"}));
  EXPECT_EQ(meant("&yuml;").back(), "6\xff");
  EXPECT_EQ(meant("&euro;"), List{"6\xe2\x82\xac"});
  EXPECT_EQ(meant("\\x{20ac}"), List{"8\xe2\x82\xac"});
  EXPECT_EQ(meant("%2541"), List{"5A"});
  EXPECT_EQ(meant("\\\\u0041").back(), "7A");
  EXPECT_EQ(meant("+"), List{"1 "});
  EXPECT_EQ(meant("\\/"), List{"2/"});
  EXPECT_EQ(meant("\\ud83d\\ude00").back(), "6\xed\xb8\x80");
  EXPECT_EQ(meant("\\ud83d\\ude00").front(), "12\xf0\x9f\x98\x80");
  for (const std::string_view none : {"", "a", "%4", "%4g", "\\u004", "&#;", "&nothing;", "%-1", "\\x+1", "\\400"}) {
    EXPECT_EQ(meant(none), List{}) << none;
  }
}

TEST(Spelling, IsKeptForAnotherCharacter) {
  EXPECT_EQ(respelled("A", 'z'), "z");
  EXPECT_EQ(respelled("%41", 'z'), "%7A");
  EXPECT_EQ(respelled("%6b", 'z'), "%7a");
  EXPECT_EQ(respelled("\\u0041", 'z'), "\\u007A");
  EXPECT_EQ(respelled("\\u{41}", 'z'), "\\u{7A}");
  EXPECT_EQ(respelled("&#x0041;", 'z'), "&#x007A;");
  EXPECT_EQ(respelled("&#065;", 'z'), "&#122;");
  EXPECT_EQ(respelled("&#65;", 'z'), "xxxxx");
  EXPECT_EQ(respelled("\\101", 'z'), "\\172");
  EXPECT_EQ(respelled("\\/", 'z'), "xx");
  EXPECT_EQ(respelled("\\x{41}", 'z'), "\\x{7A}");
  EXPECT_EQ(respelled("%2541", 'z'), "%257A");
  EXPECT_EQ(respelled("\\\\\\\"", 'z'), "xxxx");
  EXPECT_EQ(respelled("%26quot%3B", 'z'), "xxxxxxxxxx");
}

}  // namespace
}  // namespace cloche::gateway
