// Numbers and bytes packed into a string, and taken off it again: for files of our own that are read back later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche {

inline void put_number(std::string& bytes, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

inline void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes += text;
}

// Takes values off the front; after the first that does not fit everything is zero and good() is false.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view front = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return front;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view front = take(8);
    for (std::size_t i = 0; i < front.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(front[i])} << (8 * i);
    }
    return value;
  }

  // Refuses what is larger than it may be, so that nothing is cut on the way into a narrower type.
  std::uint64_t number_up_to(std::uint64_t limit) {
    const std::uint64_t value = number();
    if (value <= limit) return value;
    good_ = false;
    return 0;
  }

  // What put_text() wrote, of at most `limit` bytes.
  std::string_view text_up_to(std::uint64_t limit) { return take(number_up_to(limit)); }

  bool good() const { return good_; }
  bool at_end() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace cloche
