#include "gateway/opaque.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "gateway/door.h"
#include "gateway/first_words.h"
#include "gateway/pump.h"
#include "gateway/secret_scan.h"
#include "gateway/shared.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kPart = 16 * 1024;

// From the guest: nothing that holds a placeholder gets through.
Task<void> pump_scanned(Shared& shared, Flow& flow, Stream& from, Stream& to, SecretScan scan, std::string early,
                        Ends& ends) {
  char part[16 * 1024];
  for (std::string bytes = std::move(early);;) {
    const bool go_on = co_await account(shared, flow, Way::kOut, bytes.size());
    if (!go_on) co_return;
    const std::string clean = scan.feed(bytes);
    if (scan.stopped()) {
      flow.deny(scan.reason());
      flow.abort("");
      co_return;
    }
    const int error = co_await to.write_all(clean);
    if (error != 0) {
      ends.cut = true;  // what it said before is passed on by the other way's pump
      co_await outlast(shared, flow, from, to);
      co_return;
    }
    const std::int64_t n = co_await from.read_some(part, sizeof part, scan.holds() ? Clock::now() + kToHold : kNever);
    if (n == -ETIMEDOUT && scan.holds()) {
      bytes.clear();
      const std::string rest = scan.let_go();
      const int broken = co_await to.write_all(rest);
      if (broken != 0) {
        ends.cut = true;
        co_await outlast(shared, flow, from, to);
        co_return;
      }
      continue;
    }
    if (n < 0 || (n == 0 && ends.cut)) {
      co_await cut_both(shared, from, to);
      co_return;
    }
    if (n == 0) {
      const std::string rest = scan.finish();
      co_await to.write_all(rest);
      to.end_of_writing();
      co_return;
    }
    bytes.assign(part, static_cast<std::size_t>(n));
  }
}

// relay(), but what goes out is looked through.
Task<void> relay_scanned(Shared& shared, Flow& flow, Stream& client, Stream& server, SecretScan scan,
                         std::string early) {
  Ends ends;
  co_await Both(pump_scanned(shared, flow, client, server, std::move(scan), std::move(early), ends),
                pump(shared, flow, server, client, Way::kIn, ends));
}

// The first bytes of both sides, until nothing need be looked at any more.
class Watch {
 public:
  Watch(Shared& shared, Flow& flow, Stream& client, Stream& server)
      : shared_(shared), flow_(flow), client_(client), server_(server), scan_(shared.vault.scan()) {}

  enum class Then {
    kRelay,  // the rest passes unwatched; an end that was seen is seen again
    kOver,   // everything has ended, and was told
    kHttp,   // it is a request, or the answer to one
    kDeaf,   // the server takes no more
  };
  Task<Then> run(std::string early);
  SecretScan take_scan() { return std::move(scan_); }

 private:
  Task<Then> from_guest(std::string_view bytes);
  Task<Then> from_server(std::string_view bytes);
  Task<Then> send_on(std::string bytes);
  Task<Then> tell_guest(std::string_view bytes);

  Shared& shared_;
  Flow& flow_;
  Stream& client_;
  Stream& server_;
  SecretScan scan_;
  FirstWords words_;
  std::string held_;  // the server's first bytes
  bool server_ended_ = false;
  bool is_over_ = false;
};

Task<Watch::Then> Watch::send_on(std::string bytes) {
  const int error = co_await server_.write_all(bytes);
  co_return error != 0 ? Then::kDeaf : Then::kRelay;
}

Task<Watch::Then> Watch::from_guest(std::string_view bytes) {
  const bool go_on = co_await account(shared_, flow_, Way::kOut, bytes.size());
  if (!go_on) co_return Then::kOver;
  if (!words_.guest_says(bytes)) co_return Then::kHttp;
  is_over_ = is_over_ || words_.said_much();
  std::string clean = scan_.feed(bytes);
  if (scan_.stopped()) {
    flow_.deny(scan_.reason());
    flow_.abort("");
    co_return Then::kOver;
  }
  co_return co_await send_on(std::move(clean));
}

Task<Watch::Then> Watch::tell_guest(std::string_view bytes) {
  const int error = co_await client_.write_all(bytes);
  if (error == 0) co_return Then::kRelay;
  server_.reset_on_close();
  co_return Then::kOver;
}

Task<Watch::Then> Watch::from_server(std::string_view bytes) {
  const bool go_on = co_await account(shared_, flow_, Way::kIn, bytes.size());
  if (!go_on) co_return Then::kOver;
  held_ += bytes;
  switch (FirstWords::server_of(held_)) {
    case FirstWords::Server::kUnknown:
      co_return Then::kRelay;
    case FirstWords::Server::kHttp:
      co_return Then::kHttp;
    case FirstWords::Server::kOther:
      break;
  }
  is_over_ = true;
  const std::string said = std::exchange(held_, {});
  co_return co_await tell_guest(said);
}

Task<Watch::Then> Watch::run(std::string early) {
  Then then = co_await from_guest(early);
  while (then == Then::kRelay && !is_over_) {
    char part[kPart];
    const Clock::time_point deadline = scan_.holds() ? Clock::now() + kToHold : kNever;
    const bool in_time =
        server_ended_ ? co_await client_.readable(deadline) : co_await Stream::either(client_, server_, deadline);
    if (!in_time) {
      then = co_await send_on(scan_.let_go());
      continue;
    }
    const bool guest = client_.is_readable();
    Stream& from = guest ? client_ : server_;
    const std::int64_t n = co_await from.read_some(part, sizeof part, Clock::now());
    if (n == -ETIMEDOUT) continue;
    if (n < 0) {
      co_await cut_both(shared_, from, guest ? server_ : client_);
      co_return Then::kOver;
    }
    const std::string_view bytes(part, static_cast<std::size_t>(n));
    if (n > 0) {
      then = guest ? co_await from_guest(bytes) : co_await from_server(bytes);
      continue;
    }
    if (guest) break;
    // It says nothing more, but may still listen.
    server_ended_ = true;
    then = co_await tell_guest(std::exchange(held_, {}));
    client_.end_of_writing();
  }
  if (then == Then::kRelay && !held_.empty()) then = co_await tell_guest(std::exchange(held_, {}));
  co_return then;
}

}  // namespace

Task<void> pass_opaque(Shared& shared, Flow& flow, Stream& client, Stream& server, std::string early) {
  if (shared.vault.has_secrets()) {
    co_await relay_scanned(shared, flow, client, server, shared.vault.scan(), std::move(early));
  } else {
    co_await relay(shared, flow, client, server, std::move(early));
  }
}

Task<void> pass_watched(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target,
                        std::string early) {
  Watch watch(shared, flow, client, server);
  switch (co_await watch.run(std::move(early))) {
    case Watch::Then::kRelay:
      if (shared.vault.has_secrets()) {
        co_await relay_scanned(shared, flow, client, server, watch.take_scan(), "");
      } else {
        co_await relay(shared, flow, client, server);
      }
      break;
    case Watch::Then::kHttp:
      flow.deny("a request that does not begin as one of HTTP came on a connection to " + target.text());
      server.reset_on_close();
      co_await refuse_http(client, flow.record.reason);
      break;
    case Watch::Then::kDeaf:
      co_await hear_out(shared, flow, client, server);
      break;
    case Watch::Then::kOver:
      break;
  }
}

}  // namespace cloche::gateway
