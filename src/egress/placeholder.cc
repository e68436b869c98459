#include "egress/placeholder.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace cloche::egress {
namespace {

std::string_view kind_of(char c) {
  if (c >= 'a' && c <= 'z') return "abcdefghijklmnopqrstuvwxyz";
  if (c >= 'A' && c <= 'Z') return "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (c >= '0' && c <= '9') return "0123456789";
  return {};
}

std::string step_of(std::string_view name) { return "secret " + std::string(name); }

// One of `kind`, each as likely as any other.
Result<char> pick(std::string_view kind) {
  for (;;) {
    unsigned char byte = 0;
    if (::getrandom(&byte, 1, 0) != 1) {
      if (errno == EINTR) continue;
      return fail_errno(errno, "placeholder", "the kernel gave no random bytes");
    }
    const std::size_t fair = 256 / kind.size() * kind.size();
    if (byte < fair) return kind[byte % kind.size()];
  }
}

}  // namespace

Status check_value(std::string_view name, std::string_view value) {
  const auto refuse = [&](const char* what, const char* hint) {
    return fail(ErrorCode::kRefused, step_of(name), what, hint);
  };
  if (value.empty()) return refuse("its value is empty", "check where it comes from");
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    return refuse("its value has a line break or another control character", "a secret is one line of text");
  }
  if (value.size() > kLongestSecret) return refuse("its value is longer than 8192 bytes", "check where it comes from");
  const auto signs = std::ranges::count_if(value, [](char c) { return !kind_of(c).empty(); });
  if (value.size() < kShortestSecret || static_cast<std::size_t>(signs) < kFewestSigns) {
    return refuse("its value is too short to be told from other text",
                  "a secret needs 16 bytes, 12 of them letters or digits");
  }
  return {};
}

Result<std::string> make_placeholder(std::string_view name, std::string_view value,
                                     const std::vector<std::string>& taken) {
  CLOCHE_TRY(check_value(name, value));
  for (;;) {
    std::string out(value);
    for (char& c : out) {
      if (kind_of(c).empty()) continue;
      CLOCHE_TRY_ASSIGN(c, pick(kind_of(c)));
    }
    if (out != value && std::ranges::find(taken, out) == taken.end()) return out;
  }
}

}  // namespace cloche::egress
