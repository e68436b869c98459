// The first bytes of a connection and the first packet of one. Laws: more bytes never make opaque of what was text, TLS
// or undecided text; what makes a request of opaque bytes is found however they are cut; a packet that is read says
// what its bytes say.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/classify.h"
#include "gateway/first_words.h"
#include "gateway/packets.h"

namespace {

using namespace cloche::gateway;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

bool passes(std::string_view bytes, std::size_t piece) {
  FirstWords words;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (!words.guest_says(bytes.substr(at, piece))) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool server_spoke : {false, true}) {
    const Speech whole = classify_speech(bytes, server_spoke);
    for (std::size_t part = 0; part < bytes.size() && part < 64; ++part) {
      const Speech early = classify_speech(bytes.substr(0, part), server_spoke);
      check(early == Speech::kMore || early == whole);
    }
    check(bytes.size() < 8 || whole != Speech::kMore);
  }
  const bool whole = passes(bytes, bytes.size() + 1);
  for (const std::size_t piece : {1u, 2u, 3u, 5u}) check(passes(bytes, piece) == whole);
  check(!whole || (bytes.find("HTTP/1.") == bytes.npos && bytes.find("\nHost:") == bytes.npos));
  const auto attempt = read_attempt(bytes);
  if (attempt) check(bytes.size() >= 24 && ((bytes[0] & 0xf0) == 0x40 || (bytes[0] & 0xf0) == 0x60));
  return 0;
}
