// Overwrites a text that held a secret, before its memory is given back.
#pragma once

#include <string.h>

#include <string>

namespace cloche {

// All that the string owns, also what lies behind its end: a longer text may have been there before.
inline void wipe(std::string& text) {
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
}

}  // namespace cloche
