// What a guest may say to one socket, and what it cannot help saying: the context.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::proto {

struct RpcRule {
  std::vector<std::string> methods = {};            // patterns; none: no method at all
  std::map<std::string, std::string> context = {};  // empty: nothing is attached
  std::string context_field = "_context";           // a member of params
  std::string context_header = "X-Cloche-Context";
  std::size_t max_message = std::size_t{1} << 20;
  std::size_t max_answer = std::size_t{16} << 20;
  std::size_t max_batch = 256;  // each element may carry a context

  bool operator==(const RpcRule&) const = default;
};

inline constexpr std::size_t kMaxContext = 4096;  // bytes, as printed

// To be asked before a broker is made of it.
Status check_rule(const RpcRule& rule);

bool allows_method(const RpcRule& rule, std::string_view method);

// The context as a JSON object.
std::string context_json(const RpcRule& rule);

// Whether some reader would take the key for the context's. Readers of JSON that ignore case are common, Go's among
// them, which also folds the long s and the Kelvin sign.
bool names_context_field(const RpcRule& rule, std::string_view key);
// Likewise for a header: many servers make HTTP_X_CLOCHE_CONTEXT of it, and of X_Cloche_Context.
bool names_context_header(const RpcRule& rule, std::string_view name);

}  // namespace cloche::proto
