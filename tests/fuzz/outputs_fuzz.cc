// A document that a guest wrote: reading it never crashes, its errors are one harmless line, and what is accepted keeps
// the rules when they are said another way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "outputs/output.h"
#include "report/text.h"

namespace {

using namespace cloche::outputs;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return out;
}

void check_path(std::string_view path) {
  const std::string framed = "/" + lower(path) + "/";
  for (const std::string_view wrong : {"//", "/./", "/../", "/.cloche-apply/", "/.ssh/", "\x1b", "\n", "\x7f"}) {
    require(framed.find(wrong) == std::string::npos);
  }
  // Names of files; a directory of that name is nobody's start-up file.
  for (const std::string_view wrong : {"/.cloche-outputs.json/", "/.bashrc/"}) require(!framed.ends_with(wrong));
  require(path.find('\0') == std::string_view::npos);
  require(path.size() <= 1024);
  // Nothing is left to escape for a terminal, but for the backslash that is doubled.
  require(path.find('\\') != std::string_view::npos || cloche::printable(path) == path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Limits limits{8, {64}, {1 << 16}};
  const auto outputs = read_outputs(text, limits, Protected::kRefuse);
  if (!outputs) {
    require(outputs.error().code == cloche::ErrorCode::kInvalidInput);
    require(!outputs.error().message.empty() && outputs.error().text().find('\n') == std::string::npos);
    return 0;
  }
  require(outputs->size() <= limits.count && size <= limits.whole.count);
  std::set<std::string> seen;
  for (const Output& output : *outputs) {
    check_path(output.path);
    require(output.body.size() <= limits.body.count);
    require(seen.insert(lower(output.path)).second);
  }
  for (const std::string& path : seen) {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      require(!seen.contains(path.substr(0, at)));
    }
  }
  return 0;
}
