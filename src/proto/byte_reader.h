// Numbers in network order and bytes, taken off the front of what a peer sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::proto {

// After the first value that does not fit everything is zero or empty, and good() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::size_t size) {
    if (size > left_.size()) {
      good_ = false;
      left_ = {};
      return {};
    }
    const std::string_view front = left_.substr(0, size);
    left_.remove_prefix(size);
    return front;
  }

  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u24() { return number(3); }
  std::uint32_t u32() { return number(4); }

  // Bytes after a length of that width.
  std::string_view text8() { return take(u8()); }
  std::string_view text16() { return take(u16()); }

  bool good() const { return good_; }
  bool at_end() const { return good_ && left_.empty(); }
  std::size_t left() const { return left_.size(); }

 private:
  std::uint32_t number(std::size_t size) {
    std::uint32_t value = 0;
    for (const char byte : take(size)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  std::string_view left_;
  bool good_ = true;
};

inline void put_u8(std::string& out, std::uint8_t value) { out += static_cast<char>(value); }

inline void put_u16(std::string& out, std::uint16_t value) {
  put_u8(out, static_cast<std::uint8_t>(value >> 8));
  put_u8(out, static_cast<std::uint8_t>(value & 0xff));
}

inline void put_u32(std::string& out, std::uint32_t value) {
  put_u16(out, static_cast<std::uint16_t>(value >> 16));
  put_u16(out, static_cast<std::uint16_t>(value & 0xffff));
}

}  // namespace cloche::proto
