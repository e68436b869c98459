// The table of mounts, by which the engine decides where on the host a guest's names may be looked for. The first line
// of the input is such a name. Nothing is looked for here.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "observe/host_look.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string path = "/" + std::string(input.substr(0, end));
  const cloche::HostLook look(input.substr(end + 1));
  // What is mounted from elsewhere lies elsewhere, and so does all that is below it.
  if (look.is_elsewhere(path) && !look.lies_elsewhere(path)) __builtin_trap();
  if (look.lies_elsewhere(path) && !look.lies_elsewhere(path + "/below")) __builtin_trap();
  return 0;
}
