#include "base/octal.h"

namespace cloche {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

}  // namespace

std::string unescape_octal(std::string_view field) {
  std::string plain;
  plain.reserve(field.size());
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool escape = field[i] == '\\' && field.size() - i > 3 && field[i + 1] <= '3' && is_octal(field[i + 1]) &&
                        is_octal(field[i + 2]) && is_octal(field[i + 3]);
    if (!escape) {
      plain.push_back(field[i]);
      continue;
    }
    plain.push_back(static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0')));
    i += 3;
  }
  return plain;
}

}  // namespace cloche
