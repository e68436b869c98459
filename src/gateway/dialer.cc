#include "gateway/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "gateway/flow.h"
#include "gateway/shared.h"
#include "proto/address_class.h"

namespace cloche::gateway {
namespace {

constexpr Millis kToConnect{10'000};
constexpr Millis kForSocket{10'000};
constexpr Millis kLongestPause{50};
constexpr std::size_t kMostTried = 8;

Task<Result<std::unique_ptr<Stream>>> connect_to(Shared& shared, Flow& flow, const proto::IpAddress& address,
                                                 std::uint16_t port) {
  const proto::SocketAddress where = proto::to_sockaddr(address, port);
  Fd fd(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) co_return fail_errno(errno, "connect", "no socket could be made");
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int number = fd.get();
  int begun = ::connect(number, where.get(), where.size);
  // A place on this machine has answered by now; asking again says so without a turn of the loop.
  if (begun != 0 && errno == EINPROGRESS) begun = ::connect(number, where.get(), where.size);
  if (begun != 0 && errno != EALREADY && errno != EINPROGRESS) {
    co_return fail_errno(errno, "connect", "could not be reached");
  }
  auto stream = Stream::make(shared.loop, std::move(fd), Stream::Sort::kOwnTcp);
  if (!stream) co_return std::unexpected(std::move(stream).error());
  (*stream)->not_readable();  // if it greets, we are told
  if (proto::classify(address) == proto::AddressClass::kLoopback) (*stream)->set_end(Stream::End::kNear);
  if (begun != 0) {
    flow.set_server(stream->get());
    (*stream)->not_writable();
    const bool in_time = co_await (*stream)->writable(Clock::now() + kToConnect);
    flow.set_server(nullptr);
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size);
    if (!in_time) error = ETIMEDOUT;
    if (error != 0) co_return fail_errno(error, "connect", "could not be reached");
  }
  if (leads_to_itself(number, address, port)) co_return fail_errno(ECONNREFUSED, "connect", "could not be reached");
  co_return std::move(*stream);
}

}  // namespace

bool leads_to_itself(int fd, const proto::IpAddress& address, std::uint16_t port) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return false;
  const auto own = proto::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), size);
  return own && own->address == address && own->port == port;
}

std::string Target::text() const { return (name ? name->text() : address.host_text()) + ":" + std::to_string(port); }

Task<Result<std::unique_ptr<Stream>>> dial(Shared& shared, Flow& flow, const Target& target) {
  std::vector<proto::IpAddress> addresses;
  if (target.name) {
    auto found = co_await shared.resolver.resolve(*target.name);
    if (!found) co_return std::unexpected(std::move(found).error());
    addresses = std::move(*found);
  } else {
    addresses.push_back(target.address);
  }
  Error last{ErrorCode::kNotFound, "resolve", 0, target.text() + " has no address", ""};
  std::size_t tried = 0;
  for (const proto::IpAddress& address : addresses) {
    if (flow.aborted()) break;
    if (target.name) {
      const proto::Decision decision = shared.rules.now().decide_resolved(*target.name, address, target.port);
      if (!decision.allowed()) {
        last = {ErrorCode::kRefused, "resolve", 0, decision.reason, ""};
        flow.record.address = address.text();
        continue;
      }
    }
    if (++tried > kMostTried) break;
    flow.record.address = address.text();
    // An address that is not public takes a rule of its own, whose end is the connection's, too, from here on: to
    // connect may take as long as the other side likes.
    const proto::Decision as_such = shared.rules.now().decide_address(address, target.port);
    const bool takes_a_rule =
        target.name && as_such.allowed() && proto::classify(address) != proto::AddressClass::kPublic;
    if (takes_a_rule) flow.granted.push_back(as_such.rule);
    auto stream = co_await connect_to(shared, flow, address, target.port);
    if (stream) co_return stream;
    if (takes_a_rule) flow.granted.pop_back();
    last = std::move(stream).error();
    last.message = target.text() + " could not be reached at " + address.text();
  }
  co_return std::unexpected(std::move(last));
}

Task<Result<Fd>> SocketDialer::dial(Link& link, std::size_t index) {
  const Clock::time_point deadline = Clock::now() + kForSocket;
  for (Millis pause{1};; pause = std::min(pause * 2, kLongestPause)) {
    Asked asked(loop_);
    const std::uint64_t serial = ++last_;
    asked_[serial] = &asked;
    link.send({.kind = egress::Kind::kDial, .number = static_cast<std::uint32_t>(index), .serial = serial});
    const bool answered = co_await asked.gate.wait(deadline);
    asked_.erase(serial);
    if (!answered) co_return fail_errno(ETIMEDOUT, "socket", "the service did not accept in time");
    if (asked.error == 0) co_return std::move(asked.fd);
    // Its queue is full: whoever dials it directly waits, too.
    if (asked.error != EAGAIN || Clock::now() >= deadline) {
      co_return fail_errno(asked.error, "socket", "the service could not be reached");
    }
    co_await loop_.until(Clock::now() + pause);
  }
}

void SocketDialer::answer(std::uint64_t serial, int error, Fd fd) {
  const auto found = asked_.find(serial);
  if (found == asked_.end()) return;
  found->second->error = fd.valid() ? 0 : error != 0 ? error : EPROTO;
  found->second->fd = std::move(fd);
  found->second->gate.open();
}

}  // namespace cloche::gateway
