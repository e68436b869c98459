// What an engine reads of its gateway, which may be in somebody else's hands: what is taken is whole, bounded, and
// reads back as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "egress/message.h"
#include "egress/settings.h"

namespace {

using namespace cloche;
using namespace cloche::egress;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

template <typename Value>
void check_text(const Value& decoded) {
  if (decoded) check(encode(*decoded).size() <= kMaxPayload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto confined = decode_confined(bytes);
  const auto connection = decode_connection(bytes);
  const auto call = decode_call(bytes);
  const auto change = decode_change(bytes);
  const auto tally = decode_tally(bytes);
  check_text(confined);
  check_text(connection);
  check_text(call);
  check_text(change);
  check_text(tally);
  if (confined) check(decode_confined(encode(*confined)) == confined);
  if (connection) check(decode_connection(encode(*connection)).has_value());
  if (call) check(decode_call(encode(*call)).has_value());
  if (tally) check(decode_tally(encode(*tally)) == tally);
  if (change) check(decode_change(encode(*change)) == change);
  if (const auto settings = decode_settings(bytes)) check(decode_settings(encode(*settings)) == *settings);
  if (const auto framed = unframe(bytes)) check(framed->payload.size() <= kMaxPayload);
  return 0;
}
