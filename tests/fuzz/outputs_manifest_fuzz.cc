// A manifest that anyone may have edited: what is accepted names no place that an output could not, and written again
// reads back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "outputs/manifest.h"
#include "outputs/paths.h"

namespace {

using namespace cloche::outputs;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = parse_manifest(text);
  if (!manifest) {
    require(manifest.error().code == cloche::ErrorCode::kInvalidInput);
    require(manifest.error().text().find('\n') == std::string::npos);
    return 0;
  }
  for (const auto& [path, owned] : *manifest) {
    require(check_output_path(path).has_value());
    require(check_producer(owned.producer).has_value());
    require(owned.mode <= 0777);
  }
  const std::string written = print_manifest(*manifest);
  const auto again = parse_manifest(written);
  require(again.has_value() && *again == *manifest);
  require(print_manifest(*again) == written);
  return 0;
}
