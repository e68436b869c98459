#include "gateway/socket_service.h"

#include <algorithm>
#include <utility>

#include "gateway/door.h"
#include "gateway/duct.h"
#include "gateway/live_rules.h"
#include "gateway/opaque.h"
#include "gateway/secret_scan.h"
#include "gateway/shared.h"
#include "proto/rpc_broker.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kPart = 32 * 1024;
constexpr Millis kForRoom{50};

Verdict verdict_of(proto::RpcVerdict verdict) {
  return verdict == proto::RpcVerdict::kAllowed ? Verdict::kAllowed : Verdict::kDenied;
}

void tell_calls(Shared& shared, const std::string& path, std::vector<proto::RpcCall> calls) {
  for (proto::RpcCall& call : calls) {
    const Call told{.at = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - shared.began),
                    .socket = path,
                    .method = std::move(call.method),
                    .id = std::move(call.id),
                    .verdict = verdict_of(call.verdict),
                    .reason = std::move(call.reason)};
    shared.link->send({.kind = egress::Kind::kCall}, egress::encode(told));
  }
}

// Bytes of the broker's that one side has not taken yet.
struct Outbox {
  std::string bytes;
  std::size_t taken = 0;

  bool empty() const { return taken == bytes.size(); }
  std::size_t held() const { return bytes.capacity(); }
  void add(std::string more) {
    if (empty()) {
      bytes = std::move(more);
      taken = 0;
    } else {
      bytes += more;
    }
  }
  Moved send(Duct& to) {
    std::string_view left = std::string_view(bytes).substr(taken);
    const Moved moved = to.write(left);
    taken = bytes.size() - left.size();
    if (empty()) {
      std::string().swap(bytes);  // gives the room back
      taken = 0;
    }
    return moved;
  }
};

Task<void> broker(Shared& shared, Flow& flow, Stream& client, Stream& server, const egress::Socket& socket) {
  const proto::RpcRule rule{.methods = socket.methods, .context = socket.context, .max_message = socket.max_message};
  proto::RpcBroker broker(rule);
  // A message where it is read, its room for more, what is made of it, and that once more on its way out.
  BrokerRoom::Share share(shared.broker_room, 8 * rule.max_message + 5 * rule.max_answer);
  PlainDuct guest(client);
  PlainDuct service(server);
  SecretScan scan = shared.vault.scan();
  Outbox to_guest;
  Outbox to_service;
  bool guest_ended = false;
  bool service_ended = false;
  bool service_told = false;
  while (!flow.aborted()) {
    bool moved = false;
    std::size_t in = 0;
    std::size_t out = 0;
    std::string bytes;
    share.set_held(broker.held() + to_guest.held() + to_service.held());
    const bool may_read = share.may_grow();
    if (may_read && !guest_ended && broker.wants_client_bytes() && to_service.empty() && !shared.link->is_behind()) {
      const Moved got = guest.read(bytes, kPart);
      if (!bytes.empty()) broker.client_bytes(bytes);
      out = bytes.size();
      if (got == Moved::kEnd || got == Moved::kBroken) {
        guest_ended = true;
        broker.client_closed();
      }
      moved = got != Moved::kNothing;
    }
    bytes.clear();
    if (may_read && !service_ended && broker.wants_service_bytes() && to_guest.empty()) {
      const Moved got = service.read(bytes, kPart);
      if (!bytes.empty()) broker.service_bytes(bytes);
      in = bytes.size();
      if (got == Moved::kEnd || got == Moved::kBroken) {
        service_ended = true;
        broker.service_closed();
      }
      moved = moved || got != Moved::kNothing;
    }
    tell_calls(shared, socket.path, broker.take_records());
    // Counted before it is passed on: a limit is not for what has gone.
    const bool in_fine = co_await account(shared, flow, Way::kIn, in);
    const bool out_fine = co_await account(shared, flow, Way::kOut, out);
    if (!in_fine || !out_fine) break;
    // What the broker wrote has one spelling, and comes by whole messages: nothing need be held back.
    if (to_service.empty()) to_service.add(scan.feed(broker.take_for_service()) + scan.let_go());
    if (scan.stopped()) {
      flow.deny(scan.reason());
      break;
    }
    if (to_guest.empty()) to_guest.add(broker.take_for_client());
    const bool guest_gone = !to_guest.empty() && to_guest.send(guest) == Moved::kBroken;
    const bool service_gone = !to_service.empty() && to_service.send(service) == Moved::kBroken;
    if (guest_gone || (service_gone && to_guest.empty())) break;
    if (broker.state() != proto::RpcBroker::State::kOpen && to_service.empty() && !std::exchange(service_told, true)) {
      service.end();
    }
    if (broker.state() == proto::RpcBroker::State::kEnded && to_guest.empty()) break;
    if (guest_ended && service_ended) break;
    if (moved) {
      co_await shared.loop.others();
    } else {
      // Neither a full link nor room that others make has news for us: look again soon.
      const Clock::time_point again = shared.link->is_behind() ? Clock::now() + Millis(10)
                                      : !may_read              ? Clock::now() + kForRoom
                                                               : kNever;
      co_await Stream::news(client, server, again);
    }
  }
  if (!broker.end_reason().empty()) flow.record.reason += "; ended: " + broker.end_reason();
  guest.end();
}

}  // namespace

LiveSockets::LiveSockets(std::vector<egress::Socket> sockets, Clock::time_point now) {
  for (egress::Socket& socket : sockets) {
    const Clock::time_point end = end_of(socket.lasts, now);
    items_.push_back({std::move(socket), end > now, end});
  }
}

LiveSockets::Item* LiveSockets::find(std::string_view path) {
  const auto found = std::ranges::find_if(items_, [&](const Item& item) { return item.socket.path == path; });
  return found == items_.end() ? nullptr : &*found;
}

Status LiveSockets::grant(std::string_view path, const egress::Lasts& lasts, Clock::time_point now) {
  Item* item = find(path);
  if (item == nullptr) {
    return fail(ErrorCode::kInvalidInput, "grant", std::string(path) + " was not among the run's sockets at its start",
                "list it in sockets.allow with for = \"0s\" to grant it later");
  }
  item->granted = true;
  item->end = end_of(lasts, now);
  return {};
}

Status LiveSockets::revoke(std::string_view path) {
  Item* item = find(path);
  if (item == nullptr || !item->granted) {
    return fail(ErrorCode::kNotFound, "revoke", "the run has no grant of " + std::string(path));
  }
  item->granted = false;
  return {};
}

Clock::time_point LiveSockets::next_end() const {
  Clock::time_point next = kNever;
  for (const Item& item : items_) {
    if (item.granted) next = std::min(next, item.end);
  }
  return next;
}

std::vector<std::string> LiveSockets::expire(Clock::time_point now) {
  std::vector<std::string> over;
  for (Item& item : items_) {
    if (!item.granted || item.end > now) continue;
    item.granted = false;
    over.push_back(item.socket.path);
  }
  return over;
}

Task<void> serve_socket(Shared& shared, std::size_t index, Fd client_fd) {
  auto client = Stream::make(shared.loop, std::move(client_fd));
  if (!client || index >= shared.sockets.size()) co_return;
  const egress::Socket socket = shared.sockets.at(index);
  Flow flow(shared, Via::kSocket);
  flow.record.name = socket.path;
  if (!shared.sockets.is_granted(index)) {
    flow.deny("the socket is not granted at the moment");
    co_return;
  }
  flow.granted = {socket.path};
  if (shared.over) {
    flow.fail("the run ended");
    co_return;
  }
  if (!count_connection(shared, flow)) co_return;
  flow.set_client(client->get());
  auto dialled = co_await shared.socket_dialer.dial(*shared.link, index);
  if (!dialled) {
    flow.fail(dialled.error().text());
    flow.set_client(nullptr);
    co_return;
  }
  auto server = Stream::make(shared.loop, std::move(*dialled));
  if (server && !flow.aborted()) {
    flow.set_server(server->get());
    flow.allow(socket.path);
    if (socket.has_rules) {
      co_await broker(shared, flow, **client, **server, socket);
    } else {
      co_await pass_opaque(shared, flow, **client, **server, "");
    }
  }
  flow.set_client(nullptr);
  flow.set_server(nullptr);
}

}  // namespace cloche::gateway
