#include "proto/host_name.h"

#include <algorithm>

#include "base/units.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_name_char(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; }

// inet_aton() takes "127.1", "0x7f.1" and "017700000001", and browsers take whatever ends in a number for an address.
// All of these have a last label that is a number.
bool is_number(std::string_view label) {
  if (label.starts_with("0x")) return std::all_of(label.begin() + 2, label.end(), is_hex);
  return std::all_of(label.begin(), label.end(), is_digit);
}

std::unexpected<Error> refuse(std::string_view text, std::string_view why, std::string hint = {}) {
  return fail(ErrorCode::kInvalidInput, "name", shown_text(text) + " is not the name of a host: " + std::string(why),
              std::move(hint));
}

}  // namespace

bool HostName::is_below(const HostName& parent) const {
  return text_.size() > parent.text_.size() && text_.ends_with(parent.text_) &&
         text_[text_.size() - parent.text_.size() - 1] == '.';
}

Result<HostName> parse_host_name(std::string_view text) {
  std::string_view name = text;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return refuse(text, "it is empty");
  if (name.size() > kLongestName) return refuse(text, "it is longer than 253 bytes");
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), lower);

  if (out.find(':') != std::string::npos || out.find('[') != std::string::npos) {
    return refuse(text, "it is written like an IPv6 address or has a port");
  }
  std::string_view label;
  for (std::string_view left = out;;) {
    const std::size_t dot = left.find('.');
    label = left.substr(0, dot);
    if (label.empty()) return refuse(text, "there is nothing between two dots, or before the first");
    if (label.size() > kLongestLabel) return refuse(text, "a part between dots is longer than 63 bytes");
    for (const char c : label) {
      if (static_cast<unsigned char>(c) >= 0x80) {
        return refuse(text, "it has letters outside of ASCII", "write the name in its ASCII form, \"xn--…\"");
      }
      if (!is_name_char(c)) return refuse(text, "only letters, digits, '-', '_' and dots may be in it");
    }
    if (dot == std::string_view::npos) break;
    left.remove_prefix(dot + 1);
  }
  if (is_number(label)) return refuse(text, "programs read it as an address, since it ends in a number");
  return HostName(std::move(out));
}

}  // namespace cloche::proto
