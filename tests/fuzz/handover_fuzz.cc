// What a command hands over to an attendant: its words and its variables.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cli/borrowed_stance.h"
#include "wire/handover.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cloche::wire::Handover head;
  if (size < sizeof head) return 0;
  std::memcpy(&head, data, sizeof head);
  std::vector<char> strings(data + sizeof head, data + size);
  const std::size_t count = std::size_t{head.words} + head.variables;
  const auto pointers = cloche::cli::point_at(strings, count);
  if (!pointers) return 0;
  // All of it, once, in order.
  if (pointers->size() != count) __builtin_trap();
  const char* next = strings.data();
  for (const char* one : *pointers) {
    if (one != next) __builtin_trap();
    next = one + std::strlen(one) + 1;
  }
  if (next != strings.data() + strings.size()) __builtin_trap();
  return 0;
}
