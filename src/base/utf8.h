// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Guest output is any bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace cloche {

struct Utf8Char {
  char32_t code = 0;
  std::size_t length = 0;  // 0: the first byte does not begin a valid sequence
};

Utf8Char decode_utf8(std::string_view text);  // the first character of a non-empty text
bool valid_utf8(std::string_view text);

}  // namespace cloche
