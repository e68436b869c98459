#include "gateway/first_words.h"

#include <algorithm>

namespace cloche::gateway {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Neither word's beginning comes again inside of it, so there is nothing to fall back to but the start.
bool follow(std::string_view word, std::size_t& known, char c) {
  known = c == word[known] ? known + 1 : c == word[0] ? 1 : 0;
  return known == word.size();
}

}  // namespace

bool FirstWords::guest_says(std::string_view bytes) {
  constexpr std::string_view kVersion = "http/";
  constexpr std::string_view kHost = "\nhost:";
  said_ += bytes.size();
  for (const char c : bytes) {
    const char one = lower(c);
    if (version_ == kVersion.size()) {
      if (one >= '0' && one <= '9') return false;
      version_ = 0;
    }
    (void)follow(kVersion, version_, one);
    if (host_ + 1 == kHost.size() && (one == ' ' || one == '\t')) continue;  // "Host :" is one to some
    if (follow(kHost, host_, one)) return false;
  }
  return true;
}

FirstWords::Server FirstWords::server_of(std::string_view said) {
  constexpr std::string_view kBegin = "http/";
  const std::string_view seen = said.substr(0, kBegin.size());
  if (!std::ranges::equal(seen, kBegin.substr(0, seen.size()), {}, lower)) return Server::kOther;
  return seen.size() == kBegin.size() ? Server::kHttp : Server::kUnknown;
}

}  // namespace cloche::gateway
