#include "gateway/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "gateway/dns_service.h"
#include "gateway/door.h"
#include "gateway/packets.h"

namespace cloche::gateway {
namespace {

constexpr Millis kPause{5};
constexpr Millis kToFinish{300};
constexpr std::size_t kFdsPerFlow = 4;
constexpr std::size_t kSpareFds = 256;
constexpr std::size_t kMostConnections = 1280;  // each may hold some 300 KB; the others wait in the kernel's queue

// Two sockets of a connection and, while bytes are on their way, a pipe.
std::size_t connections_for_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= kSpareFds) return 64;
  return std::clamp<std::size_t>((files.rlim_cur - kSpareFds) / kFdsPerFlow, 64, kMostConnections);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::make(Loop& loop, int control, egress::Settings settings, Vault vault) {
  const Clock::time_point now = Clock::now();
  CLOCHE_TRY_ASSIGN(LiveRules rules, LiveRules::make(settings.allow, settings.deny, now));
  Meter meter(settings.limits);
  Resolver resolver(loop, settings.resolv_conf, settings.hosts);
  LiveSockets sockets(std::move(settings.sockets), now);
  std::unique_ptr<Server> server(new Server(Shared{.loop = loop,
                                                   .rules = std::move(rules),
                                                   .meter = meter,
                                                   .resolver = std::move(resolver),
                                                   .vault = std::move(vault),
                                                   .sockets = std::move(sockets),
                                                   .socket_dialer = SocketDialer(loop)}));
  Server* raw = server.get();
  server->most_connections_ = connections_for_files();
  CLOCHE_TRY_ASSIGN(
      server->shared_.link,
      Link::make(
          loop, control, [raw](const egress::Framed& message, Fd fd) { raw->on_message(message, std::move(fd)); },
          [&loop] { loop.stop(); }));
  return server;
}

Status Server::serve() {
  shared_.link->send({.kind = egress::Kind::kConfined},
                     egress::encode(egress::Confined{shared_.vault.authority_pem(), shared_.meter.limits()}));
  schedule_ends();
  return shared_.loop.run();
}

void Server::on_message(const egress::Framed& message, Fd fd) {
  switch (message.head.kind) {
    case egress::Kind::kListener:
      add_listener(static_cast<egress::ListenerKind>(message.head.what), message.head.number, std::move(fd));
      break;
    case egress::Kind::kServe:
      begin(message);
      break;
    case egress::Kind::kDialed:
      shared_.socket_dialer.answer(message.head.serial, message.head.error, std::move(fd));
      break;
    case egress::Kind::kGrant:
    case egress::Kind::kRevoke:
      change(message);
      break;
    case egress::Kind::kFinish:
      start(finish());
      break;
    default:
      break;
  }
}

// From the engine's moment, not ours: its record has the changes of grants beside what we tell.
void Server::begin(const egress::Framed& message) {
  if (const auto moment = egress::decode_moment(message.payload)) {
    shared_.began = std::min(*moment, Clock::now());
  } else {
    shared_.link->send({.kind = egress::Kind::kProblem}, "the moment of the start could not be read");
  }
}

void Server::add_listener(egress::ListenerKind kind, std::uint32_t number, Fd fd) {
  if (!fd.valid() || !sys::set_nonblocking(fd.get())) return;
  auto stream = Stream::make(shared_.loop, std::move(fd));
  if (!stream) return;
  switch (kind) {
    case egress::ListenerKind::kDnsDatagram:
      start(serve_dns_datagrams(shared_, std::move(*stream)));
      break;
    case egress::ListenerKind::kPackets:
      start(watch_packets(shared_, std::move(*stream), ports_, doors_));
      break;
    case egress::ListenerKind::kPort:
      doors_.insert(static_cast<std::uint16_t>(number));
      [[fallthrough]];
    case egress::ListenerKind::kProxy:
    case egress::ListenerKind::kDnsStream:
      ports_.insert(static_cast<std::uint16_t>(number));
      start(accept_all(std::move(*stream), kind, number));
      break;
    case egress::ListenerKind::kUnix:
      start(accept_all(std::move(*stream), kind, number));
      break;
  }
}

Task<void> Server::accept_all(std::unique_ptr<Stream> listener, egress::ListenerKind kind, std::uint32_t number) {
  listener->put_first();  // who comes waits for the other side, too; those who leave have time
  if (kind != egress::ListenerKind::kUnix) {
    const int on = 1;  // of every connection that it takes, too
    ::setsockopt(listener->fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  constexpr unsigned kTurns = 16;
  for (unsigned turn = 0;; ++turn) {
    if (turn % kTurns == kTurns - 1) co_await shared_.loop.others();
    co_await link_in_time(shared_);
    if (shared_.connections >= most_connections_) {
      co_await shared_.loop.until(Clock::now() + kPause);  // they wait in the kernel's queue meanwhile
      continue;
    }
    Fd client(::accept4(listener->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client.valid()) {
      if (errno == EAGAIN) {
        listener->not_readable();
        co_await listener->readable();
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        co_await shared_.loop.until(Clock::now() + kPause);
      } else if (errno != EINTR && errno != ECONNABORTED) {
        co_return;
      }
      continue;
    }
    ++shared_.taken;
    switch (kind) {
      case egress::ListenerKind::kProxy:
        start(counted(serve_proxy(shared_, std::move(client))));
        break;
      case egress::ListenerKind::kDnsStream:
        start(counted(serve_dns_stream(shared_, std::move(client))));
        break;
      case egress::ListenerKind::kUnix:
        start(counted(serve_socket(shared_, number, std::move(client))));
        break;
      default:
        start(counted(serve_direct(shared_, std::move(client))));
    }
  }
}

Task<void> Server::counted(Task<void> connection) {
  ++shared_.connections;
  co_await connection;
  --shared_.connections;
}

Status Server::change_host(const egress::Change& change, bool grants) {
  if (!grants) {
    CLOCHE_TRY_ASSIGN(const std::string rule, shared_.rules.revoke(change.text));
    shared_.end_granted(rule, "ended: the grant was taken back");
    return {};
  }
  CLOCHE_TRY_ASSIGN(const proto::NetRule rule, proto::parse_net_rule(change.text));
  for (unsigned port = rule.ports().first; port <= rule.ports().last; ++port) {
    if (doors_.contains(static_cast<std::uint16_t>(port))) continue;
    return fail(ErrorCode::kInvalidInput, "grant",
                "port " + std::to_string(port) + " was not among the run's ports at its start",
                "name it in net.allow with for = \"0s\" to grant it later");
  }
  CLOCHE_TRY(shared_.rules.grant(change.text, change.lasts, Clock::now()));
  return {};
}

Status Server::change_secret(const egress::Change& change, bool grants) {
  if (grants) return shared_.vault.grant(change.text, change.lasts, Clock::now());
  CLOCHE_TRY(shared_.vault.revoke(change.text));
  shared_.end_with_secret(change.text, "ended: a secret was taken back");
  return {};
}

Status Server::change_socket(const egress::Change& change, bool grants) {
  if (grants) return shared_.sockets.grant(change.text, change.lasts, Clock::now());
  CLOCHE_TRY(shared_.sockets.revoke(change.text));
  shared_.end_granted(change.text, "ended: the grant was taken back");
  return {};
}

void Server::change(const egress::Framed& message) {
  const bool grants = message.head.kind == egress::Kind::kGrant;
  const auto wanted = egress::decode_change(message.payload);
  Status done = fail(ErrorCode::kInternal, "grant", "the change could not be read");
  if (wanted) {
    switch (wanted->what) {
      case egress::Change::What::kHost:
        done = change_host(*wanted, grants);
        break;
      case egress::Change::What::kSecret:
        done = change_secret(*wanted, grants);
        break;
      case egress::Change::What::kSocket:
        done = change_socket(*wanted, grants);
        break;
    }
  }
  schedule_ends();
  shared_.link->send({.kind = egress::Kind::kChanged, .serial = message.head.serial},
                     done ? std::string() : done.error().text());
}

void Server::schedule_ends() { start(end_leases(++schedule_)); }

void Server::tell_ended(egress::Change::What what, const std::string& text) {
  shared_.link->send({.kind = egress::Kind::kEnded}, egress::encode(egress::Change{what, text, {}}));
}

Task<void> Server::end_leases(std::uint64_t schedule) {
  for (;;) {
    const Clock::time_point next =
        std::min({shared_.rules.next_end(), shared_.sockets.next_end(), shared_.vault.next_end()});
    if (next == kNever) co_return;
    co_await shared_.loop.until(next);
    if (schedule != schedule_) co_return;  // another one took over
    const Clock::time_point now = Clock::now();
    for (const std::string& rule : shared_.rules.expire(now)) {
      shared_.end_granted(rule, "ended: the lease was over");
      tell_ended(egress::Change::What::kHost, rule);
    }
    for (const std::string& path : shared_.sockets.expire(now)) {
      shared_.end_granted(path, "ended: the lease was over");
      tell_ended(egress::Change::What::kSocket, path);
    }
    for (const std::string& name : shared_.vault.expire(now)) {
      shared_.end_with_secret(name, "ended: the lease of a secret was over");
      tell_ended(egress::Change::What::kSecret, name);
    }
  }
}

Task<void> Server::finish() {
  shared_.over = true;
  for (Flow* flow : shared_.flows) flow->abort("");
  const Clock::time_point deadline = Clock::now() + kToFinish;
  // Whoever came before the end is told of, though nobody has looked at it yet: until a few turns bring nobody new.
  for (std::uint64_t seen = shared_.taken + 1; seen != shared_.taken && Clock::now() < deadline;) {
    seen = shared_.taken;
    constexpr int kTurns = 3;
    for (int turn = 0; turn < kTurns; ++turn) co_await shared_.loop.others();
  }
  for (Flow* flow : shared_.flows) flow->abort("");
  while (!shared_.flows.empty() && Clock::now() < deadline) co_await shared_.loop.until(Clock::now() + Millis(1));
  // Who waits for a nameserver is not woken; the engine hears of it all the same.
  for (Flow* flow : shared_.flows) flow->tell("the run ended");
  shared_.link->send(
      {.kind = egress::Kind::kTally},
      egress::encode(egress::Tally{.lost = lost_attempts(shared_), .rate_waited = shared_.meter.waited(Clock::now())}));
  shared_.link->send({.kind = egress::Kind::kFinished});
  const Clock::time_point written_by = Clock::now() + kToFinish;
  while (!shared_.link->is_empty() && Clock::now() < written_by) co_await shared_.loop.until(Clock::now() + Millis(1));
  shared_.loop.stop();
}

}  // namespace cloche::gateway
