// Which parts of a text need no look by a search for spelled texts (spelled_search.h), or only a short one: what stands
// for itself and is like no beginning of what is looked for. Most of what servers say is so, and is passed many bytes
// at a time.
//
// A text that is looked for is told by eight of its first bytes at once: that a text is passed, or is not, says nothing
// about fewer of them to who measures the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cloche::gateway {

class QuietText {
 public:
  // `texts`: all that is looked for.
  explicit QuietText(const std::vector<std::string_view>& texts);
  QuietText(QuietText&&) noexcept = default;
  QuietText& operator=(QuietText&&) = delete;
  ~QuietText();  // wipes

  // How a byte is read, unless one that begins a spelling came shortly before.
  enum class Byte : std::uint8_t {
    kItself,   // as it is; or any other reading leads to nothing that is looked for
    kQuote,    // the same, but behind another one
    kLineEnd,  // either as it is, or as nothing at all
    kSign,     // as it is, and it may begin a spelling
    kOther,    // in more than one way
  };
  Byte kind(char c) const { return kinds_[static_cast<unsigned char>(c)]; }

  // For a search that stands at its start before text[at]: a place to begin anew from. It misses nothing on the way;
  // what it knows there may be less than is so, but kWindow bytes later, which all stand for themselves, it knows the
  // same.
  std::size_t pass(std::string_view text, std::size_t at) const;
  static constexpr std::size_t kWindow = 8;

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kStops = 7;  // signs, quotes, a plus and the end of a line

  template <std::size_t kSize>
  bool has_stop(const char* block) const;
  bool is_beginning(const char* window) const;  // whether it may be
  std::size_t bit_of(const char* window) const;
  void note_kinds(const std::array<bool, 256>& used);

  std::array<Byte, 256> kinds_{};
  // All bytes below 0x80 that are not kItself, each as often as a block is long.
  std::array<std::array<unsigned char, kBlock>, kStops> stops_{};
  unsigned char high_ = 0x80;  // in all others that are not; 0: none are
  bool is_on_ = false;
  unsigned shift_ = 0;
  std::vector<std::uint64_t> beginnings_;  // a set of windows, by a few bits of each
};

}  // namespace cloche::gateway
