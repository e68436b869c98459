#include "gateway/secret_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/base64.h"
#include "base/wipe.h"

namespace cloche::gateway {
namespace {

constexpr std::string_view kUpper = "0123456789ABCDEF";
constexpr std::string_view kLower = "0123456789abcdef";

// Room for everything at once: a string that grows leaves copies behind.
// `plain` are the characters that stay, beside letters and digits.
std::string percent_form(std::string_view text, std::string_view digits, std::string_view plain) {
  std::string out;
  out.reserve(text.size() * 3);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          plain.find(c) != std::string_view::npos;
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

// \u002b for each of `escaped`.
std::string unicode_form(std::string_view text, std::string_view digits, std::string_view escaped) {
  std::string out;
  out.reserve(text.size() * 6);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (escaped.find(c) == std::string_view::npos) {
      out += c;
    } else {
      out.append("\\u00");
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

// As in HTML and XML; beside the five, those of `numbered` as &#43;.
std::string markup_form(std::string_view text, std::string_view numbered) {
  constexpr std::pair<char, std::string_view> kNamed[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string out;
  out.reserve(text.size() * 6);
  for (const char c : text) {
    const auto* named = std::ranges::find(kNamed, c, &std::pair<char, std::string_view>::first);
    if (named != std::end(kNamed)) {
      out += named->second;
    } else if (c == '\'' || numbered.find(c) != std::string_view::npos) {
      out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";";
    } else {
      out += c;
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

void add_plain(Forms& forms, std::string_view text, std::string_view other) {
  forms.add(std::string(text), std::string(other));
  for (std::size_t shift = 0; shift < 3; ++shift) {
    forms.add(base64_form(text, shift), base64_form(other, shift));
    forms.add(url_alphabet(base64_form(text, shift)), url_alphabet(base64_form(other, shift)));
    forms.add(base64_end(text, shift), base64_end(other, shift));
    forms.add(url_alphabet(base64_end(text, shift)), url_alphabet(base64_end(other, shift)));
  }
}

}  // namespace

std::vector<SecretForm> plain_forms_of(std::string_view text, std::string_view other) {
  Forms forms;
  add_plain(forms, text, other);
  return forms.take();
}

std::vector<SecretForm> forms_of(std::string_view text, std::string_view other) {
  Forms forms;
  add_plain(forms, text, other);
  for (const std::string_view escaped : {"\"\\", "\"\\/"}) {
    forms.add(json_form(text, escaped), json_form(other, escaped));
  }
  for (const std::string_view digits : {kUpper, kLower}) {
    // What RFC 3986 leaves, what Python's quote() and JavaScript's encodeURIComponent() and encodeURI() leave.
    for (const std::string_view plain : {"-._~", "-._~/", "-._~!*'()", "-._~!*'();/?:@&=+$,#"}) {
      forms.add(percent_form(text, digits, plain), percent_form(other, digits, plain));
    }
    // JSON by Go, by Rails, by .NET and Gson.
    for (const std::string_view escaped : {"<>&", "<>&'", "<>&'=", "<>&'\"+", "<>&'\"+="}) {
      forms.add(unicode_form(text, digits, escaped), unicode_form(other, digits, escaped));
    }
  }
  for (const std::string_view numbered : {"", "+=", "+=/"}) {
    forms.add(markup_form(text, numbered), markup_form(other, numbered));
  }
  return forms.take();
}

}  // namespace cloche::gateway
