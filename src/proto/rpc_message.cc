#include "proto/rpc_message.h"

#include <fmt/core.h>

#include <array>

#include "base/units.h"
#include "proto/json_print.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kMaxId = 256;  // as JSON; ids are remembered

std::unexpected<RpcFault> invalid(std::string reason) {
  return std::unexpected(RpcFault{kInvalidRequest, std::move(reason)});
}

// Fractions and exponents are for the service to write differently in its answer.
bool is_whole(std::string_view number) { return number.find_first_of(".eE") == number.npos; }

std::optional<std::string> printed_id(const JsonValue& id) {
  const bool fits =
      id.kind() == JsonKind::kNull || id.is_string() || (id.kind() == JsonKind::kNumber && is_whole(id.text()));
  if (!fits || id.text().size() > kMaxId) return std::nullopt;
  std::string printed = print_json(id);
  if (printed.size() > kMaxId) return std::nullopt;
  return printed;
}

constexpr std::array<std::string_view, 6> kMembers = {"jsonrpc", "id", "method", "params", "result", "error"};

std::expected<RpcMessage, RpcFault> read_call(const JsonValue& value, RpcMessage message) {
  message.kind = message.id.empty() ? RpcKind::kNotification : RpcKind::kCall;
  const JsonValue method = *value.find("method");
  if (!method.is_string()) return invalid("the method is not a string");
  message.method = method.text();
  if (value.find("result") || value.find("error")) return invalid("a message is a call or an answer, not both");
  message.params = value.find("params");
  if (!message.params) return message;
  if (message.params->kind() == JsonKind::kNull) {
    message.params.reset();  // what many clients send for none
  } else if (!message.params->is_object() && !message.params->is_array()) {
    return invalid("params is neither an object nor an array");
  }
  return message;
}

std::expected<RpcMessage, RpcFault> read_answer(const JsonValue& value, RpcMessage message) {
  message.kind = RpcKind::kAnswer;
  const auto result = value.find("result");
  const auto error = value.find("error");
  if (!result && !error) return invalid("there is no method");
  if (result && error) return invalid("an answer has a result or an error, not both");
  if (message.id.empty()) return invalid("an answer without id");
  if (value.find("params")) return invalid("an answer has no params");
  if (error && !error->is_object()) return invalid("the error is not an object");
  message.outcome = result ? result : error;
  return message;
}

std::expected<std::string, RpcFault> printed_params(const RpcMessage& message, const RpcRule& rule) {
  const bool attach = !rule.context.empty();
  if (!message.params && !attach) return std::string();
  if (message.params && message.params->is_array()) {
    if (!attach) return print_json(*message.params);
    return std::unexpected(
        RpcFault{kInvalidParams, "params is an array, which has no place for the context; name them"});
  }
  std::string out = "{";
  const auto separate = [&] {
    if (out.size() > 1) out += ',';
  };
  if (message.params) {
    for (const JsonValue& member : message.params->children()) {
      // Refused also if there is no context to attach: the service would believe this one.
      if (names_context_field(rule, member.key())) {
        return std::unexpected(RpcFault{kInvalidParams, fmt::format("params has a member {}, which only Cloche may set",
                                                                    shown_text(member.key()))});
      }
      separate();
      print_json_string(member.key(), out);
      out += ':';
      print_json(member, out);
    }
  }
  if (attach) {
    separate();
    print_json_string(rule.context_field, out);
    out += ':';
    out += context_json(rule);
  }
  return out + "}";
}

}  // namespace

std::optional<std::string> id_of(const JsonValue& value) {
  const auto id = value.find("id");
  return id ? printed_id(*id) : std::nullopt;
}

std::expected<RpcMessage, RpcFault> read_message(const JsonValue& value) {
  if (!value.is_object()) return invalid("a message is an object");
  for (const JsonValue& member : value.children()) {
    bool known = false;
    for (const std::string_view name : kMembers) known = known || member.key() == name;
    if (!known) return invalid(fmt::format("JSON-RPC has no member {}", shown_text(member.key())));
  }
  const auto version = value.find("jsonrpc");
  if (!version || !version->is_string() || version->text() != "2.0") return invalid("jsonrpc is not \"2.0\"");
  RpcMessage message;
  if (const auto id = value.find("id")) {
    auto printed = printed_id(*id);
    if (!printed) return invalid("the id is not a short string, a whole number or null");
    message.id = std::move(*printed);
  }
  return value.find("method") ? read_call(value, std::move(message)) : read_answer(value, std::move(message));
}

std::expected<std::string, RpcFault> print_message(const RpcMessage& message, const RpcRule& rule) {
  std::string out = R"({"jsonrpc":"2.0")";
  if (message.kind == RpcKind::kAnswer) {
    out += ',';
    print_json_string(message.outcome->key(), out);
    out += ':';
    print_json(*message.outcome, out);
  } else {
    out += R"(,"method":)";
    print_json_string(message.method, out);
    auto params = printed_params(message, rule);
    if (!params) return std::unexpected(std::move(params).error());
    if (!params->empty()) out += R"(,"params":)" + *params;
  }
  if (!message.id.empty()) out += R"(,"id":)" + message.id;
  return out + "}";
}

std::string error_answer(const RpcFault& fault, std::string_view id) {
  return fmt::format(R"({{"jsonrpc":"2.0","error":{{"code":{},"message":{}}},"id":{}}})", fault.code,
                     json_string(fault.reason), id);
}

}  // namespace cloche::proto
