// The list of protected paths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cloche::tree {

enum class Reach : std::uint8_t {
  kItself,  // the file of this name
  kBelow,   // and everything below it
};

// A protected path of one to three plain names, wherever it begins.
struct ProtectedRule {
  std::array<std::string_view, 3> names;
  Reach reach;
  std::string_view reason;

  constexpr std::size_t length() const {
    std::size_t count = 0;
    while (count < names.size() && !names[count].empty()) ++count;
    return count;
  }
};

// What is below a .git is not among them: it has rules of its own.
std::span<const ProtectedRule> protected_rules();

}  // namespace cloche::tree
