// `cloche learn --merge` edits a policy that somebody wrote, by names that a guest chose. The first line of the input
// is such a name, the rest the policy. What comes of it is a policy that means what was asked for, or it is not
// written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "learn/merge.h"
#include "learn/print.h"
#include "policy/parse.h"
#include "policy/print.h"

namespace {

using cloche::learn::Item;
using cloche::learn::Kind;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string name(input.substr(0, end));
  const std::string_view text = input.substr(end + 1);
  const auto before = cloche::parse_policy(text, "fuzz.toml");
  if (!before) return 0;
  for (const Kind kind :
       {Kind::kRead, Kind::kExec, Kind::kChange, Kind::kEnv, Kind::kHost, Kind::kSocket, Kind::kCwd}) {
    const std::vector<Item> items{{kind, name, name, name}};
    if (!cloche::learn::ungrantable(items[0]).empty()) continue;
    const cloche::Policy after = cloche::learn::compose(*before, items, cloche::learn::Changes::kProposed);
    const auto merged = cloche::learn::merge(text, "fuzz.toml", *before, after, items);
    if (!merged) continue;
    // What stood there stays, whatever is put between.
    require(merged->size() >= text.size());
  }
  return 0;
}
