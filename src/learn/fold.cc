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

struct Folding {
  Kind kind{};
  const char* verb;
};

// One directory, or nothing more to fold.
bool fold_one(std::vector<Item>& items, const Folding& how, const CountEntries& entries, const Secrets& secrets,
              std::set<std::string>& tried) {
  const Kind kind = how.kind;
  std::map<std::string, std::size_t> used;
  for (const Item& item : items) {
    if (item.kind == kind) ++used[folder_of(item.what)];
  }
  for (const auto& [directory, count] : used) {
    if (count < kFewestToFold || !tried.insert(directory).second) continue;
    const auto all = entries(directory);
    if (!all || *all == 0 || count * 2 < *all || !may_fold_to(directory, secrets)) continue;
    drop_covered(items, kind, directory);
    std::erase_if(items, [&, &dir = directory](const Item& item) { return item.kind == kind && item.what == dir; });
    items.push_back({kind,
                     directory,
                     fmt::format("{} of {} entries in it were {}", std::min(count, *all), *all, how.verb),
                     {},
                     true});
    return true;
  }
  return false;
}

void fold_all(std::vector<Item>& items, const Folding& how, const CountEntries& entries, const Secrets& secrets) {
  std::set<std::string> tried;
  while (fold_one(items, how, entries, secrets, tried)) {
  }
}

}  // namespace

std::vector<Item> fold(std::vector<Item> items, const CountEntries& entries, const Secrets& secrets) {
  fold_all(items, {Kind::kRead, "read"}, entries, secrets);
  fold_all(items, {Kind::kExec, "executed"}, entries, secrets);
  return items;
}

std::vector<Item> fold_looks(std::vector<Item> looks, const CountEntries& entries, const Secrets& secrets,
                             const std::string& cwd) {
  const auto beside = [&](const std::string& directory) -> std::optional<std::size_t> {
    if (directory != cwd && path_covers(directory, cwd)) return std::nullopt;
    return entries(directory);
  };
  fold_all(looks, {Kind::kRead, "looked at"}, beside, secrets);
  return looks;
}

}  // namespace cloche::learn
