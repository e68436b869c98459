// Headers of attack programs, manifests and command lines. Beyond not crashing: what is a manifest reads back as
// itself, and words that were split hold no character that a shell would have acted on outside of quotes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "prove/manifest.h"
#include "prove/words.h"

namespace {

using namespace cloche;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto words = prove::split_words(text);
  if (words && text.find_first_of("'\"\\") == std::string_view::npos) {
    for (const std::string& word : *words) require(word.find_first_of(" \t\n$`|&;<>*?") == std::string::npos);
  }
  if (const auto lines = prove::lines_of_source("victim", text)) {
    if (const auto manifest = prove::make_manifest(*lines)) {
      const auto attacks = prove::read_manifest(*manifest);
      require(attacks.has_value() && attacks->size() == lines->size());
    }
  }
  (void)prove::read_manifest(text);
  return 0;
}
