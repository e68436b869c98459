// Small helpers for messages: the nearest known word, and lists of words.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cloche {

// Insertions, deletions, substitutions and swaps of neighbours; each text is cut at 64 bytes, so that a hostile key
// cannot buy quadratic work.
std::size_t edit_distance(std::string_view a, std::string_view b);

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

std::string join_quoted(std::span<const std::string_view> words);  // "\"a\", \"b\" or \"c\""

bool is_utf8(std::string_view text);

}  // namespace cloche
