#include "proto/rpc_decide.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"

namespace cloche::proto {
namespace {

// A name that a guest chose, for a report: what is not printable ASCII is escaped, and a cut is marked.
std::string shown_method(std::string_view method) {
  constexpr std::size_t kMost = 128;
  std::string out;
  for (const char c : method) {
    const std::string one = c >= 0x20 && c <= 0x7e && c != '\\'
                                ? std::string(1, c)
                                : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    if (out.size() + one.size() > kMost - 3) return out + "...";
    out += one;
  }
  return out;
}

// One message outside of or within a batch.
struct Single {
  std::string for_service;
  std::string for_client;
  RpcCall record;
  bool is_recorded = true;
};

Single refused(RpcVerdict verdict, const RpcFault& fault, RpcCall record, std::string_view answer_id) {
  record.verdict = verdict;
  record.reason = fault.reason;
  Single single{{}, {}, std::move(record), true};
  if (!answer_id.empty()) single.for_client = error_answer(fault, answer_id);
  return single;
}

Single decide_answer(const RpcMessage& message, const RpcRule& rule, AskedIds& asked, RpcCall record) {
  // To answer an answer would confuse both sides; the record is enough.
  if (!asked.take(message.id)) {
    return refused(RpcVerdict::kDenied, {kInvalidRequest, "an answer that the service did not ask for"},
                   std::move(record), {});
  }
  Single single{{}, {}, std::move(record), false};
  single.for_service = print_message(message, rule).value_or(std::string());
  return single;
}

Single decide_one(const JsonValue& value, const RpcRule& rule, AskedIds& asked) {
  RpcCall record;
  record.bytes = value.text().size();
  const auto message = read_message(value);
  if (!message) {
    const auto id = id_of(value);
    record.id = id.value_or(std::string());
    if (const auto method = value.find("method"); method && method->is_string()) {
      record.method = shown_method(method->text());
    }
    return refused(RpcVerdict::kMalformed, message.error(), std::move(record), id.value_or("null"));
  }
  record.id = message->id;
  if (message->kind == RpcKind::kAnswer) return decide_answer(*message, rule, asked, std::move(record));
  record.method = shown_method(message->method);
  if (!allows_method(rule, message->method)) {
    const RpcFault fault{kMethodNotFound, fmt::format("the policy of this run does not allow the method {}",
                                                      shown_text(message->method))};
    return refused(RpcVerdict::kDenied, fault, std::move(record), message->id);
  }
  auto printed = print_message(*message, rule);
  if (!printed) return refused(RpcVerdict::kDenied, printed.error(), std::move(record), message->id);
  return {std::move(*printed), {}, std::move(record), true};
}

RpcDecision malformed(const RpcFault& fault, std::size_t bytes) {
  RpcDecision decision;
  decision.for_client = error_answer(fault);
  decision.records.push_back({{}, {}, RpcVerdict::kMalformed, fault.reason, bytes});
  return decision;
}

RpcDecision decide_batch(const JsonValue& batch, const RpcRule& rule, AskedIds& asked) {
  const std::vector<JsonValue> elements = batch.children();
  if (elements.empty()) return malformed({kInvalidRequest, "a batch of nothing"}, batch.text().size());
  if (elements.size() > rule.max_batch) {
    return malformed({kInvalidRequest, fmt::format("a batch of over {} messages", rule.max_batch)},
                     batch.text().size());
  }
  RpcDecision decision;
  std::vector<std::string> passed;
  for (const JsonValue& element : elements) {
    Single single = decide_one(element, rule, asked);
    if (!single.for_client.empty()) decision.held.push_back(std::move(single.for_client));
    if (!single.for_service.empty()) {
      passed.push_back(std::move(single.for_service));
      if (single.is_recorded && !single.record.id.empty()) decision.awaited.push_back(single.record.id);
    }
    if (single.is_recorded) decision.records.push_back(std::move(single.record));
  }
  if (!passed.empty()) decision.for_service = batch_of(passed);
  decision.calls_passed = decision.awaited.size();
  if (decision.awaited.empty() && !decision.held.empty()) {
    decision.for_client = batch_of(decision.held);
    decision.held.clear();
  }
  if (decision.held.empty()) decision.awaited.clear();
  return decision;
}

}  // namespace

std::string_view to_string(RpcVerdict verdict) {
  switch (verdict) {
    case RpcVerdict::kAllowed:
      return "allowed";
    case RpcVerdict::kDenied:
      return "denied";
    case RpcVerdict::kMalformed:
      break;
  }
  return "malformed";
}

void AskedIds::add(std::string id) {
  if (ids_.size() == kMost) ids_.pop_front();
  ids_.push_back(std::move(id));
}

bool AskedIds::take(std::string_view id) {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  if (found == ids_.end()) return false;
  ids_.erase(found);
  return true;
}

std::string batch_of(const std::vector<std::string>& messages) {
  std::string out = "[";
  for (const std::string& message : messages) {
    if (out.size() > 1) out += ',';
    out += message;
  }
  return out + "]";
}

RpcDecision decide(std::string_view text, const RpcRule& rule, AskedIds& asked) {
  const auto tree = scan_json(text, {.max_bytes = rule.max_message});
  if (!tree) return malformed({kParseError, "not JSON as it is read here: " + tree.error().message}, text.size());
  if (tree->root().is_array()) return decide_batch(tree->root(), rule, asked);
  Single single = decide_one(tree->root(), rule, asked);
  RpcDecision decision;
  decision.for_service = std::move(single.for_service);
  decision.for_client = std::move(single.for_client);
  decision.calls_passed = !decision.for_service.empty() && single.is_recorded && !single.record.id.empty() ? 1 : 0;
  if (single.is_recorded) decision.records.push_back(std::move(single.record));
  return decision;
}

}  // namespace cloche::proto
