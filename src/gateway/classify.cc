#include "gateway/classify.h"

namespace cloche::gateway {

Speech classify_speech(std::string_view first, bool server_spoke) {
  constexpr std::string_view kSsh = "SSH-";
  if (first.empty()) return Speech::kMore;
  const auto byte = static_cast<unsigned char>(first[0]);
  // Any record of TLS: some servers pass over an alert that comes before the greeting.
  constexpr unsigned char kFirstRecord = 0x14;
  constexpr unsigned char kLastRecord = 0x1a;
  if (byte >= kFirstRecord && byte <= kLastRecord) return Speech::kTls;
  // Two bytes of length, the first with its high bit set, then the message's kind: 1.
  if (byte >= 0x80) {
    if (first.size() < 3) return Speech::kMore;
    return first[2] == 1 ? Speech::kOldHello : Speech::kOpaque;
  }
  const bool text = (byte >= 0x20 && byte < 0x7f) || byte == '\r' || byte == '\n' || byte == '\t';
  if (!text || server_spoke) return Speech::kOpaque;
  const std::string_view seen = first.substr(0, kSsh.size());
  if (kSsh.substr(0, seen.size()) != seen) return Speech::kHttp;
  return seen.size() == kSsh.size() ? Speech::kOpaque : Speech::kMore;
}

}  // namespace cloche::gateway
