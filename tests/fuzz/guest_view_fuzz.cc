// What a guest has in its memory when it makes a call that is told: names, addresses and headers of messages, and the
// names of its abstract sockets as the kernel lists them.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "supervise/abstract_names.h"
#include "supervise/guest_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  if (size < 2) return 0;
  // Our own memory in place of a guest's. A page beyond it is ours as well.
  std::vector<std::uint8_t> memory(data + 2, data + size);
  memory.resize(std::max<std::size_t>(memory.size(), 64 * sizeof(mmsghdr)));
  const auto at = reinterpret_cast<std::uint64_t>(memory.data());
  const pid_t self = ::getpid();
  if (const auto name = guest_view::read_name(self, at); name && name->find('\0') != std::string::npos) {
    __builtin_trap();
  }
  const std::uint64_t said = data[0] | (std::uint64_t{data[1]} << 8);  // how long it is, as the guest says
  if (const auto address = guest_view::read_address(self, at, std::min<std::uint64_t>(said, memory.size()))) {
    if (address->family == observe::Family::kNone && !address->text.empty()) __builtin_trap();
  }
  for (const auto& place : guest_view::read_receivers(self, at)) {
    (void)guest_view::read_address(self, place.address, std::min<std::uint64_t>(place.size, memory.size()));
  }
  if (guest_view::read_receivers(self, at, said).size() > guest_view::kMostMessages) __builtin_trap();
  const std::string text(reinterpret_cast<const char*>(data), size);
  AbstractNames names([&](pid_t) { return text; });
  (void)names.has(self, "@" + text.substr(0, 8));
  return 0;
}
