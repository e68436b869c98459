// A text as lines that keep their ends. Only a last line can lack its line feed; an empty text has no line.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace cloche::diff {

inline bool ends_its_line(std::string_view line) { return line.ends_with('\n'); }

// Views of the text, which must outlive it. One offset for each line, because a hostile text is all line feeds.
class Lines {
 public:
  explicit Lines(std::string_view text);

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t index) const { return between(index, index + 1); }
  // The lines first … last - 1 as one piece of the text.
  std::string_view between(std::size_t first, std::size_t last) const {
    const std::size_t begin = first == 0 ? 0 : ends_[first - 1];
    return text_.substr(begin, (last == 0 ? 0 : ends_[last - 1]) - begin);
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> ends_;
};

}  // namespace cloche::diff
