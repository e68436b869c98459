// Laws of the broker: however the guest's bytes are cut, the same goes on; every message that goes on is JSON-RPC with
// an allowed method, carries the context once and as the rule has it, and has no member but those of JSON-RPC.
//
// The first byte says how the guest's stream is cut. What follows a NUL is the service's, up to the next one in one
// piece: over HTTP it matters whether it spoke before or after it was asked.
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

Seen run(std::string_view client, std::string_view service, std::size_t piece) {
  RpcBroker broker(rule());
  Seen seen;
  for (; !client.empty(); client.remove_prefix(std::min(piece, client.size()))) {
    broker.client_bytes(client.substr(0, piece));
    take(broker, seen);
  }
  while (!service.empty()) {
    const std::size_t end = std::min(service.find('\0'), service.size());
    broker.service_bytes(service.substr(0, end));
    take(broker, seen);
    service.remove_prefix(std::min(end + 1, service.size()));
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
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view client = text.substr(0, end);
  const std::string_view service = text.substr(std::min(end + 1, text.size()));
  const Seen whole = run(client, service, std::max<std::size_t>(text.size(), 1));
  require(run(client, service, data[0] % 16 + 1) == whole);
  check_stream(whole);
  check_records(whole);
  return 0;
}
