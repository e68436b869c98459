// What becomes of one message of a guest, or of a batch of them: what the service gets, what the guest is told, what is
// recorded. Knows nothing of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc_message.h"
#include "proto/rpc_rule.h"

namespace cloche::proto {

enum class RpcVerdict : std::uint8_t { kAllowed, kDenied, kMalformed };

std::string_view to_string(RpcVerdict verdict);

// One line of the report.
struct RpcCall {
  std::string method;  // printable and at most 128 characters; empty if there is none
  std::string id;      // as JSON; empty: a notification, or nobody knows
  RpcVerdict verdict = RpcVerdict::kAllowed;
  std::string reason;  // empty if allowed
  std::size_t bytes = 0;

  bool operator==(const RpcCall&) const = default;
};

// Ids of the calls that the service made and the guest has not answered. A guest can make the service ask, so they are
// bounded: the oldest is forgotten.
class AskedIds {
 public:
  void add(std::string id);
  bool take(std::string_view id);  // false: nobody asked

 private:
  static constexpr std::size_t kMost = 1024;
  std::deque<std::string> ids_;
};

struct RpcDecision {
  std::string for_service;  // a message or a batch, as JSON; empty: nothing
  // Likewise, to be sent at once.
  std::string for_client;
  // Of a batch that is partly allowed: the ids that the service is to answer, and the broker's own answers, which
  // belong into the same array as the service's.
  std::vector<std::string> awaited;
  std::vector<std::string> held;
  std::size_t calls_passed = 0;  // with an id: answers will come
  std::vector<RpcCall> records;
};

RpcDecision decide(std::string_view text, const RpcRule& rule, AskedIds& asked);

// "[a,b]"
std::string batch_of(const std::vector<std::string>& messages);

}  // namespace cloche::proto
