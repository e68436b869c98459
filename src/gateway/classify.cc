#include "gateway/classify.h"

#include <algorithm>

namespace cloche::gateway {
namespace {

// Also what a lenient reader would skip in front of text: blanks of ASCII, of Latin-1 and of Unicode, and its marks.
bool may_be_text(unsigned char byte) {
  constexpr std::string_view kBlanks = "\x85\xa0\xc2\xe1\xe2\xe3\xef\xfe\xff";
  return (byte >= 0x09 && byte <= 0x0d) || (byte >= 0x1c && byte < 0x7f) ||
         kBlanks.find(static_cast<char>(byte)) != std::string_view::npos;
}

// The first bytes of PostgreSQL's question, or less: of SSLRequest and GSSENCRequest, which differ in their last byte.
bool may_ask_tls(std::string_view first) {
  constexpr std::string_view kBegin{"\0\0\0\x08\x04\xd2\x16", kTlsQuestion - 1};
  if (!first.starts_with(kBegin.substr(0, first.size()))) return false;
  return first.size() < kTlsQuestion || first[kBegin.size()] == 0x2f || first[kBegin.size()] == 0x30;
}

}  // namespace

Speech classify_speech(std::string_view first, bool server_spoke) {
  constexpr std::string_view kSsh = "SSH-";
  if (first.empty()) return Speech::kMore;
  const auto byte = static_cast<unsigned char>(first[0]);
  // Any record of TLS: some servers pass over an alert that comes before the greeting.
  constexpr unsigned char kFirstRecord = 0x14;
  constexpr unsigned char kLastRecord = 0x1a;
  if (byte >= kFirstRecord && byte <= kLastRecord) return Speech::kTls;
  if (may_ask_tls(first.substr(0, kTlsQuestion))) {
    return first.size() < kTlsQuestion ? Speech::kMore : Speech::kAsksTls;
  }
  if (server_spoke) return Speech::kOpaque;
  // Two bytes of length, the first with its high bit set, then the message's kind: 1.
  if (byte >= 0x80) {
    if (first.size() < 3) return Speech::kMore;
    if (first[2] == 1) return Speech::kOldHello;
  }
  // A length that begins with zeros has small numbers behind it; text behind zeros is for a reader that skips them.
  if (byte == 0) {
    constexpr std::size_t kEnough = 8;
    const std::string_view begin = first.substr(0, kEnough);
    const std::string_view rest = begin.substr(std::min(begin.find_first_not_of('\0'), begin.size()));
    if (std::ranges::any_of(rest, [](char c) { return c >= 0 && c < 9; })) return Speech::kOpaque;
    if (first.size() < kEnough) return Speech::kMore;
    return rest.empty() ? Speech::kOpaque : Speech::kHttp;
  }
  if (!may_be_text(byte)) return Speech::kOpaque;
  const std::string_view seen = first.substr(0, kSsh.size());
  if (kSsh.substr(0, seen.size()) != seen) return Speech::kHttp;
  return seen.size() == kSsh.size() ? Speech::kOpaque : Speech::kMore;
}

}  // namespace cloche::gateway
