// Laws of the broker: however the guest's bytes are cut, the same goes on; every message that goes on is JSON-RPC with
// an allowed method, carries the context once and as the rule has it, and has no member but those of JSON-RPC.
//
// The first byte says how the guest's stream is cut, the next two how long it is. What follows is the service's, in
// pieces that begin with their length: over HTTP it matters whether it spoke before or after it was asked. No byte has
// a meaning of its own, so that each of them reaches the broker.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "proto/http_body.h"
#include "proto/http_head.h"
#include "proto/json_print.h"
#include "proto/rpc_broker.h"

namespace {

using namespace cloche::proto;

void require(bool law) {
  if (!law) std::abort();
}

const RpcRule& rule() {
  static const RpcRule kRule{.methods = {"flow.read", "log.*"},
                             .context = {{"tenant", "a"}},
                             .max_message = 4096,
                             .max_answer = 4096,
                             .max_batch = 8};
  return kRule;
}

struct Seen {
  std::string for_service, for_client;
  std::vector<RpcCall> records;
  RpcBroker::State state = RpcBroker::State::kOpen;
  RpcFraming framing = RpcFraming::kUnknown;
  bool operator==(const Seen&) const = default;
};

void take(RpcBroker& broker, Seen& seen) {
  seen.for_service += broker.take_for_service();
  seen.for_client += broker.take_for_client();
  for (RpcCall& record : broker.take_records()) seen.records.push_back(std::move(record));
}

// As many bytes as the first two of them say, or all that there are; taken off the front.
std::string_view take_piece(std::string_view& rest) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 2 && i < rest.size(); ++i) {
    size |= std::size_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  }
  rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
  const std::string_view piece = rest.substr(0, size);
  rest.remove_prefix(piece.size());
  return piece;
}

Seen run(std::string_view client, std::string_view service, std::size_t piece) {
  RpcBroker broker(rule());
  Seen seen;
  for (; !client.empty(); client.remove_prefix(std::min(piece, client.size()))) {
    broker.client_bytes(client.substr(0, piece));
    take(broker, seen);
  }
  while (!service.empty()) {
    broker.service_bytes(take_piece(service));
    take(broker, seen);
  }
  broker.client_closed();
  take(broker, seen);
  seen.state = broker.state();
  seen.framing = broker.framing();
  return seen;
}

void check_call(const JsonValue& call) {
  require(call.is_object());
  for (const JsonValue& member : call.children()) {
    const std::string_view key = member.key();
    require(key == "jsonrpc" || key == "method" || key == "params" || key == "id" || key == "result" || key == "error");
  }
  const auto method = call.find("method");
  if (!method) return;  // an answer
  require(method->text() == "flow.read" || (method->text().starts_with("log.") && method->text().size() > 4));
  const auto params = call.find("params");
  require(params && params->is_object());
  int contexts = 0;
  for (const JsonValue& member : params->children()) {
    if (!names_context_field(rule(), member.key())) continue;
    ++contexts;
    require(member.key() == "_context" && print_json(member) == R"({"tenant":"a"})");
  }
  require(contexts == 1);
}

void check_message(std::string_view text) {
  const auto tree = scan_json(text);
  require(tree.has_value());
  if (!tree->root().is_array()) return check_call(tree->root());
  require(!tree->root().children().empty());
  for (const JsonValue& call : tree->root().children()) check_call(call);
}

void check_http(std::string_view stream) {
  while (!stream.empty()) {
    HttpRequestParser parser;
    require(parser.parse(stream) == HttpHeadState::kDone);
    stream.remove_prefix(parser.consumed());
    const HttpRequestHead& head = parser.head();
    require(head.method == "POST" && head.framing.kind == HttpFramingKind::kLength);
    std::size_t contexts = 0;
    for (const HttpHeader& header : head.headers.list) {
      if (!names_context_header(rule(), header.name)) continue;
      ++contexts;
      require(header.value == R"({"tenant":"a"})");
    }
    require(contexts == 1 && head.framing.length <= stream.size());
    check_message(stream.substr(0, head.framing.length));
    stream.remove_prefix(head.framing.length);
  }
}

void check_stream(const Seen& seen) {
  if (seen.framing == RpcFraming::kHttp) return check_http(seen.for_service);
  RpcFramer framer(std::size_t{1} << 24);
  framer.expect(seen.framing);
  framer.feed(seen.for_service);
  while (framer.next() == RpcFramer::State::kMessage) check_message(framer.message());
  require(framer.buffered() == 0);
}

void check_records(const Seen& seen) {
  for (const RpcCall& record : seen.records) {
    require(record.method.size() <= 128 && record.id.size() <= 256);
    for (const char c : record.method + record.id) require(c >= 0x20 && c <= 0x7e);
    require(record.reason.empty() == (record.verdict == RpcVerdict::kAllowed));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view service(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view client = take_piece(service);
  const Seen whole = run(client, service, size);
  require(run(client, service, data[0] % 16 + 1) == whole);
  check_stream(whole);
  check_records(whole);
  return 0;
}
