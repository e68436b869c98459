#include "proto/hello_retry.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "proto/byte_reader.h"

namespace cloche::proto {
namespace {

constexpr std::uint8_t kRecordChangeCipher = 20;
constexpr std::uint8_t kRecordHandshake = 22;
constexpr std::uint8_t kRecordData = 23;
constexpr std::size_t kRecordHeader = 5;
constexpr std::uint8_t kServerHelloType = 2;
constexpr std::size_t kRandomAt = 4 + 2;  // behind the message's header and the version

// The "random" of a HelloRetryRequest: SHA-256 of that word.
constexpr std::array<std::uint8_t, 32> kRetryRandom = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                                       0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                                       0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

// Whether the handshake bytes so far can still become a HelloRetryRequest. The message's length is left alone: a server
// that is in league with the guest must not get past by a wrong one.
bool may_ask_again(std::string_view handshake) {
  if (!handshake.empty() && static_cast<std::uint8_t>(handshake[0]) != kServerHelloType) return false;
  if (handshake.size() <= kRandomAt) return true;
  const std::string_view random = handshake.substr(kRandomAt, kRetryRandom.size());
  return std::equal(random.begin(), random.end(), kRetryRandom.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

}  // namespace

ServerFirst look_at_server(std::string_view bytes) {
  constexpr std::size_t kEnough = kRandomAt + kRetryRandom.size();
  std::string handshake;
  while (true) {
    if (bytes.empty()) return ServerFirst::kNeedMore;
    if (static_cast<std::uint8_t>(bytes[0]) != kRecordHandshake) return ServerFirst::kGoesOn;
    if (bytes.size() < kRecordHeader) return ServerFirst::kNeedMore;
    ByteReader reader(bytes.substr(3));
    const std::size_t size = reader.u16();
    if (size == 0) return ServerFirst::kGoesOn;
    const std::string_view piece = bytes.substr(kRecordHeader, size);
    handshake += piece.substr(0, kEnough);
    if (!may_ask_again(handshake)) return ServerFirst::kGoesOn;
    if (handshake.size() >= kEnough) return ServerFirst::kAsksAgain;
    if (piece.size() < size) return ServerFirst::kNeedMore;
    bytes.remove_prefix(kRecordHeader + size);
  }
}

HelloResult parse_second_hello(std::string_view bytes) {
  std::size_t passed = 0;
  while (passed < bytes.size()) {
    const std::string_view record = bytes.substr(passed);
    const auto type = static_cast<std::uint8_t>(record[0]);
    if (type != kRecordChangeCipher && type != kRecordData) break;
    ByteReader reader(record.substr(1));
    reader.u16();
    reader.text16();
    if (!reader.good()) {
      if (bytes.size() >= kHelloBound) return HelloMalformed{"no second ClientHello where one is due"};
      return HelloNeedMore{};
    }
    passed = bytes.size() - reader.left();
  }
  HelloResult out = parse_client_hello(bytes.substr(passed));
  if (auto* hello = std::get_if<ClientHello>(&out)) hello->consumed += passed;
  if (std::holds_alternative<HelloNotTls>(out)) return HelloMalformed{"no second ClientHello where one is due"};
  if (std::holds_alternative<HelloNeedMore>(out) && bytes.size() >= kHelloBound) {
    return HelloMalformed{"no second ClientHello where one is due"};
  }
  return out;
}

}  // namespace cloche::proto
