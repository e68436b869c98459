// What a service says, read as far as the broker needs it: which ids it answers and which it asks with. The service is
// believed, so its words pass as they are if they are JSON at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/rpc_decide.h"
#include "proto/rpc_rule.h"

namespace cloche::proto {

struct ServiceWords {
  bool is_batch = false;
  std::string_view text;              // without blanks around it
  std::vector<std::string> answered;  // ids
};

// Notes the calls of the service in `asked`.
Result<ServiceWords> read_service(std::string_view text, const RpcRule& rule, AskedIds& asked);

// The service's array with the broker's own answers at its end.
std::string merged_batch(std::string_view array, const std::vector<std::string>& held);

}  // namespace cloche::proto
