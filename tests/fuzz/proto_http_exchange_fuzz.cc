// A client and a server that both lie: what reaches the server are exactly the requests that were allowed, what reaches
// the client are whole answers, one to a request, and the pieces in which the bytes come change nothing.
//
// Input: a byte of choices, then what the client sends, then after each byte 0xfe what the server says to a request.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http_exchange.h"

namespace {

using namespace cloche::proto;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Script {
  std::string client;
  std::vector<std::string> answers;
  bool client_closes = false;
};

struct Result {
  std::string to_server, to_client;
  std::vector<std::string> methods;  // of all heads
  std::size_t allowed = 0;
  HttpPhase phase{};
  std::optional<HttpError> failure;
  bool cut_off = false;
  bool opaque = false;
};

class Driver {
 public:
  Driver(const Script& script, std::size_t step) : script_(script), step_(step) {}

  Result run() {
    give(script_.client, &HttpExchange::from_client);
    if (script_.client_closes) exchange_.client_closed();
    decide();
    for (const std::string& answer : script_.answers) {
      if (exchange_.phase() == HttpPhase::kDone) break;
      give(answer, &HttpExchange::from_server);
      take();
      decide();
    }
    exchange_.server_closed();
    take();
    result_.phase = exchange_.phase();
    result_.failure = exchange_.failure();
    result_.cut_off = exchange_.cut_off();
    return result_;
  }

 private:
  void give(std::string_view bytes, void (HttpExchange::*to)(std::string_view)) {
    while (!bytes.empty() && exchange_.phase() != HttpPhase::kDone) {
      const std::string piece(bytes.substr(0, step_));
      (exchange_.*to)(piece);
      bytes.remove_prefix(piece.size());
      result_.opaque = result_.opaque || exchange_.phase() == HttpPhase::kOpaque;
    }
  }

  void decide() {
    if (const HttpRequestHead* head = exchange_.waiting()) {
      result_.methods.push_back(head->method);
      if (head->target.starts_with("/no")) {
        exchange_.refuse({403, "no"});
      } else if (exchange_.allow(*head)) {
        ++result_.allowed;
      } else {
        exchange_.refuse({502, "cannot be"});
      }
    }
    take();
  }

  void take() {
    require(exchange_.to_client().size() <= kMaxHttpWaiting + kMaxHttpHead + 100);
    require(exchange_.phase() != HttpPhase::kDeciding || exchange_.to_server().empty());
    result_.to_server += exchange_.to_server();
    exchange_.server_took(exchange_.to_server().size());
    result_.to_client += exchange_.to_client();
    exchange_.client_took(exchange_.to_client().size());
  }

  const Script& script_;
  std::size_t step_;
  HttpExchange exchange_;
  Result result_;
};

// Takes a body off `bytes`; false if it is not whole.
bool take_body(HttpFraming framing, std::string_view& bytes, std::string& seen) {
  HttpBodyDecoder decoder(framing);
  while (!bytes.empty() && decoder.state() == HttpBodyState::kMore) seen += decoder.take(bytes);
  require(decoder.state() != HttpBodyState::kBad);
  return decoder.state() == HttpBodyState::kDone;
}

// What a strict server would read.
std::string read_requests(const Result& result) {
  std::string seen;
  std::string_view bytes = result.to_server;
  for (std::size_t i = 0; i < result.allowed && !(bytes.empty() && result.phase == HttpPhase::kDone); ++i) {
    HttpRequestParser parser;
    require(parser.parse(bytes) == HttpHeadState::kDone);
    const HttpRequestHead& head = parser.head();
    require(head.form == HttpTargetForm::kOrigin || head.form == HttpTargetForm::kAsterisk);
    require(!head.target.starts_with("/no"));
    require(head.upgrade.empty() || head.upgrade == "websocket");
    seen += render(head);
    bytes.remove_prefix(parser.consumed());
    const bool whole = take_body(head.framing, bytes, seen);
    require(whole || i + 1 == result.allowed);
  }
  require(bytes.empty() || result.opaque);
  return seen + std::string(bytes);
}

// What a strict client would read.
std::string read_answers(const Result& result) {
  std::string seen;
  std::string_view bytes = result.to_client;
  std::size_t answers = 0;
  while (!bytes.empty()) {
    const bool head_asked = answers < result.methods.size() && result.methods[answers] == "HEAD";
    HttpResponseParser parser(head_asked ? HttpAsked::kHead : HttpAsked::kOther);
    require(parser.parse(bytes) == HttpHeadState::kDone);
    seen += render(parser.head());
    bytes.remove_prefix(parser.consumed());
    if (parser.head().status == 101) {
      require(result.opaque);
      return seen + std::string(bytes);
    }
    if (parser.head().status < 200) continue;
    ++answers;
    if (!take_body(parser.head().framing, bytes, seen)) {
      require(bytes.empty() && result.phase == HttpPhase::kDone);
      require(result.cut_off || parser.head().framing.kind == HttpFramingKind::kUntilClose);
    }
  }
  // A head that was not understood is answered, too.
  require(answers <= result.methods.size() + 1);
  return seen;
}

Script read_script(const std::uint8_t* data, std::size_t size) {
  Script script;
  script.client_closes = (data[0] & 0x80) != 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto next = [&] {
    const std::size_t end = std::min(rest.find('\xfe'), rest.size());
    std::string part(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
  };
  script.client = next();
  while (!rest.empty()) script.answers.push_back(next());
  return script;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // All of it has room at once, so that the order of events is the same for every step.
  if (size == 0 || size > 16 * 1024) return 0;
  const Script script = read_script(data, size);
  const Result whole = Driver(script, size).run();
  const Result pieces = Driver(script, data[0] % 16 + 1).run();
  const std::string requests = read_requests(whole);
  const std::string answers = read_answers(whole);
  require(read_answers(pieces) == answers);
  const std::string other = read_requests(pieces);
  // A request that turns out to be bad on its way has gone on as far as it came.
  require(other == requests || (whole.failure && (other.starts_with(requests) || requests.starts_with(other))));
  require(pieces.phase == whole.phase && pieces.failure == whole.failure && pieces.cut_off == whole.cut_off);
  require(pieces.methods == whole.methods && pieces.allowed == whole.allowed);
  return 0;
}
