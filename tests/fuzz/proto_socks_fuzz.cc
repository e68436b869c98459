// SOCKS: an answer that was given stays the same whatever follows; every refusal of a request is a whole reply.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "proto/socks.h"

namespace {

using namespace cloche::proto;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

template <typename Done, typename Parse>
void check_machine(std::string_view bytes, Parse parse) {
  const auto whole = parse(bytes);
  for (std::size_t size = 0; size < bytes.size() && size < 300; ++size) {
    const auto part = parse(bytes.substr(0, size));
    check(std::holds_alternative<SocksNeedMore>(part) || part == whole);
  }
  if (const auto* done = std::get_if<Done>(&whole)) {
    check(done->consumed >= 3 && done->consumed <= bytes.size());
    check(parse(bytes.substr(0, done->consumed)) == whole);
    check(std::holds_alternative<SocksNeedMore>(parse(bytes.substr(0, done->consumed - 1))));
  }
  check(bytes.size() < 300 || !std::holds_alternative<SocksNeedMore>(whole));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_machine<SocksGreeting>(bytes, parse_socks_greeting);
  check_machine<SocksRequest>(bytes, parse_socks_request);
  const auto request = parse_socks_request(bytes);
  if (const auto* refusal = std::get_if<SocksRefusal>(&request)) {
    check(refusal->reply.size() == 10 && refusal->reply[1] != 0 && !refusal->reason.empty());
  }
  if (const auto* done = std::get_if<SocksRequest>(&request)) check(done->port != 0);
  return 0;
}
