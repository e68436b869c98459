#include "learn/fold.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "policy/key_value.h"

namespace cloche::learn {
namespace {

bool may_fold_to(const std::string& directory, const Secrets& secrets) {
  const bool top = directory == "/" || directory.find('/', 1) == std::string::npos;
  return !top && !is_secret_place(directory, secrets) && ungrantable({Kind::kRead, directory, {}, {}, true}).empty() &&
         secrets_below(directory, secrets) == Below::kNothing;
}

void drop_covered(std::vector<Item>& items, Kind kind, const std::string& directory) {
  std::erase_if(items, [&](const Item& item) {
    return item.kind == kind && item.what != directory && path_covers(directory, item.what);
  });
}

// One directory, or nothing more to fold.
bool fold_one(std::vector<Item>& items, Kind kind, const CountEntries& entries, const Secrets& secrets,
              std::set<std::string>& tried) {
  std::map<std::string, std::size_t> used;
  for (const Item& item : items) {
    if (item.kind == kind) ++used[folder_of(item.what)];
  }
  for (const auto& [directory, count] : used) {
    if (count < kFewestToFold || !tried.insert(directory).second) continue;
    const auto all = entries(directory);
    if (!all || *all == 0 || count * 2 < *all || !may_fold_to(directory, secrets)) continue;
    const char* verb = kind == Kind::kExec ? "executed" : "read";
    drop_covered(items, kind, directory);
    std::erase_if(items, [&, &dir = directory](const Item& item) { return item.kind == kind && item.what == dir; });
    items.push_back(
        {kind, directory, fmt::format("{} of {} entries in it were {}", std::min(count, *all), *all, verb), {}, true});
    return true;
  }
  return false;
}

}  // namespace

std::vector<Item> fold(std::vector<Item> items, const CountEntries& entries, const Secrets& secrets) {
  for (const Kind kind : {Kind::kRead, Kind::kExec}) {
    std::set<std::string> tried;
    while (fold_one(items, kind, entries, secrets, tried)) {
    }
  }
  return items;
}

}  // namespace cloche::learn
