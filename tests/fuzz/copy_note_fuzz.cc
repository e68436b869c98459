// Notes of copies that were cut short, which say what a collection removes. Beyond not crashing: what is read is what
// would be written, so that no two readers take one note for different directories.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/copy_note.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto note = cloche::parse_copy_note(text);
  if (!note) return 0;
  const auto again = cloche::parse_copy_note(cloche::copy_note(*note));
  if (!again || again->path != note->path || again->id != note->id) std::abort();
  if (note->path.size() + text.find('\n') + 1 != size || note->id.has_value() != (text[0] != '\n')) std::abort();
  return 0;
}
