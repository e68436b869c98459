#include "sys/local_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.h"

namespace cloche::sys {

sockaddr_un address_of(int place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", place);
  return address;
}

bool takes_datagrams(int place) {
  const sockaddr_un address = address_of(place);
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return false;
  // It does, too, if it hears one sender alone.
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EPERM;
}

}  // namespace cloche::sys
