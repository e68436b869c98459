// Widening a policy file that somebody wrote: the fewest edits of its text, so that comments and order stay.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "learn/item.h"
#include "policy/policy.h"

namespace cloche::learn {

// `before` is the policy that the text stands for, `after` the one that it shall stand for. What is new in a list is
// put into the list; a key that the text does not have is put into its table. Fails where the text is of a form that
// this cannot edit; the caller parses the result and compares.
Result<std::string> merge(std::string_view text, std::string_view file_name, const Policy& before, const Policy& after,
                          const std::vector<Item>& items);

}  // namespace cloche::learn
