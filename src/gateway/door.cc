#include "gateway/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "gateway/classify.h"
#include "gateway/shared.h"
#include "proto/address_class.h"
#include "proto/client_hello.h"
#include "proto/http_reply.h"

namespace cloche::gateway {
namespace {

constexpr Millis kToSpeak{1'000};
constexpr Millis kToRead{500};
constexpr std::uint16_t kHttpPort = 80;

proto::HostName localhost() { return proto::parse_host_name("localhost").value(); }

// Whether a loopback address is another way to say "localhost". What a secret is for is looked through by whatever way
// it is reached, also where a rule grants the address as such.
bool is_localhost(const Shared& shared, const proto::IpAddress& address, std::uint16_t port) {
  if (shared.vault.has_secret_for({localhost(), {}, port})) return true;
  const proto::RuleSet& rules = shared.rules.now();
  return !rules.decide_address(address, port).allowed() && rules.decide_name(localhost(), port).allowed();
}

// The reply must arrive: an unread request would turn the close into a reset that destroys it.
Task<void> say_and_close(Stream& client, std::string_view reply) {
  const Clock::time_point deadline = Clock::now() + kToRead;
  const int error = co_await client.write_all(reply, deadline);
  if (error != 0) co_return;
  client.end_of_writing();
  char part[4096];
  constexpr int kParts = 64;
  for (int i = 0; i < kParts; ++i) {
    const std::int64_t n = co_await client.read_some(part, sizeof part, deadline);
    if (n <= 0) co_return;
  }
}

}  // namespace

Target target_of(const Shared& shared, const proto::IpAddress& given, std::uint16_t port) {
  const proto::IpAddress address = given.canonical();
  Target target{std::nullopt, address, port};
  if (const proto::HostName* name = shared.names.name_of(address)) {
    target.name = *name;
  } else if (proto::classify(address) == proto::AddressClass::kLoopback && is_localhost(shared, address, port)) {
    target.name = localhost();
  }
  return target;
}

Result<Target> target_of(const Shared& shared, std::string_view host, std::uint16_t port) {
  if (const auto address = proto::parse_ip(host)) return target_of(shared, *address, port);
  CLOCHE_TRY_ASSIGN(proto::HostName name, proto::parse_host_name(host));
  return Target{std::move(name), {}, port};
}

Result<Target> proxy_target(const Shared& shared, const proto::HttpRequestHead& head) {
  if (!head.target_authority) {
    return fail(ErrorCode::kInvalidInput, "proxy", "a request to the proxy must name its host: \"GET http://host/\"");
  }
  if (!head.authorities_agree(kHttpPort)) {
    return fail(ErrorCode::kInvalidInput, "proxy", "the request's target and its Host header name two places");
  }
  const proto::HttpAuthority& place = *head.target_authority;
  if (head.method == "CONNECT" && !place.port) {
    return fail(ErrorCode::kInvalidInput, "proxy", "a CONNECT must name a port");
  }
  return target_of(shared, place.host, place.port.value_or(kHttpPort));
}

bool count_connection(Shared& shared, Flow& flow) {
  const std::string_view limit = shared.meter.add_connection();
  if (limit.empty()) return true;
  flow.deny(std::string(limit) + " is reached");
  shared.hit(limit);
  return false;
}

Task<Result<std::unique_ptr<Stream>>> reach(Shared& shared, Flow& flow, const Target& target) {
  flow.record.port = target.port;
  if (target.name) {
    flow.record.name = target.name->text();
  } else {
    flow.record.address = target.address.text();
  }
  if (std::string why = target.name ? shared.vault.stopped_name(target.name->text()) : std::string(); !why.empty()) {
    flow.deny(why);
    co_return fail(ErrorCode::kRefused, "secrets", std::move(why));
  }
  const proto::RuleSet& rules = shared.rules.now();
  const proto::Decision decision =
      target.name ? rules.decide_name(*target.name, target.port) : rules.decide_address(target.address, target.port);
  if (!decision.allowed()) {
    flow.deny(decision.reason);
    co_return fail(ErrorCode::kRefused, "net.allow", decision.reason);
  }
  flow.granted = {decision.rule};
  if (shared.over) {
    flow.fail("the run ended");
    co_return fail(ErrorCode::kSystem, "gateway", flow.record.reason);
  }
  if (!count_connection(shared, flow)) co_return fail(ErrorCode::kRefused, "net.limits", flow.record.reason);
  auto server = co_await dial(shared, flow, target);
  if (!server) {
    const std::string why = server.error().message;
    if (server.error().code == ErrorCode::kRefused) {
      flow.deny(why);
    } else {
      flow.fail(server.error().text());
    }
    co_return server;
  }
  if (flow.aborted()) co_return fail(ErrorCode::kRefused, "net.allow", "the grant has ended");
  flow.allow(decision.rule);
  co_return server;
}

Task<void> refuse_http(Stream& client, std::string reason) {
  const std::string reply = proto::http_reply({.status = 403, .text = std::move(reason)});
  co_await say_and_close(client, reply);
}

Task<void> refuse_tls(Stream& client) {
  const std::string alert = proto::tls_alert(proto::TlsAlertLevel::kFatal, proto::TlsAlert::kAccessDenied);
  co_await say_and_close(client, alert);
}

Task<void> refuse(Stream& client, std::string_view first, std::string reason) {
  std::array<char, 16> begun{};
  std::string_view seen = first;
  if (seen.empty()) {
    const std::int64_t n = co_await client.read_some(begun.data(), begun.size(), Clock::now() + kToSpeak);
    if (n > 0) seen = std::string_view(begun.data(), static_cast<std::size_t>(n));
  }
  switch (classify_speech(seen, false)) {
    case Speech::kTls:
      co_await refuse_tls(client);
      break;
    case Speech::kHttp:
      co_await refuse_http(client, std::move(reason));
      break;
    default:
      client.reset_on_close();
  }
}

Task<void> serve_direct(Shared& shared, Fd client_fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(client_fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) co_return;
  const auto wanted = proto::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), size);
  auto client = Stream::make(shared.loop, std::move(client_fd), Stream::Sort::kOwnTcp);
  if (!wanted || !client) co_return;
  (*client)->set_end(Stream::End::kGuest);
  Flow flow(shared, Via::kDirect);
  flow.set_client(client->get());
  const Target target = target_of(shared, wanted->address, wanted->port);
  auto server = co_await reach(shared, flow, target);
  if (!server) {
    if (flow.record.verdict == Verdict::kDenied) {
      const std::string reason = flow.record.reason;
      co_await refuse(**client, "", reason);
    } else {
      (*client)->reset_on_close();
    }
  } else {
    flow.set_server(server->get());
    co_await carry(shared, flow, **client, **server, target, "");
  }
  flow.set_client(nullptr);
  flow.set_server(nullptr);
}

}  // namespace cloche::gateway
