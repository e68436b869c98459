// What a client and a keeper send each other: whatever is accepted comes back as it was, and no setting leads
// out of its directory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keeper/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche::keeper;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto cell = decode_handover(bytes)) {
    if (encode_handover(*cell) != bytes) __builtin_trap();
  }
  if (const auto wish = decode_wish(bytes)) {
    for (const auto& setting : wish->settings) {
      if (setting.file.find('/') != std::string::npos || setting.file.starts_with('.')) __builtin_trap();
    }
    // Flags are any number but 0; what is written is 1.
    const auto again = decode_wish(encode_wish(*wish));
    if (!again || again->spec != wish->spec || again->settings != wish->settings || again->mounts != wish->mounts) {
      __builtin_trap();
    }
  }
  return 0;
}
