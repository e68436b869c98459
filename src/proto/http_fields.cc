#include "proto/http_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/units.h"
#include "proto/http_chars.h"

namespace cloche::proto {
namespace {

// Gateways to CGI and WSGI programs turn "-" and "_" into the same, so such a name is the real one to them.
bool looks_like(std::string_view name, std::string_view wanted) {
  return std::ranges::equal(name, wanted, [](char a, char b) { return to_lower(a == '_' ? '-' : a) == to_lower(b); });
}

// Below 2^63: beyond it readers with signed numbers see something else.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t value = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace

HttpLines::Step HttpLines::next(std::string_view buffer, std::string_view& line) {
  // The verdict depends on places in the head alone, not on how much of it is there yet.
  const bool first = start_ == 0;
  const std::size_t bound = first ? kMaxHttpStartLine + 2 : kMaxHttpHead;
  const std::string_view seen = buffer.substr(0, bound);
  const std::size_t feed = seen.find('\n', scanned_);
  if (feed == std::string_view::npos) {
    scanned_ = seen.size();
    if (seen.size() < bound) return Step::kMore;
    return first ? Step::kStartLineTooLong : Step::kHeadTooLong;
  }
  scanned_ = feed;
  if (feed == start_ || buffer[feed - 1] != '\r') return Step::kNotCrlf;
  line = buffer.substr(start_, feed - 1 - start_);
  if (line.contains('\r')) return Step::kNotCrlf;
  start_ = scanned_ = feed + 1;
  return Step::kLine;
}

std::optional<HttpError> add_field(HttpFields& fields, std::string_view line, HttpNaming naming) {
  if (is_blank(line[0])) return HttpError{400, "a header goes on in the next line, which is not allowed any more"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return HttpError{400, "a header has no colon"};
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) {
    return HttpError{400, naming == HttpNaming::kNamed ? fmt::format("{} is no name of a header", shown_text(name))
                                                       : "a header has no proper name"};
  }
  const std::string which = naming == HttpNaming::kNamed ? fmt::format("the header {}", shown_text(name)) : "a header";
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (!std::ranges::all_of(value, is_value_char)) {
    return HttpError{400, fmt::format("{} holds a control character", which)};
  }
  for (auto [known, list] : {std::pair{"Content-Length", &fields.lengths}, {"Transfer-Encoding", &fields.codings}}) {
    if (same_name(name, known)) {
      list->emplace_back(value);
      return std::nullopt;
    }
    if (looks_like(name, known)) {
      return HttpError{400, fmt::format("{} can be taken for {}", which, known)};
    }
  }
  if (fields.headers.list.size() >= kMaxHttpHeaders) {
    return HttpError{431, fmt::format("there are more than {} headers", kMaxHttpHeaders)};
  }
  fields.headers.add(name, std::string(value));
  return std::nullopt;
}

HttpDeclaredBody declared_body(const HttpFields& fields, int version_minor) {
  const auto bad = [](int status, const char* text) { return HttpDeclaredBody{HttpError{status, text}, {}, false}; };
  if (fields.lengths.size() > 1) return bad(400, "there is more than one Content-Length");
  if (!fields.codings.empty()) {
    if (!fields.lengths.empty()) return bad(400, "there are Content-Length and Transfer-Encoding at once");
    if (version_minor == 0) return bad(400, "HTTP/1.0 has no Transfer-Encoding");
    if (fields.codings.size() > 1) return bad(400, "there is more than one Transfer-Encoding");
    if (fields.codings[0] != "chunked") return bad(501, "Transfer-Encoding is something else than \"chunked\"");
    return {std::nullopt, std::nullopt, true};
  }
  if (fields.lengths.empty()) return {};
  const std::string& text = fields.lengths[0];
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return bad(400, "Content-Length is no number");
  const auto length = parse_length(text);
  if (!length) return bad(413, "Content-Length is too large");
  return {std::nullopt, length, false};
}

HttpVersionText parse_version(std::string_view text, int& minor) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' || !is_digit(text[7])) {
    return HttpVersionText::kMalformed;
  }
  minor = text[7] - '0';
  return text[5] == '1' && minor <= 1 ? HttpVersionText::kKnown : HttpVersionText::kOther;
}

bool lasts(const HttpHeaders& headers, int version_minor) {
  if (headers.has_element("Connection", "close")) return false;
  return version_minor == 1 || headers.has_element("Connection", "keep-alive");
}

std::string upgrade_of(const HttpHeaders& headers) {
  std::string joined;
  if (!headers.has_element("Connection", "upgrade")) return joined;
  for (const std::string_view protocol : headers.elements("Upgrade")) {
    if (!joined.empty()) joined += ", ";
    joined += protocol;
  }
  return joined;
}

}  // namespace cloche::proto
