// The index of a proposal: whatever is accepted names places below the workspace, each once, and writes back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "files/index.h"
#include "sys/sha256.h"

namespace {

using namespace cloche::files;

bool stays_inside(std::string_view path) {
  const std::string framed = "/" + std::string(path) + "/";
  for (const std::string_view wrong : {"//", "/./", "/../"}) {
    if (framed.find(wrong) != std::string::npos) return false;
  }
  return framed.find('\0') == std::string::npos;
}

void check(std::string_view bytes) {
  const auto proposal = decode_index(bytes);
  if (!proposal) return;
  const std::string* last = nullptr;
  for (const Entry& entry : proposal->entries) {
    if (!stays_inside(entry.path) || (last != nullptr && *last >= entry.path)) __builtin_trap();
    if (entry.after && entry.after->mode > 0777) __builtin_trap();
    last = &entry.path;
    (void)kind_of(entry);
  }
  (void)summarize(*proposal);
  if (encode_index(*proposal) != bytes) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  const cloche::sys::Digest digest = cloche::sys::sha256(bytes);
  check(std::string(bytes) + std::string(reinterpret_cast<const char*>(digest.data()), digest.size()));
  return 0;
}
