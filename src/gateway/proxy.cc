// The proxy's door: HTTP and SOCKS on one port, told apart by their first byte.
#include <cerrno>
#include <utility>

#include "gateway/door.h"
#include "gateway/http_carrier.h"
#include "gateway/shared.h"
#include "proto/http_reply.h"
#include "proto/socks.h"

namespace cloche::gateway {
namespace {

constexpr Millis kToAsk{60'000};
constexpr std::size_t kPart = 16 * 1024;

Task<void> serve_connect(Shared& shared, Stream& client, Target target, std::string early) {
  Flow flow(shared, Via::kProxy);
  flow.set_client(&client);
  auto server = co_await reach(shared, flow, target);
  if (!server) {
    const int status = flow.record.verdict == Verdict::kDenied ? 403 : 502;
    const std::string reply = proto::http_reply({.status = status, .text = "cloche: " + flow.record.reason});
    co_await client.write_all(reply, Clock::now() + kToAsk);
    client.end_of_writing();
  } else {
    flow.set_server(server->get());
    const int error = co_await client.write_all(proto::kConnectionEstablished);
    if (error == 0) co_await carry(shared, flow, client, **server, target, std::move(early));
  }
  flow.set_client(nullptr);
  flow.set_server(nullptr);
}

proto::SocksReply reply_for(const Error& error, Verdict verdict) {
  if (verdict == Verdict::kDenied) return proto::SocksReply::kNotAllowed;
  if (error.errno_value == ECONNREFUSED) return proto::SocksReply::kConnectionRefused;
  return proto::SocksReply::kHostUnreachable;
}

Task<void> serve_socks(Shared& shared, Stream& client, std::string early) {
  proto::SocksServer socks;
  std::string bytes = std::move(early);
  for (;;) {
    const proto::SocksStep step = socks.feed(bytes);
    bytes.clear();
    if (!step.reply.empty()) {
      const int error = co_await client.write_all(step.reply, Clock::now() + kToAsk);
      if (error != 0) co_return;
    }
    if (step.state == proto::SocksState::kRefused) {
      Flow flow(shared, Via::kSocks);
      flow.deny(step.reason);
      co_return;
    }
    if (step.state == proto::SocksState::kRequest) break;
    char part[kPart];
    const std::int64_t n = co_await client.read_some(part, sizeof part, Clock::now() + kToAsk);
    if (n <= 0) co_return;
    bytes.assign(part, static_cast<std::size_t>(n));
  }
  const proto::SocksRequest request = socks.request();
  std::string rest = socks.take_rest();
  Flow flow(shared, Via::kSocks);
  flow.set_client(&client);
  const Target target = request.name ? Target{*request.name, {}, request.port}
                                     : target_of(shared, request.address, request.port);
  auto server = co_await reach(shared, flow, target);
  const std::string reply = proto::socks_reply(
      server ? proto::SocksReply::kSucceeded : reply_for(server.error(), flow.record.verdict));
  const int error = co_await client.write_all(reply, Clock::now() + kToAsk);
  if (server && error == 0) {
    flow.set_server(server->get());
    co_await carry(shared, flow, client, **server, target, std::move(rest));
  }
  flow.set_client(nullptr);
  flow.set_server(nullptr);
}

}  // namespace

Task<void> serve_proxy(Shared& shared, Fd client_fd) {
  auto made = Stream::make(shared.loop, std::move(client_fd));
  if (!made) co_return;
  Stream& client = **made;
  char part[kPart];
  const std::int64_t n = co_await client.read_some(part, sizeof part, Clock::now() + kToAsk);
  if (n <= 0) co_return;
  std::string early(part, static_cast<std::size_t>(n));
  if (early[0] == 4 || early[0] == 5) {
    co_await serve_socks(shared, client, std::move(early));
    co_return;
  }
  const OnConnect on_connect = [&shared, &client](Target target, std::string rest) {
    return serve_connect(shared, client, std::move(target), std::move(rest));
  };
  co_await carry_proxied(shared, client, std::move(early), on_connect);
}

}  // namespace cloche::gateway
