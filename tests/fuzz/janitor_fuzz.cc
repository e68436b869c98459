// The janitor's records: what stays on its list is what a second, plainer reader keeps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/sweep.h"

namespace {

using Kept = std::vector<std::pair<char, std::string>>;

constexpr std::size_t kIdSize = std::size_t{4} * cloche::wire::kIdDigits;
// Of one whose identity is known. The path is not what tells it: it may be anything.
constexpr char kKnown = 'G';

Kept plainly(std::string_view text) {
  Kept slots;  // a free one has kind 0
  const auto add = [&](char kind, std::string_view path) {
    auto slot = std::ranges::find(slots, '\0', &Kept::value_type::first);
    if (slot == slots.end()) slot = slots.emplace(slots.end());
    *slot = {kind, std::string(path)};
  };
  for (std::size_t end; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string_view record = text.substr(0, end);
    const bool fits = record.size() >= 2 && record.size() - 2 < cloche::wire::kMaxWatchedPath;
    const auto named = [&](std::string_view path) {
      return [path](const auto& entry) { return entry.first != 0 && entry.second == path; };
    };
    if (record.starts_with('=')) {
      const std::string_view id = record.substr(1, kIdSize);
      if (id.size() < kIdSize || id.find_first_not_of("0123456789abcdef") != std::string_view::npos) continue;
      const auto copy = [&, path = record.substr(1 + kIdSize)](const auto& entry) {
        return (entry.first == 'g' || entry.first == kKnown) && entry.second == path;
      };
      const auto last = std::ranges::find_if(slots.rbegin(), slots.rend(), copy);
      if (last != slots.rend()) last->first = kKnown;
    } else if (record.starts_with("+c") || record.starts_with("+d") || record.starts_with("+g")) {
      if (fits) add(record[1], record.substr(2));
    } else if (record.starts_with("+u")) {
      const auto known = std::ranges::find_if(slots, named(record.substr(2)));
      if (known != slots.end()) {
        known->first = 'u';
      } else if (fits) {
        add('u', record.substr(2));
      }
    } else if (record.starts_with('-') || record.starts_with('x')) {
      const auto last = std::ranges::find_if(slots.rbegin(), slots.rend(), named(record.substr(1)));
      if (last != slots.rend()) last->first = record[0] == 'x' ? 'x' : '\0';
    }
  }
  std::erase_if(slots, [](const auto& entry) { return entry.first == 0; });
  std::ranges::sort(slots);
  return slots;
}

// Too large for a stack, and used again for every input: what an input leaves is dropped.
cloche::wire::SweepList g_list;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Below what fills the list, which only makes runs slow.
  if (size > 16'384) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cloche::wire::sweep_detail::take(g_list, text.data(), static_cast<long>(text.size()));
  Kept kept;
  for (int i = 0; i < g_list.used; ++i) {
    const auto& entry = g_list.entries[i];
    if (entry.kind != 0) kept.emplace_back(entry.kind == 'g' && entry.told ? kKnown : entry.kind, entry.path);
    g_list.entries[i].kind = 0;
  }
  g_list.used = 0;
  std::ranges::sort(kept);
  if (kept != plainly(text)) __builtin_trap();
  return 0;
}
