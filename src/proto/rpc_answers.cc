#include "proto/rpc_answers.h"

#include <limits>
#include <utility>

namespace cloche::proto {
namespace {

void read_one(const JsonValue& value, ServiceWords& words, AskedIds& asked) {
  auto id = id_of(value);
  if (!id) return;
  if (value.find("method")) {
    asked.add(std::move(*id));
  } else {
    words.answered.push_back(std::move(*id));
  }
}

}  // namespace

Result<ServiceWords> read_service(std::string_view text, const RpcRule& rule, AskedIds& asked) {
  const JsonLimits limits{.max_bytes = rule.max_answer,
                          .max_depth = 512,
                          .max_number = std::numeric_limits<std::size_t>::max(),
                          .keep_depth = 2,  // a member of an object of a batch
                          .manner = JsonManner::kWellFormed};
  CLOCHE_TRY_ASSIGN(const JsonTree tree, scan_json(text, limits));
  const JsonValue root = tree.root();
  ServiceWords words{root.is_array(), root.text(), {}};
  if (!words.is_batch) {
    read_one(root, words, asked);
  } else {
    for (const JsonValue& element : root.children()) read_one(element, words, asked);
  }
  return words;
}

std::string merged_batch(std::string_view array, const std::vector<std::string>& held) {
  const std::string own = batch_of(held);
  if (array.find_first_not_of("[] \t\r\n") == array.npos) return own;
  return std::string(array.substr(0, array.size() - 1)) + "," + own.substr(1);
}

}  // namespace cloche::proto
