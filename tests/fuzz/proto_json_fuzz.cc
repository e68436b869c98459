// Laws of JSON from a hostile hand: what is read prints as a text that reads as the same; the print is ASCII in one
// line and bounded; whatever is read strictly is well-formed, too; what is not kept changes nothing about what is
// accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/json_print.h"
#include "proto/json_scan.h"

namespace {

using namespace cloche::proto;

void require(bool law) {
  if (!law) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = scan_json(text);
  require(scan_json(text, {.keep_depth = 1}).has_value() == tree.has_value());
  const bool well_formed = scan_json(text, {.manner = JsonManner::kWellFormed}).has_value();
  if (!tree) return 0;
  require(well_formed);
  const std::string printed = print_json(tree->root());
  require(printed.size() <= 6 * size);
  for (const char c : printed) require(c >= 0x20 && c <= 0x7e);
  const auto again = scan_json(printed, {.max_bytes = printed.size()});
  require(again.has_value() && print_json(again->root()) == printed);
  return 0;
}
