// How two runs of a command differ in what they wrote.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace cloche::learn {

struct OutputDifference {
  std::size_t line = 0;  // the first that differs; counted from one
  std::string before;
  std::string now;
  // As many lines, and as many words in each, and where a line differs a number is another. A "no" for a "yes" is not
  // it.
  bool same_shape = false;
};
std::optional<OutputDifference> output_difference(const std::string& before, const std::string& now);

// "line 2 was "a" and is "b"": harmless, and not long.
std::string to_string(const OutputDifference& difference);

}  // namespace cloche::learn
