// Access lists as an attribute of a file has them, which a guest or a file system may have made. Beyond not crashing:
// every whole entry is there with its own bytes, and nothing else is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sys/access_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 4;
  constexpr std::size_t kEntry = 8;
  const auto entries = cloche::sys::parse_access_list({reinterpret_cast<const char*>(data), size});
  if (entries.size() != (size < kHead ? 0 : (size - kHead) / kEntry)) std::abort();
  const std::uint8_t* at = data + kHead;
  for (const auto& entry : entries) {
    const auto byte = [&](int i) { return static_cast<std::uint32_t>(at[i]); };
    if (static_cast<std::uint32_t>(entry.tag) != (byte(0) | byte(1) << 8)) std::abort();
    if (entry.rights != (byte(2) | byte(3) << 8)) std::abort();
    if (entry.id != (byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24)) std::abort();
    at += kEntry;
  }
  return 0;
}
