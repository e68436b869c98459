// From the first bytes of a guest to the end of its connection.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

#include "gateway/classify.h"
#include "gateway/door.h"
#include "gateway/first_words.h"
#include "gateway/http_carrier.h"
#include "gateway/opaque.h"
#include "gateway/shared.h"
#include "gateway/tls_duct.h"
#include "proto/client_hello.h"
#include "proto/hello_retry.h"

namespace cloche::gateway {
namespace {

constexpr std::size_t kPart = 16 * 1024;

constexpr Millis kToAnswer{60'000};

enum class Heard { kClient, kClientEnd, kEnd };

// What the server said before the guest did. One that greets is no server of requests, unless it says in the words of
// HTTP that it has waited long enough for one.
class Greeting {
 public:
  void add(std::string_view bytes) { begin_ += bytes.substr(0, kBegin - std::min(begin_.size(), kBegin)); }
  bool is_empty() const { return begin_.empty(); }
  bool is_other() const { return FirstWords::server_of(begin_) == FirstWords::Server::kOther; }

 private:
  static constexpr std::size_t kBegin = 16;
  std::string begin_;
};

// Reads the guest's next bytes; what the server says meanwhile is passed on, since some servers greet first. A host of
// a secret does not: what it says is for those who look through answers.
Task<Heard> hear(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target, std::string& early,
                 Greeting& greeting) {
  for (;;) {
    char part[kPart];
    co_await Stream::either(client, server, kNever);
    if (client.is_readable()) {
      const std::int64_t n = co_await client.read_some(part, sizeof part, Clock::now());
      if (n == -ETIMEDOUT) continue;
      if (n < 0) server.reset_on_close();
      if (n <= 0) co_return n == 0 ? Heard::kClientEnd : Heard::kEnd;
      early.append(part, static_cast<std::size_t>(n));
      co_return Heard::kClient;
    }
    const std::int64_t n = co_await server.read_some(part, sizeof part, Clock::now());
    if (n == -ETIMEDOUT) continue;
    if (n < 0) client.reset_on_close();
    if (n <= 0) co_return Heard::kEnd;
    const bool go_on = co_await account(shared, flow, Way::kIn, static_cast<std::size_t>(n));
    if (!go_on) co_return Heard::kEnd;
    if (shared.vault.has_secret_for(target)) {
      flow.record.reason += "; ended: the server spoke first, and with a host of a secret HTTP and TLS are spoken only";
      co_return Heard::kEnd;
    }
    greeting.add(std::string_view(part, static_cast<std::size_t>(n)));
    const int error = co_await client.write_all(std::string_view(part, static_cast<std::size_t>(n)));
    if (error != 0) co_return Heard::kEnd;
  }
}

// What is wrong with a greeting on a connection to this name; empty: nothing.
std::string objection(const proto::ClientHello& hello, const Target& target) {
  if (hello.has_ech) return "the name in the TLS greeting is encrypted";
  if (!hello.server_name) return "the TLS greeting names no host";
  if (*hello.server_name == *target.name) return {};
  return "a TLS greeting for " + hello.server_name->text() + " came on a connection to " + target.text();
}

using ParseHello = proto::HelloResult (*)(std::string_view bytes);

// Reads a greeting into `early`; how long it is, or nothing: it came to nothing, and that was told.
Task<std::optional<std::size_t>> hear_hello(Shared& shared, Flow& flow, Stream& client, Stream& server,
                                            const Target& target, std::string& early, ParseHello parse) {
  Greeting greeting;
  for (;;) {
    const proto::HelloResult read = parse(early);
    std::string why;
    if (const auto* hello = std::get_if<proto::ClientHello>(&read)) {
      why = objection(*hello, target);
      if (why.empty()) co_return hello->consumed;
    } else if (const auto* malformed = std::get_if<proto::HelloMalformed>(&read)) {
      why = malformed->reason;
    } else if (std::holds_alternative<proto::HelloNotTls>(read)) {
      why = "the TLS greeting is none";
    }
    if (!why.empty()) {
      flow.deny(std::move(why));
      co_await refuse_tls(client);
      co_return std::nullopt;
    }
    const Heard heard = co_await hear(shared, flow, client, server, target, early, greeting);
    if (heard != Heard::kClient) co_return std::nullopt;
  }
}

// The server's first message, passed on; true if it asks for another greeting.
Task<std::optional<bool>> hear_server(Shared& shared, Flow& flow, Stream& client, Stream& server) {
  std::string first;
  for (;;) {
    char part[kPart];
    const std::int64_t n = co_await server.read_some(part, sizeof part);
    if (n < 0) client.reset_on_close();
    if (n == 0) client.end_of_writing();
    if (n <= 0) co_return std::nullopt;
    first.append(part, static_cast<std::size_t>(n));
    const bool go_on = co_await account(shared, flow, Way::kIn, static_cast<std::size_t>(n));
    if (!go_on) co_return std::nullopt;
    const int error = co_await client.write_all(std::string_view(part, static_cast<std::size_t>(n)));
    if (error != 0) co_return std::nullopt;
    const proto::ServerFirst seen = proto::look_at_server(first);
    if (seen != proto::ServerFirst::kNeedMore) co_return seen == proto::ServerFirst::kAsksAgain;
  }
}

// TLS that passes through us: the greeting is looked at, and the second one if the server asks for it. So nothing that
// came behind the first goes on before the server has spoken: it might be a second one that nobody has looked at.
Task<void> pass_tls(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target, std::string early,
                    std::size_t greeting) {
  std::string rest = early.substr(greeting);
  early.resize(greeting);
  const bool go_on = co_await account(shared, flow, Way::kOut, early.size());
  if (!go_on) co_return;
  const int error = co_await server.write_all(early);
  if (error != 0) co_return;
  const std::optional<bool> again = co_await hear_server(shared, flow, client, server);
  if (!again) co_return;
  if (*again) {
    const auto second = co_await hear_hello(shared, flow, client, server, target, rest, proto::parse_second_hello);
    if (!second) co_return;
  }
  co_await pass_opaque(shared, flow, client, server, std::move(rest));
}

Task<void> carry_tls(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target,
                     std::string early) {
  const auto greeting = co_await hear_hello(shared, flow, client, server, target, early, proto::parse_client_hello);
  if (!greeting) co_return;
  if (!shared.vault.ends_tls()) {
    co_await pass_tls(shared, flow, client, server, target, std::move(early), *greeting);
    co_return;
  }
  TlsDuct guest_side(client, shared.vault.towards_guest(target.name->text()));
  TlsDuct server_side(server, shared.vault.towards_server(target.name->text()));
  guest_side.feed(early);
  co_await carry_http(shared, flow, guest_side, server_side, target, Wrapping::kTls, "");
  if (!server_side.problem().empty() && flow.record.bytes_in == 0) {
    flow.fail(server_side.problem());
  } else if (!server_side.problem().empty()) {
    flow.record.reason += "; " + server_side.problem();
  }
  if (!guest_side.problem().empty()) flow.record.reason += "; " + guest_side.problem();
}

constexpr char kYesToTls = 'S';

// Passes PostgreSQL's question on, and the one byte that answers it; nothing: it came to an end. What the guest has
// sent behind the question waits for the answer, which says what it is.
Task<std::optional<char>> ask_for_tls(Shared& shared, Flow& flow, Stream& client, Stream& server, std::string& early) {
  const std::string question = early.substr(0, kTlsQuestion);
  early.erase(0, kTlsQuestion);
  bool go_on = co_await account(shared, flow, Way::kOut, question.size());
  if (!go_on) co_return std::nullopt;
  int error = co_await server.write_all(question);
  if (error != 0) co_return std::nullopt;
  char answer = 0;
  const std::int64_t n = co_await server.read_some(&answer, 1, Clock::now() + kToAnswer);
  if (n < 0) client.reset_on_close();
  if (n <= 0) co_return std::nullopt;
  go_on = co_await account(shared, flow, Way::kIn, 1);
  if (!go_on) co_return std::nullopt;
  error = co_await client.write_all(std::string_view(&answer, 1));
  if (error != 0) co_return std::nullopt;
  co_return answer;
}

// What is inside is no HTTP: it passes as it is, checked by its name, also where other TLS ends here.
Task<void> carry_tls_behind(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target,
                            std::string early) {
  const auto greeting = co_await hear_hello(shared, flow, client, server, target, early, proto::parse_client_hello);
  if (greeting) co_await pass_tls(shared, flow, client, server, target, std::move(early), *greeting);
}

}  // namespace

Task<void> carry(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target, std::string early) {
  if (!target.name) {
    co_await pass_opaque(shared, flow, client, server, std::move(early));
    co_return;
  }
  const bool has_secret = shared.vault.has_secret_for(target);
  Greeting greeting;
  Speech speech = classify_speech(early, greeting.is_other());
  while (speech == Speech::kMore || (speech == Speech::kAsksTls && !has_secret)) {
    if (speech == Speech::kAsksTls) {
      const std::optional<char> answer = co_await ask_for_tls(shared, flow, client, server, early);
      if (!answer) co_return;
      if (*answer == kYesToTls) {
        co_await carry_tls_behind(shared, flow, client, server, target, std::move(early));
        co_return;
      }
      greeting.add(std::string_view(&*answer, 1));
      speech = classify_speech(early, greeting.is_other());
      continue;
    }
    const Heard heard = co_await hear(shared, flow, client, server, target, early, greeting);
    if (heard == Heard::kClientEnd && early.empty() && !has_secret) {
      co_await pass_opaque(shared, flow, client, server, "");  // it will say nothing; the other side may
      co_return;
    }
    // One side ended before the guest said anything that could be checked: what it may still want to say is not.
    if (heard != Heard::kClient) co_return;
    speech = classify_speech(early, greeting.is_other());
  }
  switch (speech) {
    case Speech::kTls:
      if (!greeting.is_empty()) {
        flow.deny("TLS began after the server had spoken");
        co_await refuse_tls(client);
      } else {
        co_await carry_tls(shared, flow, client, server, target, std::move(early));
      }
      break;
    case Speech::kHttp: {
      PlainDuct guest_side(client);
      PlainDuct server_side(server);
      co_await carry_http(shared, flow, guest_side, server_side, target, Wrapping::kPlain, std::move(early));
      break;
    }
    case Speech::kAsksTls:
    case Speech::kOpaque:
      if (has_secret) {
        flow.deny("with " + target.text() + ", a host of a secret, HTTP and TLS are spoken only");
        co_await refuse_http(client, flow.record.reason);
      } else if (greeting.is_other()) {
        co_await pass_opaque(shared, flow, client, server, std::move(early));
      } else {
        co_await pass_watched(shared, flow, client, server, target, std::move(early));
      }
      break;
    default:
      flow.deny("a greeting of SSL 2 names no host");
      client.reset_on_close();
  }
}

}  // namespace cloche::gateway
