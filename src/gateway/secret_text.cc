#include "gateway/secret_text.h"

#include <algorithm>
#include <cstddef>

#include "base/base64.h"

namespace cloche::gateway {
namespace {

constexpr std::string_view kUpper = "0123456789ABCDEF";
constexpr std::string_view kLower = "0123456789abcdef";

// Room for everything at once: a string that grows leaves copies behind.
std::string percent_form(std::string_view text, std::string_view digits) {
  std::string out;
  out.reserve(text.size() * 3);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

std::string json_form(std::string_view text, std::string_view escaped) {
  std::string out;
  out.reserve(text.size() * 2);
  for (const char c : text) {
    if (escaped.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// The digits that depend on nothing but `text`, when `shift` bytes stand before it.
std::string base64_form(std::string_view text, std::size_t shift) {
  std::string padded;
  padded.reserve(shift + text.size());
  padded.append(shift, '\0').append(text);
  std::string digits = to_base64(padded);
  wipe(padded);
  const std::size_t first = (shift * 8 + 5) / 6;
  const std::size_t last = (shift + text.size()) * 8 / 6;
  std::string out(digits, first, last - first);
  wipe(digits);
  return out;
}

// The end of "user:text", when `shift` bytes stand before the colon: all digits that the user does not touch.
std::string base64_end(std::string_view text, std::size_t shift) {
  std::string padded;
  padded.reserve(shift + 1 + text.size());
  padded.append(shift, '\0').append(":").append(text);
  std::string digits = to_base64(padded);
  wipe(padded);
  std::string out(digits, (shift * 8 + 5) / 6);
  wipe(digits);
  return out;
}

std::string url_alphabet(std::string digits) {
  std::ranges::replace(digits, '+', '-');
  std::ranges::replace(digits, '/', '_');
  return digits;
}

class Forms {
 public:
  void add(std::string form, std::string instead) {
    const bool is_known = std::ranges::any_of(list_, [&](const SecretForm& one) { return one.bytes.view() == form; });
    // The other text may need more escapes, or fewer; then anything of the right length will do.
    if (instead.size() != form.size()) instead.assign(form.size(), 'x');
    if (!is_known && !form.empty()) list_.push_back({SecretText(std::move(form)), std::move(instead)});
    wipe(form);
  }
  std::vector<SecretForm> take() { return std::move(list_); }

 private:
  std::vector<SecretForm> list_;
};

}  // namespace

std::vector<SecretForm> forms_of(std::string_view text, std::string_view other, Base64Forms base64) {
  Forms forms;
  forms.add(std::string(text), std::string(other));
  for (const std::string_view escaped : {"\"\\", "\"\\/"}) {
    forms.add(json_form(text, escaped), json_form(other, escaped));
  }
  for (const std::string_view digits : {kUpper, kLower}) {
    forms.add(percent_form(text, digits), percent_form(other, digits));
  }
  if (base64 == Base64Forms::kNone) return forms.take();
  for (std::size_t shift = 0; shift < 3; ++shift) {
    forms.add(base64_form(text, shift), base64_form(other, shift));
    forms.add(url_alphabet(base64_form(text, shift)), url_alphabet(base64_form(other, shift)));
    forms.add(base64_end(text, shift), base64_end(other, shift));
    forms.add(url_alphabet(base64_end(text, shift)), url_alphabet(base64_end(other, shift)));
  }
  return forms.take();
}

}  // namespace cloche::gateway
