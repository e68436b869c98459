// ClientHello: an answer that was given stays the same whatever follows, and how the message is cut into records does
// not change what it says.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "proto/client_hello.h"
#include "proto/hello_retry.h"

namespace {

using namespace cloche::proto;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

bool same_kind(const HelloResult& a, const HelloResult& b) { return a.index() == b.index(); }

void check_prefixes(std::string_view bytes, const HelloResult& whole) {
  const std::size_t step = 1 + bytes.size() / 64;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    const HelloResult part = parse_client_hello(bytes.substr(0, size));
    if (std::holds_alternative<HelloNeedMore>(part)) continue;
    check(same_kind(part, whole));
    if (std::holds_alternative<ClientHello>(part)) check(part == whole);
  }
}

std::string in_records_of(std::string_view message, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < message.size(); at += size) {
    const std::string_view piece = message.substr(at, size);
    out += {'\x16', '\x03', '\x01', static_cast<char>(piece.size() >> 8), static_cast<char>(piece.size() & 0xff)};
    out += piece;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HelloResult whole = parse_client_hello(bytes);
  check(size < kHelloBound || !std::holds_alternative<HelloNeedMore>(whole));
  check_prefixes(bytes, whole);
  if (const auto* hello = std::get_if<ClientHello>(&whole)) {
    check(hello->consumed <= size && !hello->versions.empty());
    check(parse_client_hello(bytes.substr(0, hello->consumed)) == whole);
    check(std::holds_alternative<HelloNeedMore>(parse_client_hello(bytes.substr(0, hello->consumed - 1))));
  }
  const HelloResult second = parse_second_hello(bytes);
  check(!std::holds_alternative<HelloNotTls>(second));
  if (std::holds_alternative<ClientHello>(whole)) check(second == whole);
  if (const auto* hello = std::get_if<ClientHello>(&second)) check(hello->consumed <= size);
  const ServerFirst server = look_at_server(bytes);
  const ServerFirst earlier = look_at_server(bytes.substr(0, size / 2));
  check(earlier == ServerFirst::kNeedMore || earlier == server);

  // The same bytes as the extensions of a message that is well formed so far, so that they are reached at once.
  if (size > 2000) return 0;
  std::string body = std::string("\x03\x03", 2) + std::string(32, 'r') + std::string("\0\0\x02\x13\x01\x01\0", 7);
  body += {static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
  body += bytes;
  std::string message = {'\x01', '\0', static_cast<char>(body.size() >> 8), static_cast<char>(body.size() & 0xff)};
  message += body;
  HelloResult one = parse_client_hello(in_records_of(message, 16384));
  HelloResult many = parse_client_hello(in_records_of(message, 1 + size % 7));
  check(!std::holds_alternative<HelloNeedMore>(one));
  for (HelloResult* result : {&one, &many}) {
    if (auto* hello = std::get_if<ClientHello>(result)) hello->consumed = 0;
  }
  check(one == many);
  return 0;
}
