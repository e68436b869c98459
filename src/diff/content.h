// Whether the content of a file can be shown and merged as lines of text.
#pragma once

#include <cstddef>
#include <string_view>

namespace cloche::diff {

enum class Content {
  kText,
  kBinary,
  kTooLarge,  // in bytes or in lines: each line costs some fifty bytes while texts are compared, however short it is
};

struct ContentLimits {
  std::size_t bytes = 10 * 1024 * 1024;
  std::size_t lines = 1'000'000;
};

// Text has no NUL among its first 8000 bytes, which is what git goes by, so that both call the same files text. Being
// UTF-8 is not asked for: sources in Latin-1 are text, and what is not UTF-8 is made harmless where it is shown. Nor
// does being UTF-8 save a file with a NUL: UTF-16 of plain letters is UTF-8 byte by byte.
Content judge_content(std::string_view bytes, const ContentLimits& limits = {});

}  // namespace cloche::diff
