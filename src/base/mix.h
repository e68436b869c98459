// One number of many, to see whether any of them is another: FNV-1a, by words. No protection against who chooses them.
#pragma once

#include <cstdint>
#include <string_view>

namespace cloche {

class Mix {
 public:
  void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 1099511628211ull; }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(text.size());
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ull;
};

}  // namespace cloche
