#include "proto/http_target.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/base64.h"
#include "proto/http_chars.h"

namespace cloche::proto {
namespace {

constexpr std::string_view kScheme = "http://";

// Visible ASCII alone. Servers that read the request line as Latin-1 take 0x85 and 0xa0 for blanks, which would end
// the target in its middle.
bool is_target_char(char c) { return c > 0x20 && c < 0x7f && c != '#'; }

// Calls visit(name, value) with the raw parts of each parameter; they are parts of `target`.
template <typename Visit>
void for_each_parameter(std::string_view target, Visit visit) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, std::min(rest.find('&'), rest.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    visit(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
}

}  // namespace

std::optional<HttpTarget> parse_target(std::string_view method, std::string_view target) {
  if (target.empty() || !std::ranges::all_of(target, is_target_char)) return std::nullopt;
  if (method == "CONNECT") {
    auto authority = parse_authority(target);
    if (!authority || !authority->port) return std::nullopt;
    return HttpTarget{HttpTargetForm::kAuthority, std::move(authority), {}};
  }
  if (target == "*") {
    if (method != "OPTIONS") return std::nullopt;
    return HttpTarget{HttpTargetForm::kAsterisk, std::nullopt, {}};
  }
  if (target[0] == '/') return HttpTarget{HttpTargetForm::kOrigin, std::nullopt, target};
  if (!same_name(target.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  target.remove_prefix(kScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  auto authority = parse_authority(target.substr(0, end));
  if (!authority) return std::nullopt;
  return HttpTarget{HttpTargetForm::kAbsolute, std::move(authority), target.substr(end)};
}

std::string origin_target(std::string_view method, const HttpTarget& target) {
  if (target.form == HttpTargetForm::kAsterisk) return "*";
  if (target.path_and_query.empty()) return method == "OPTIONS" ? "*" : "/";
  if (target.path_and_query[0] == '?') return '/' + std::string(target.path_and_query);
  return std::string(target.path_and_query);
}

std::vector<std::string> query_values(std::string_view target, std::string_view name) {
  std::vector<std::string> values;
  for_each_parameter(target, [&](std::string_view raw_name, std::string_view raw_value) {
    if (percent_decoded(raw_name) == name) values.push_back(percent_decoded(raw_value));
  });
  return values;
}

std::size_t replace_query_value(std::string& target, std::string_view name, std::string_view from,
                                std::string_view to) {
  std::string out;
  std::size_t copied = 0;
  std::size_t count = 0;
  for_each_parameter(target, [&](std::string_view raw_name, std::string_view raw_value) {
    if (percent_decoded(raw_name) != name || percent_decoded(raw_value) != from) return;
    // A parameter without "=" has no value that could be replaced.
    if (raw_name.data() + raw_name.size() == raw_value.data()) return;
    const auto at = static_cast<std::size_t>(raw_value.data() - target.data());
    out.append(target, copied, at - copied);
    out += percent_encoded(to);
    copied = at + raw_value.size();
    ++count;
  });
  if (count == 0) return 0;
  out.append(target, copied);
  target = std::move(out);
  return count;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<BasicCredentials> parse_basic(std::string_view header_value) {
  constexpr std::string_view kBasic = "Basic ";
  if (!same_name(header_value.substr(0, kBasic.size()), kBasic)) return std::nullopt;
  header_value.remove_prefix(kBasic.size());
  const auto both = from_base64(trim_blanks(header_value));
  if (!both) return std::nullopt;
  const std::size_t colon = both->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return BasicCredentials{both->substr(0, colon), both->substr(colon + 1)};
}

std::string render_basic(const BasicCredentials& credentials) {
  return "Basic " + to_base64(credentials.user + ':' + credentials.password);
}

}  // namespace cloche::proto
