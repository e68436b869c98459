#include "gateway/duct.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace cloche::gateway {

Moved Duct::read_raw(std::string& to, std::size_t most) {
  if (!stream_.is_readable()) return Moved::kNothing;
  char part[16 * 1024];
  const ssize_t n = ::recv(stream_.fd(), part, std::min(most, sizeof part), 0);
  if (n > 0) {
    to.append(part, static_cast<std::size_t>(n));
    return Moved::kSome;
  }
  if (n == 0) return Moved::kEnd;
  if (errno == EINTR) return Moved::kSome;
  if (errno != EAGAIN) return Moved::kBroken;
  stream_.not_readable();
  return Moved::kNothing;
}

Moved Duct::write_raw(std::string_view& bytes) {
  if (bytes.empty() || !stream_.is_writable()) return Moved::kNothing;
  const ssize_t n = ::send(stream_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) {
    bytes.remove_prefix(static_cast<std::size_t>(n));
    // Took a part: there is no more room, and who waits for news wants to hear when there is.
    if (!bytes.empty()) stream_.not_writable();
    return Moved::kSome;
  }
  if (errno == EINTR) return Moved::kSome;
  if (errno != EAGAIN) return Moved::kBroken;
  stream_.not_writable();
  return Moved::kNothing;
}

}  // namespace cloche::gateway
