#include "gateway/http_carrier.h"

#include <utility>
#include <vector>

#include "gateway/door.h"
#include "gateway/pump.h"
#include "gateway/shared.h"
#include "proto/address_class.h"

namespace cloche::gateway {
namespace {

// How long an exchange whose client will not say anything more may stand still.
constexpr Millis kForSilentClient{60'000};

proto::HttpError forbidden(std::string text) { return {.status = 403, .text = std::move(text)}; }

// One client with an exchange, and whatever server it has at the moment.
class Carrier {
 public:
  Carrier(Shared& shared, Duct& client) : shared_(shared), client_(client) {}

  proto::HttpExchange& exchange() { return exchange_; }
  void set_server(Duct* server, Flow* flow) {
    server_ = server;
    flow_ = flow;
    server_ended_ = server_told_ = false;
  }
  std::string stopped_by() const { return watcher_.stopped_by(); }
  std::string server_problem() const { return server_ != nullptr ? server_->problem() : std::string(); }
  // Before a request is passed on: what is looked for in its body and in the answer starts anew.
  void begin_request(const Target& target) { watcher_.begin(shared_.vault, target); }
  // What the client had said before.
  void begin(std::string_view early) {
    exchange_.from_client(early);
    out_ += early.size();
  }

  // Moves bytes until a request waits for a verdict (true) or everything is over (false).
  Task<bool> to_next_request();

 private:
  bool step_client();  // whether anything moved
  bool step_server();
  void flush_both();
  Task<bool> account_all();

  Shared& shared_;
  Duct& client_;
  Duct* server_ = nullptr;
  Flow* flow_ = nullptr;
  SecretWatcher watcher_;
  proto::HttpExchange exchange_{&watcher_};
  std::size_t in_ = 0;  // moved, not yet accounted
  std::size_t out_ = 0;
  bool client_ended_ = false;
  bool client_gone_ = false;  // not only silent: nobody takes what is written
  bool server_ended_ = false;
  bool client_told_ = false;
  bool server_told_ = false;
};

bool Carrier::step_client() {
  bool moved = false;
  if (!client_ended_ && exchange_.want_client_bytes()) {
    std::string bytes;
    const Moved got = client_.read(bytes, exchange_.client_room());
    if (!bytes.empty()) exchange_.from_client(bytes);
    out_ += bytes.size();
    client_gone_ = client_gone_ || got == Moved::kBroken;
    if (got == Moved::kEnd || got == Moved::kBroken) {
      client_ended_ = true;
      exchange_.client_closed();
    }
    moved = got != Moved::kNothing;
  }
  std::string_view out = exchange_.to_client();
  const std::size_t before = out.size();
  if (before > 0) {
    const Moved sent = client_.write(out);
    if (sent == Moved::kBroken) {
      client_gone_ = true;
      return true;
    }
    exchange_.client_took(before - out.size());
    moved = moved || out.size() < before;
  }
  if (!client_told_ && exchange_.phase() == proto::HttpPhase::kOpaque && exchange_.client_gets_end()) {
    client_told_ = true;
    client_.end();
  }
  return moved;
}

bool Carrier::step_server() {
  if (server_ == nullptr) return false;
  bool moved = false;
  std::string_view out = exchange_.to_server();
  const std::size_t before = out.size();
  if (before > 0) {
    const Moved sent = server_->write(out);
    if (sent == Moved::kBroken) {
      exchange_.server_took(before);
    } else {
      exchange_.server_took(before - out.size());
    }
    moved = out.size() < before || sent == Moved::kBroken;
  }
  if (!server_ended_ && exchange_.want_server_bytes()) {
    std::string bytes;
    const Moved got = server_->read(bytes, exchange_.server_room());
    if (!bytes.empty()) exchange_.from_server(bytes);
    in_ += bytes.size();
    if (got == Moved::kEnd || got == Moved::kBroken) {
      server_ended_ = true;
      // What is wrong with a server is told in the answer to the next request, if one comes.
      std::string problem = server_->problem();
      if (exchange_.phase() != proto::HttpPhase::kHead || problem.empty()) exchange_.server_closed(std::move(problem));
    }
    moved = moved || got != Moved::kNothing;
  }
  if (!server_told_ && exchange_.phase() == proto::HttpPhase::kOpaque && exchange_.server_gets_end()) {
    server_told_ = true;
    server_->end();
  }
  return moved;
}

// TLS may have something to say that nobody wrote.
void Carrier::flush_both() {
  (void)client_.flush();
  if (server_ != nullptr) (void)server_->flush();
}

Task<bool> Carrier::account_all() {
  // What comes before there is a connection counts with the one that it leads to.
  if (flow_ == nullptr) co_return !shared_.over;
  const std::size_t in = std::exchange(in_, 0);
  const std::size_t out = std::exchange(out_, 0);
  if (in + out == 0) co_return !shared_.over;
  const bool more = co_await account(shared_, *flow_, Way::kIn, in);
  if (!more) co_return false;
  co_return co_await account(shared_, *flow_, Way::kOut, out);
}

Task<bool> Carrier::to_next_request() {
  constexpr int kTurns = 32;
  for (int turn = 0;; ++turn) {
    // Counted before it is passed on: a limit is not for what has gone.
    const bool from_client = step_client();
    bool go_on = co_await account_all();
    if (!go_on) co_return false;
    const bool from_server = step_server();
    go_on = co_await account_all();
    flush_both();
    const bool moved = from_client || from_server;
    if (!go_on || (flow_ != nullptr && flow_->aborted())) co_return false;
    if (client_gone_) {
      if (server_ != nullptr) server_->stream().reset_on_close();
      co_return false;
    }
    if (exchange_.waiting() != nullptr) co_return true;
    if (exchange_.phase() == proto::HttpPhase::kDone && exchange_.to_client().empty()) {
      if (exchange_.cut_off()) client_.stream().reset_on_close();
      client_.end();
      for (int i = 0; i < 100 && client_.flush() == Moved::kNothing; ++i) co_await client_.stream().writable();
      co_return false;
    }
    if (client_ended_ && (server_ == nullptr || server_ended_)) co_return false;
    if (moved) {
      if (turn % kTurns == kTurns - 1) co_await shared_.loop.others();
      continue;
    }
    Stream& second = server_ != nullptr ? server_->stream() : client_.stream();
    Clock::time_point deadline = kNever;
    if (client_ended_) deadline = Clock::now() + kForSilentClient;
    // A pause is one of theirs: not of a guest that does not read, nor of bytes that wait to be read.
    const bool all_passed = exchange_.to_client().empty() && exchange_.to_server().empty() &&
                            !client_.stream().is_readable() && !second.is_readable();
    const bool pauses = watcher_.holds() && all_passed && exchange_.phase() != proto::HttpPhase::kHead;
    if (pauses) deadline = Clock::now() + kToHold;
    const bool in_time = co_await Stream::news(client_.stream(), second, deadline);
    if (in_time) continue;
    if (pauses) {
      exchange_.pause();
    } else {
      client_gone_ = true;  // it has closed its side long ago and nothing has moved since
    }
  }
}

// Puts in the secrets that belong there. False: the request was refused, and the flow says why.
bool pass_on(Shared& shared, Flow& flow, Carrier& carrier, const Target& target, Wrapping wrapping) {
  proto::HttpExchange& exchange = carrier.exchange();
  if (std::string problem = carrier.server_problem(); !problem.empty()) {
    flow.fail(problem);
    exchange.refuse({.status = 502, .text = std::move(problem)});
    return false;
  }
  if (exchange.server_left()) {
    exchange.server_lost();
    return false;
  }
  carrier.begin_request(target);
  proto::HttpRequestHead head = *exchange.waiting();
  if (auto stopped = shared.vault.put_in(head, target, wrapping, flow.secrets)) {
    flow.deny(stopped->text);
    exchange.refuse(std::move(*stopped));
    return false;
  }
  if (const Status sent = exchange.allow(std::move(head)); !sent) {
    flow.deny(sent.error().message);
    exchange.refuse({.status = 400, .text = sent.error().message});
    return false;
  }
  return true;
}

// A request that can be read in two ways, or in none, was refused; an answer like that is the server's fault.
void note_failure(Flow& flow, const proto::HttpError& failure) {
  constexpr int kServersFault = 500;
  if (flow.record.verdict != Verdict::kAllowed) return;
  if (failure.status < kServersFault && !failure.hung_up) {
    flow.deny(failure.text);
  } else {
    flow.record.reason += "; ended: " + failure.text;
  }
}

// Why this request may not pass on a connection that is for one place; nothing: it may.
std::optional<std::string> objection(const proto::HttpRequestHead& head, const Target& target, std::uint16_t port) {
  if (head.method == "CONNECT") return "a CONNECT inside of a connection to " + target.text() + " is not passed on";
  const proto::HttpAuthority* authority = head.authority();
  if (authority == nullptr) return "a request without a Host header is not passed on to " + target.text();
  if (!head.authorities_agree(port)) return std::string("the request's target and its Host header name two places");
  if (!names_place(*authority, target, port)) {
    return "a request for " + authority->text() + " came on a connection to " + target.text();
  }
  return std::nullopt;
}

}  // namespace

bool names_place(const proto::HttpAuthority& authority, const Target& target, std::uint16_t default_port) {
  if (authority.port.value_or(default_port) != target.port) return false;
  if (!target.name) {
    const auto address = proto::parse_ip(authority.host);
    return address && address->canonical() == target.address.canonical();
  }
  if (const auto name = proto::parse_host_name(authority.host)) return *name == *target.name;
  // "localhost" and its addresses are one place.
  const auto address = proto::parse_ip(authority.host);
  return address && target.name->text() == "localhost" && proto::classify(*address) == proto::AddressClass::kLoopback;
}

Task<void> carry_http(Shared& shared, Flow& flow, Duct& client, Duct& server, const Target& target, Wrapping wrapping,
                      std::string early) {
  const std::uint16_t scheme_port = wrapping == Wrapping::kTls ? 443 : 80;
  Carrier carrier(shared, client);
  carrier.set_server(&server, &flow);
  carrier.begin(early);
  for (;;) {
    const bool waiting = co_await carrier.to_next_request();
    if (!waiting) break;
    proto::HttpExchange& exchange = carrier.exchange();
    if (auto why = objection(*exchange.waiting(), target, scheme_port)) {
      flow.deny(*why);
      exchange.refuse(forbidden(std::move(*why)));
    } else {
      pass_on(shared, flow, carrier, target, wrapping);
    }
  }
  if (!carrier.stopped_by().empty()) {
    flow.deny(carrier.stopped_by());
  } else if (const auto& failure = carrier.exchange().failure()) {
    note_failure(flow, *failure);
  }
}

Task<void> carry_proxied(Shared& shared, Stream& client, std::string early, const OnConnect& on_connect) {
  PlainDuct client_duct(client);
  Carrier carrier(shared, client_duct);
  std::optional<Flow> flow;
  std::unique_ptr<Stream> server;
  std::optional<PlainDuct> server_duct;
  std::optional<Target> target;
  carrier.begin(early);
  for (;;) {
    const bool waiting = co_await carrier.to_next_request();
    if (!waiting) break;
    proto::HttpExchange& exchange = carrier.exchange();
    const proto::HttpRequestHead& head = *exchange.waiting();
    const bool connects = head.method == "CONNECT";
    auto wanted = proxy_target(shared, head);
    if (wanted && connects) {
      std::string rest = exchange.release_client_bytes();
      co_await on_connect(std::move(*wanted), std::move(rest));
      co_return;
    }
    if (wanted && target && wanted->text() == target->text() && flow && !flow->aborted() && !exchange.server_left()) {
      pass_on(shared, *flow, carrier, *target, Wrapping::kPlain);
      continue;
    }
    // Another place, or one whose server has ended: another connection, and another record.
    co_await link_in_time(shared);
    carrier.set_server(nullptr, nullptr);
    server_duct.reset();
    if (flow) {
      flow->set_client(nullptr);
      flow->set_server(nullptr);
    }
    flow.reset();
    server.reset();
    flow.emplace(shared, Via::kProxy);
    if (!wanted) {
      flow->deny(wanted.error().message);
      exchange.refuse(forbidden(wanted.error().message));
      continue;
    }
    target = std::move(*wanted);
    flow->set_client(&client);
    auto reached = co_await reach(shared, *flow, *target);
    if (!reached) {
      exchange.refuse({.status = reached.error().code == ErrorCode::kRefused ? 403 : 502, .text = flow->record.reason});
      continue;
    }
    server = std::move(*reached);
    flow->set_server(server.get());
    server_duct.emplace(*server);
    exchange.new_server();
    carrier.set_server(&*server_duct, &*flow);
    pass_on(shared, *flow, carrier, *target, Wrapping::kPlain);
  }
  const auto& failure = carrier.exchange().failure();
  if (!failure) co_return;
  if (!flow) {
    flow.emplace(shared, Via::kProxy);
    flow->deny(failure->text);
  } else if (!carrier.stopped_by().empty()) {
    flow->deny(carrier.stopped_by());
  } else {
    note_failure(*flow, *failure);
  }
}

}  // namespace cloche::gateway
