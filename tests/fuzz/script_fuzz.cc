// A script's text and name: the "#!" line decides what runs it, and the name becomes a file in the cell.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string name = cloche::safe_script_name(text);
  if (name.empty() || name.find('/') != std::string::npos || name.front() == '-' || name == "." || name == "..") {
    __builtin_trap();
  }
  const int fd = ::memfd_create("script", MFD_CLOEXEC);
  if (fd < 0) return 0;
  if (::write(fd, data, size) == static_cast<ssize_t>(size)) {
    const auto script = cloche::script_from_file("/proc/self/fd/" + std::to_string(fd), "",
                                                 {.memory = cloche::mebibytes(64), .exec_grants = {}});
    // Only what every cell sees may run it, and the text arrives whole.
    if (script && (!script->interpreter.starts_with("/") || script->text != text)) __builtin_trap();
  }
  ::close(fd);
  return 0;
}
