#include "supervise/way_out_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include <fmt/format.h>

#include "sys/local_socket.h"

namespace cloche {
namespace {

using egress::ListenerKind;

std::optional<int> option(int socket, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(socket, SOL_SOCKET, name, &value, &size) != 0 || size != sizeof value) return std::nullopt;
  return value;
}

std::optional<std::uint16_t> port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return std::nullopt;
}

bool is_as_said(ListenerKind kind, std::uint64_t which, int socket) {
  const auto family = option(socket, SO_DOMAIN);
  const auto type = option(socket, SO_TYPE);
  const bool listens = option(socket, SO_ACCEPTCONN) == 1;
  const bool inet = (family == AF_INET || family == AF_INET6) && port_of(socket) == which;
  switch (kind) {
    case ListenerKind::kPort:
    case ListenerKind::kProxy:
    case ListenerKind::kDnsStream:
      return inet && type == SOCK_STREAM && listens && option(socket, SO_PROTOCOL) == IPPROTO_TCP;
    case ListenerKind::kDnsDatagram:
      return inet && type == SOCK_DGRAM && option(socket, SO_PROTOCOL) == IPPROTO_UDP;
    case ListenerKind::kPackets:
      return family == AF_PACKET && type == SOCK_DGRAM;
    case ListenerKind::kUnix:
      return family == AF_UNIX && type == SOCK_STREAM && listens;
  }
  return false;
}

}  // namespace

Status check_listener(ListenerKind kind, std::uint64_t which, int socket) {
  if (is_as_said(kind, which, socket)) return {};
  return fail(ErrorCode::kInternal, "gateway", fmt::format("what init opened for {} is not what the plan has", which));
}

Result<Fd> dial_socket(int place) {
  const sockaddr_un address = sys::address_of(place);
  int error = EPROTOTYPE;
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    if (error != EPROTOTYPE) break;
    Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) return fail_errno(errno, "socket", "no descriptor left");
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    error = errno;
  }
  return fail_errno(error, "connect", "the socket could not be reached");
}

}  // namespace cloche
