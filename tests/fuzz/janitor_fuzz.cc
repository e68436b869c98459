// The janitor's records, however the stream is cut: what stays on its list is what a second, plainer reader keeps. The
// first byte is the size of the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "init/watch_list.h"

namespace {

using Kept = std::vector<std::pair<char, std::string>>;

Kept plainly(std::string_view text) {
  Kept kept;
  for (std::size_t end; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string_view record = text.substr(0, end);
    if (record.starts_with("+c") || record.starts_with("+d")) {
      if (record.size() - 2 < cloche::wire::kMaxWatchedPath) kept.emplace_back(record[1], record.substr(2));
    } else if (record.starts_with('-')) {
      std::erase_if(kept, [&](const auto& entry) { return entry.second == record.substr(1); });
    }
  }
  std::ranges::sort(kept);
  return kept;
}

// Too large for a stack, and used again for every input: what an input leaves is dropped.
constinit cloche::init::WatchList g_list;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Below what fills the list, which only makes runs slow.
  if (size < 1 || size > 16'384) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} + 1;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    g_list.take(text.data() + at, std::min(piece, text.size() - at));
  }
  Kept kept;
  for (int i = 0; i < g_list.size(); ++i) {
    if (g_list.at(i).kind != 0) kept.emplace_back(g_list.at(i).kind, g_list.at(i).path);
    g_list.drop(i);
  }
  g_list.take("", 1);  // ends a record that was cut off
  for (int i = 0; i < g_list.size(); ++i) g_list.drop(i);
  std::ranges::sort(kept);
  if (kept != plainly(text)) __builtin_trap();
  return 0;
}
