// The proxy's door: HTTP and SOCKS on one port, told apart by their first byte.
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

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
    const std::string reply = proto::http_reply({.status = status, .text = flow.record.reason});
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

proto::SocksCode code_for(const Error& error, Verdict verdict) {
  if (verdict == Verdict::kDenied) return proto::SocksCode::kNotAllowed;
  if (error.errno_value == ECONNREFUSED) return proto::SocksCode::kConnectionRefused;
  if (error.errno_value == ETIMEDOUT) return proto::SocksCode::kTimedOut;
  return proto::SocksCode::kHostUnreachable;
}

Task<void> refuse_socks(Shared& shared, Stream& client, const proto::SocksRefusal& refusal) {
  Flow flow(shared, Via::kSocks);
  flow.deny(refusal.reason);
  co_await client.write_all(refusal.reply, Clock::now() + kToAsk);
}

// More bytes, or the end of it.
Task<bool> read_more(Stream& client, std::string& bytes) {
  char part[kPart];
  const std::int64_t n = co_await client.read_some(part, sizeof part, Clock::now() + kToAsk);
  if (n > 0) bytes.append(part, static_cast<std::size_t>(n));
  co_return n > 0;
}

// The greeting and the request; nothing: it came to nothing, and that was told.
Task<std::optional<proto::SocksRequest>> hear_socks(Shared& shared, Stream& client, std::string& bytes) {
  for (;;) {
    const auto greeting = proto::parse_socks_greeting(bytes);
    if (const auto* refusal = std::get_if<proto::SocksRefusal>(&greeting)) {
      co_await refuse_socks(shared, client, *refusal);
      co_return std::nullopt;
    }
    if (const auto* heard = std::get_if<proto::SocksGreeting>(&greeting)) {
      bytes.erase(0, heard->consumed);
      const int error = co_await client.write_all(heard->reply, Clock::now() + kToAsk);
      if (error != 0) co_return std::nullopt;
      break;
    }
    const bool more = co_await read_more(client, bytes);
    if (!more) co_return std::nullopt;
  }
  for (;;) {
    const auto request = proto::parse_socks_request(bytes);
    if (const auto* refusal = std::get_if<proto::SocksRefusal>(&request)) {
      co_await refuse_socks(shared, client, *refusal);
      co_return std::nullopt;
    }
    if (const auto* heard = std::get_if<proto::SocksRequest>(&request)) {
      bytes.erase(0, heard->consumed);
      co_return *heard;
    }
    const bool more = co_await read_more(client, bytes);
    if (!more) co_return std::nullopt;
  }
}

Task<void> serve_socks(Shared& shared, Stream& client, std::string bytes) {
  const auto request = co_await hear_socks(shared, client, bytes);
  if (!request) co_return;
  Flow flow(shared, Via::kSocks);
  flow.set_client(&client);
  const auto* name = std::get_if<proto::HostName>(&request->host);
  const Target target = name != nullptr ? Target{*name, {}, request->port}
                                        : target_of(shared, std::get<proto::IpAddress>(request->host), request->port);
  auto server = co_await reach(shared, flow, target);
  const std::string reply =
      proto::socks_reply(server ? proto::SocksCode::kGranted : code_for(server.error(), flow.record.verdict));
  const int error = co_await client.write_all(reply, Clock::now() + kToAsk);
  if (server && error == 0) {
    flow.set_server(server->get());
    co_await carry(shared, flow, client, **server, target, std::move(bytes));
  }
  flow.set_client(nullptr);
  flow.set_server(nullptr);
}

}  // namespace

Task<void> serve_proxy(Shared& shared, Fd client_fd) {
  auto made = Stream::make(shared.loop, std::move(client_fd), Stream::Sort::kOwnTcp);
  if (!made) co_return;
  Stream& client = **made;
  client.set_end(Stream::End::kGuest);
  char part[kPart];
  const std::int64_t n = co_await client.read_some(part, sizeof part, Clock::now() + kToAsk);
  if (n <= 0) co_return;
  std::string early(part, static_cast<std::size_t>(n));
  if (proto::begins_socks(early[0])) {
    co_await serve_socks(shared, client, std::move(early));
    co_return;
  }
  const OnConnect on_connect = [&shared, &client](Target target, std::string rest) {
    return serve_connect(shared, client, std::move(target), std::move(rest));
  };
  co_await carry_proxied(shared, client, std::move(early), on_connect);
}

}  // namespace cloche::gateway
