#include "gateway/spelling.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace cloche::gateway {
namespace {

struct Named {
  std::string_view name;
  std::uint32_t code;
};

constexpr Named kNamed[] = {
    {"amp", '&'},    {"lt", '<'},      {"gt", '>'},       {"quot", '"'},   {"apos", '\''},  {"excl", '!'},
    {"num", '#'},    {"dollar", '$'},  {"percnt", '%'},   {"lpar", '('},   {"rpar", ')'},   {"ast", '*'},
    {"midast", '*'}, {"plus", '+'},    {"comma", ','},    {"period", '.'}, {"sol", '/'},    {"colon", ':'},
    {"semi", ';'},   {"equals", '='},  {"quest", '?'},    {"commat", '@'}, {"lsqb", '['},   {"lbrack", '['},
    {"bsol", '\\'},  {"rsqb", ']'},    {"rbrack", ']'},   {"Hat", '^'},    {"lowbar", '_'}, {"UnderBar", '_'},
    {"grave", '`'},  {"lcub", '{'},    {"lbrace", '{'},   {"rcub", '}'},   {"rbrace", '}'}, {"verbar", '|'},
    {"vert", '|'},   {"euro", 0x20ac}, {"NewLine", '\n'}, {"AMP", '&'},    {"LT", '<'},     {"GT", '>'},
    {"QUOT", '"'},
};

// Those of Latin-1 from 0xa0 on, in their order.
constexpr std::uint32_t kFirstLatin = 0xa0;
constexpr std::string_view kLatin[] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
    "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
    "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
    "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
    "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
    "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
    "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
    "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
    "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml",
};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_sign(char c) {
  return c >= 0x20 && c < 0x7f && !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

std::optional<std::uint32_t> number(std::string_view digits, int base) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

// The end of a text, if it is `begin` and so many digits.
std::optional<std::uint32_t> number_after(std::string_view begin, std::size_t digits, std::string_view text) {
  const std::size_t size = begin.size() + digits;
  if (text.size() < size) return std::nullopt;
  const std::string_view unit = text.substr(text.size() - size);
  return unit.starts_with(begin) ? number(unit.substr(begin.size()), 16) : std::nullopt;
}

void add_wide(Spellings& out, std::string_view text, std::string_view begin) {
  const auto code = number_after(begin, 4, text);
  if (!code) return;
  const std::size_t size = begin.size() + 4;
  out.add_code(size, *code);
  if (*code < 0xdc00 || *code > 0xdfff) return;
  const auto high = number_after(begin, 4, text.substr(0, text.size() - size));
  if (!high || *high < 0xd800 || *high > 0xdbff) return;
  out.add_code(2 * size, 0x10000 + ((*high - 0xd800) << 10) + (*code - 0xdc00));
}

// A sign that is spelled in the last bytes, with a backslash before it: JSON in a URL or in markup.
void add_signs(Spellings& out, std::string_view text, std::size_t length, std::uint32_t code) {
  if (code >= 0x7f || !is_sign(static_cast<char>(code)) || length >= text.size()) return;
  const std::string_view before = text.substr(0, text.size() - length);
  for (const std::string_view escape : {"\\", "%5C", "%5c"}) {
    if (before.ends_with(escape)) out.add_code(length + escape.size(), code);
  }
}

void add_numbers(Spellings& out, std::string_view text) {
  // The signs that begin a number may have been written once more by another library.
  for (const std::string_view begin : {"%", "%25", "\\x", "\\\\x", "%5Cx", "%5cx"}) {
    if (const auto code = number_after(begin, 2, text)) {
      out.add_code(begin.size() + 2, *code);
      add_signs(out, text, begin.size() + 2, *code);
    }
  }
  if (const auto code = number_after("\\U", 8, text)) out.add_code(10, *code);
  for (const std::string_view begin : {"\\u", "\\\\u", "%u", "%5Cu", "%5cu"}) add_wide(out, text, begin);
  constexpr std::size_t kOctal = 4;
  if (text.size() < kOctal) return;
  const std::string_view unit = text.substr(text.size() - kOctal);
  if (unit[0] != '\\' || !std::ranges::all_of(unit.substr(1), is_octal)) return;
  if (const auto code = number(unit.substr(1), 8); code && *code < 0x100) out.add_code(kOctal, *code);
}

// \u{1f600}, and \x{1f600} as Perl writes it
void add_braced(Spellings& out, std::string_view text) {
  for (const std::string_view begin : {"\\u{", "\\x{"}) {
    const std::size_t at = text.rfind(begin);
    if (at == std::string_view::npos) continue;
    const std::string_view unit = text.substr(at);
    if (const auto code = number(unit.substr(3, unit.size() - 4), 16)) out.add_code(unit.size(), *code);
  }
}

// What stands between the signs that begin and end a character in markup.
std::optional<std::uint32_t> code_of_markup(std::string_view inner) {
  if (inner.starts_with("#x") || inner.starts_with("#X")) return number(inner.substr(2), 16);
  if (inner.starts_with('#')) return number(inner.substr(1), 10);
  if (const auto* named = std::ranges::find(kNamed, inner, &Named::name); named != std::end(kNamed)) return named->code;
  const auto* latin = std::ranges::find(kLatin, inner);
  if (latin == std::end(kLatin)) return std::nullopt;
  return kFirstLatin + static_cast<std::uint32_t>(latin - std::begin(kLatin));
}

// These signs may have been written once more, as in markup in JSON.
void add_markup(Spellings& out, std::string_view text) {
  for (const std::string_view begin : {"&", "&amp;", "\\u0026"}) {
    const std::size_t at = text.rfind(begin);
    if (at == std::string_view::npos) continue;
    const std::string_view unit = text.substr(at);
    if (unit.size() <= begin.size()) continue;
    const auto code = code_of_markup(unit.substr(begin.size(), unit.size() - begin.size() - 1));
    if (!code) continue;
    out.add_code(unit.size(), *code);
    add_signs(out, text, unit.size(), *code);
  }
}

// Markup in a URL: %26quot%3B.
void add_markup_in_url(Spellings& out, std::string_view text) {
  constexpr std::string_view kBegin = "%26";
  constexpr std::string_view kNumber = "%23";
  const std::size_t at = text.rfind(kBegin);
  if (at == std::string_view::npos || text.size() < at + 2 * kBegin.size()) return;
  const std::string_view inner = text.substr(at + kBegin.size(), text.size() - at - 2 * kBegin.size());
  const bool is_number = inner.starts_with(kNumber);
  const auto code = code_of_markup(is_number ? "#" + std::string(inner.substr(kNumber.size())) : std::string(inner));
  if (code) out.add_code(text.size() - at, *code);
}

// As they are, as JSON writes them, also in JSON, in a URL and in markup.
constexpr std::string_view kLineEnds[] = {
    "\n",         "\r\n",    "&#13;\n", "&#xD;\n",        "&#xd;\n",        "\\n",        "\\r\\n",     "\\\\n",
    "\\\\r\\\\n", "\\u000a", "\\u000A", "\\u000d\\u000a", "\\u000D\\u000A", "%0A",        "%0a",        "%0D%0A",
    "%0d%0a",     "&#10;",   "&#xA;",   "&#xa;",          "&#13;&#10;",     "&#xD;&#xA;", "&#xd;&#xa;", "&NewLine;"};

// Ends of lines end like digits themselves.
bool ends_in_line(std::string_view text) {
  constexpr std::string_view kLikeDigits[] = {"\\n", "\\r",     "%0A",     "%0a",     "%0D",
                                              "%0d", "\\u000a", "\\u000A", "\\u000d", "\\u000D"};
  return ends_in_digits(text, 1) &&
         std::ranges::none_of(kLikeDigits, [&](std::string_view end) { return text.ends_with(end); });
}

// One, or with an empty line. Behind more of them it is not looked for: of many there would be as many readings.
void add_line_end(Spellings& out, std::string_view text) {
  for (const std::string_view end : kLineEnds) {
    if (!text.ends_with(end)) continue;
    const std::string_view before = text.substr(0, text.size() - end.size());
    if (ends_in_line(before)) out.add(end.size(), "");
    if (before.ends_with(end) && ends_in_line(before.substr(0, before.size() - end.size()))) {
      out.add(2 * end.size(), "");
    }
  }
}

// Where the digits of a spelling are, and their base; a base of 0: it has none.
struct Digits {
  std::size_t first = 0;
  std::size_t last = 0;
  int base = 0;
};

Digits digits_of(std::string_view unit) {
  const std::size_t size = unit.size();
  if (unit.starts_with("\\u{") || unit.starts_with("\\x{")) return {3, size - 1, 16};
  if (unit.starts_with("%u") || unit.starts_with("\\x") || unit.starts_with("\\U")) return {2, size, 16};
  if (unit.starts_with("\\u") && size == 6) return {2, size, 16};
  if (unit.starts_with('%') && size == 3) return {1, size, 16};
  if (unit.starts_with("%25") && size == 5) return {3, size, 16};
  if (size == 4 && unit[0] == '\\' && std::ranges::all_of(unit.substr(1), is_octal)) return {1, size, 8};
  if (unit.starts_with("&#x") || unit.starts_with("&#X")) return {3, size - 1, 16};
  if (unit.starts_with("&#")) return {2, size - 1, 10};
  return {};
}

}  // namespace

void Spellings::add(std::size_t length, std::string_view meant) {
  if (count_ == list_.size() || length > kLongestLineEnd || meant.size() > Spelling{}.bytes.size()) {
    is_over_ = true;
    return;
  }
  Spelling& one = list_[count_++];
  one.length = static_cast<std::uint8_t>(length);
  one.size = static_cast<std::uint8_t>(meant.size());
  std::ranges::copy(meant, one.bytes.begin());
}

void Spellings::add_code(std::size_t length, std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto more = [&](unsigned shift) { return byte(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x100) add(length, std::string_view(std::array{byte(code)}.data(), 1));
  if (code >= 0x80 && code < 0x800) {
    add(length, std::string_view(std::array{byte(0xc0 | code >> 6), more(0)}.data(), 2));
  } else if (code >= 0x800 && code < 0x10000) {
    add(length, std::string_view(std::array{byte(0xe0 | code >> 12), more(6), more(0)}.data(), 3));
  } else if (code >= 0x10000 && code < 0x110000) {
    add(length, std::string_view(std::array{byte(0xf0 | code >> 18), more(12), more(6), more(0)}.data(), 4));
  }
}

bool may_end_spelling(std::string_view text, std::size_t since) {
  if (since >= kLongestSpelling || since >= text.size()) return false;
  const char last = text.back();
  const char sign = text[text.size() - 1 - since];
  if (since == 1) return sign == '\\' && (last == 'n' || is_sign(last));
  if (last == ';') return sign == '&' || sign == '\\';
  if (last == '}') return sign == '\\';
  if (!is_hex(last)) return false;
  // %41, %2541, %u0041, %5Cx41, %5Cu0041; \x41, \101, \u0041, \U00000041
  if (sign == '%') return since == 2 || since == 4 || since == 5 || since == 7;
  return sign == '\\' && (since == 3 || since == 5 || since == 9);
}

bool ends_in_digits(std::string_view text, std::size_t count) {
  constexpr auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/' ||
           c == '-' || c == '_';
  };
  return text.size() >= count && std::ranges::all_of(text.substr(text.size() - count), is_digit);
}

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view first : {"\r", "&#13;", "&#xD;", "&#xd;"}) {
    if (text.ends_with(first)) return text.substr(0, text.size() - first.size());
  }
  return text;
}

Spellings spellings_at_end(std::string_view text) {
  Spellings out;
  if (text.empty()) return out;
  const std::string_view whole = text;
  if (text.size() > kLongestSpelling) text.remove_prefix(text.size() - kLongestSpelling);
  const char last = text.back();
  const char before = text.size() > 1 ? text[text.size() - 2] : '\0';
  if (last == '+') out.add(1, " ");
  // With a backslash, and what comes of that where it is written once more.
  for (std::size_t slashes = 1; slashes <= 3 && is_sign(last); ++slashes) {
    if (text.size() <= slashes || text[text.size() - 1 - slashes] != '\\') break;
    out.add(slashes + 1, std::string_view(&last, 1));
  }
  if (before == last && (last == '\'' || last == '"')) out.add(2, std::string_view(&last, 1));
  if (const auto code = static_cast<unsigned char>(last); code >= 0x80) {
    out.add_code(1, code);  // a byte of Latin-1, which a value of UTF-8 was turned into
    if (before == '\xc2' || before == '\xc3')
      out.add_code(2, (before == '\xc3' ? 0x40u : 0u) | code);  // and the reverse
  }
  if (is_hex(last)) add_numbers(out, text);
  if (std::string_view("\nnAa;").find(last) != std::string_view::npos) add_line_end(out, whole);
  if (last == '}') add_braced(out, text);
  if (last == ';') add_markup(out, text);
  if (text.ends_with("%3B") || text.ends_with("%3b")) add_markup_in_url(out, text);
  return out;
}

std::string respelled(std::string_view unit, char meant) {
  std::string out(unit);
  if (unit.size() == 1) return {meant};
  const Digits digits = digits_of(unit);
  const std::string_view before = unit.substr(digits.first, digits.last - digits.first);
  const bool is_small = std::ranges::any_of(before, [](char c) { return c >= 'a' && c <= 'f'; });
  auto left = static_cast<unsigned>(static_cast<unsigned char>(meant));
  for (std::size_t at = digits.last; digits.base != 0 && at > digits.first; --at) {
    constexpr std::string_view kSmall = "0123456789abcdef";
    constexpr std::string_view kLarge = "0123456789ABCDEF";
    out[at - 1] = (is_small ? kSmall : kLarge)[left % static_cast<unsigned>(digits.base)];
    left /= static_cast<unsigned>(digits.base);
  }
  return digits.base == 0 || left != 0 ? std::string(unit.size(), 'x') : out;
}

}  // namespace cloche::gateway
