#include "proto/rpc_rule.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "base/utf8.h"
#include "proto/json_print.h"
#include "proto/rpc_glob.h"

namespace cloche::proto {
namespace {

constexpr std::string_view kStep = "sockets.rules";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The ASCII letter that readers without regard to case take a character for; others stay apart from every letter.
char folded(char32_t code) {
  switch (code) {
    case 0x017f:
      return 's';
    case 0x212a:
      return 'k';
    case 0x0130:
    case 0x0131:
      return 'i';
    default:
      return code < 0x80 ? lower(static_cast<char>(code)) : '\0';
  }
}

std::string folded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += folded(c.length == 0 ? 0xfffd : c.code);
    text.remove_prefix(std::max<std::size_t>(c.length, 1));
  }
  return out;
}

bool is_token(std::string_view name) {
  static constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || kOthers.find(c) != kOthers.npos;
  });
}

}  // namespace

Status check_rule(const RpcRule& rule) {
  for (const std::string& pattern : rule.methods) CLOCHE_TRY(check_method_pattern(pattern));
  for (const auto& [key, text] : rule.context) {
    if (key.empty() || key.find('\0') != key.npos || !valid_utf8(key) || !valid_utf8(text)) {
      return fail(ErrorCode::kInvalidInput, std::string(kStep),
                  fmt::format("context {} is not a name and a text of UTF-8", shown_text(key)));
    }
  }
  if (const std::size_t size = context_json(rule).size(); size > kMaxContext) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep),
                fmt::format("the context has {} bytes, over the {} that every call can carry", size, kMaxContext),
                "give the service a key to look the rest up by");
  }
  if (!is_token(rule.context_field) || !is_token(rule.context_header)) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), "the context's field or header is no name",
                "write 1 to 64 ASCII letters, digits, hyphens or underscores");
  }
  if (rule.max_message == 0 || rule.max_answer == 0 || rule.max_batch == 0) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), "a bound of zero lets nothing pass");
  }
  return {};
}

bool allows_method(const RpcRule& rule, std::string_view method) {
  return is_method_name(method) && std::any_of(rule.methods.begin(), rule.methods.end(),
                                               [&](const auto& pattern) { return method_matches(pattern, method); });
}

std::string context_json(const RpcRule& rule) {
  std::string out = "{";
  for (const auto& [key, text] : rule.context) {
    if (out.size() > 1) out += ',';
    print_json_string(key, out);
    out += ':';
    print_json_string(text, out);
  }
  return out + "}";
}

bool names_context_field(const RpcRule& rule, std::string_view key) {
  return folded(key) == folded(rule.context_field);
}

bool names_context_header(const RpcRule& rule, std::string_view name) {
  return std::equal(name.begin(), name.end(), rule.context_header.begin(), rule.context_header.end(),
                    [](char a, char b) {
                      const auto flat = [](char c) { return c == '_' ? '-' : lower(c); };
                      return flat(a) == flat(b);
                    });
}

}  // namespace cloche::proto
