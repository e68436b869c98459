// What a guest that failed says of its failure: any bytes. Beyond ending: what is found in it is a path, each one once,
// and few; and the words around a name that is plainly there do not hide it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "observe/named.h"

namespace {

using namespace cloche;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const std::vector<observe::Sighting>& found) {
  require(found.size() <= observe::kMostNamed);
  for (const observe::Sighting& seen : found) {
    require(seen.what.size() > 1 && seen.what.starts_with('/') && seen.count == 0);
    require(observe::absolute("/", seen.what) == seen.what);
    require(std::ranges::count(found, seen.what, &observe::Sighting::what) == 1);
  }
}

// Whatever the errors say, no denial is lost, added or changed, those that are not named stay in their order behind
// those that are, and what is plainly the last word leads.
void check_order(const std::string& text) {
  const std::size_t half = text.size() / 2;
  const std::vector<Denial> before = {{"read", "/srv/a", 1, "p", "allow", ""},
                                      {"limit", "limits.pids: reached", 2},
                                      {"write", "/srv/b", 1, "", "", "never"},
                                      {"read", "/srv/b", 3},
                                      {"exec", "/" + text.substr(0, half), 1},
                                      {"read", "/work/" + text.substr(half), 1},
                                      {"more", "", 9}};
  const auto same = [](const Denial& one, const Denial& other) { return one == other; };
  for (const std::string& cwd : {std::string("/work"), std::string("/"), std::string(), text}) {
    std::vector<Denial> after = before;
    observe::put_named_first(after, text, cwd);
    require(std::ranges::is_permutation(before, after, same));
    after = before;
    observe::put_named_first(after, {}, cwd);
    require(after == before);
    after = before;
    observe::put_named_first(after, text + "\n/srv/b\n", cwd);
    require(after.front().detail == "/srv/b" && after.front().what == "write");
    require(std::ranges::is_permutation(before, after, same));
  }
}

// Each key at most once, and what is plainly said at the end is heard.
void check_limits(const std::string& text) {
  const auto keys = observe::named_limits(text);
  constexpr auto kKnown =
      std::to_array<std::string_view>({"limits.memory", "limits.pids", "limits.files", "limits.disk"});
  std::size_t known = 0;
  for (const std::string_view key : kKnown) {
    require(std::ranges::count(keys, key) <= 1);
    known += static_cast<std::size_t>(std::ranges::count(keys, key));
  }
  require(known == keys.size());
  require(std::ranges::count(observe::named_limits(text + "\nMemoryError\n"), "limits.memory") == 1);
  require(std::ranges::count(observe::named_limits(text + "\nsh: Cannot fork\n"), "limits.pids") == 1);
  require(std::ranges::count(observe::named_limits(text + "\nFile too large\n"), "limits.disk") == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(observe::named_paths({}, text));
  check(observe::named_paths({text, text}, {}));
  check(observe::named_paths({"x", text}, text));
  const auto last = observe::named_paths({}, text + "\ncat: '/srv/the last': No such file or directory\n");
  check(last);
  require(!last.empty() && last.back().what == "/srv/the");
  check_order(text);
  check_limits(text);
  return 0;
}
