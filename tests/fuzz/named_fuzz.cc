// What a guest that failed says of its failure: any bytes. Beyond ending: what is found in it is a path, each one once,
// and few; and the words around a name that is plainly there do not hide it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(observe::named_paths({}, text));
  check(observe::named_paths({text, text}, {}));
  check(observe::named_paths({"x", text}, text));
  const auto last = observe::named_paths({}, text + "\ncat: '/srv/the last': No such file or directory\n");
  check(last);
  require(!last.empty() && last.back().what == "/srv/the");
  return 0;
}
