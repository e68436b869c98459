// One JSON-RPC 2.0 message: what it is, and how the broker's own answers read.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "proto/json_scan.h"
#include "proto/rpc_rule.h"

namespace cloche::proto {

enum class RpcKind : std::uint8_t { kCall, kNotification, kAnswer };

struct RpcMessage {
  RpcKind kind = RpcKind::kCall;
  std::string_view method;
  std::optional<JsonValue> params;   // an object or an array
  std::optional<JsonValue> outcome;  // of an answer: its member result or error
  std::string id;                    // as JSON; empty: a notification
};

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kServerBusy = -32000;  // of the range that is left to servers

struct RpcFault {
  int code = kInvalidRequest;
  std::string reason;
};

// Strictly: a member that JSON-RPC does not know is refused, since a reader that ignores case would take "Method" for
// the method.
std::expected<RpcMessage, RpcFault> read_message(const JsonValue& value);

// The id of whatever this is, as JSON, if it is one that an answer can carry; else nothing.
std::optional<std::string> id_of(const JsonValue& value);

// The message as it goes to the service, with the context. A call or notification that tries to set the context, or
// whose params have no place for it, is a fault.
std::expected<std::string, RpcFault> print_message(const RpcMessage& message, const RpcRule& rule);

// {"jsonrpc":"2.0","error":{…},"id":…}; the id as JSON.
std::string error_answer(const RpcFault& fault, std::string_view id = "null");

}  // namespace cloche::proto
