// How one character is written where it cannot stand as it is: in a URL, in JSON and other languages with a backslash,
// in markup, in another character set. A server may mix them as it likes, so they are told one character at a time; and
// what one library wrote so, another may have written again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::gateway {

inline constexpr std::size_t kLongestSpelling = 12;  // two halves of a pair in JSON, or zeros in front of a number
inline constexpr std::size_t kLongestLineEnd = 24;   // with an empty line, as JSON may write it

// A spelling other than the byte itself.
struct Spelling {
  std::uint8_t length = 0;  // bytes that it takes
  std::uint8_t size = 0;    // bytes that it stands for
  std::array<char, 4> bytes{};

  std::string_view meant() const { return {bytes.data(), size}; }
};

class Spellings {
 public:
  const Spelling* begin() const { return list_.data(); }
  const Spelling* end() const { return list_.data() + count_; }
  void add(std::size_t length, std::string_view meant);
  // A number of a character: in UTF-8 and, if it is small enough, as one byte, which a value may be made of.
  void add_code(std::size_t length, std::uint32_t code);
  // There was no room for one: what the text stands for is not known, and it must not be passed on. No text is known
  // that has more than half of so many.
  bool is_over() const { return is_over_; }

  static constexpr std::size_t kMost = 16;

 private:
  std::array<Spelling, kMost> list_{};
  std::size_t count_ = 0;
  bool is_over_ = false;
};

// Whether a spelling of more than two bytes may begin so.
constexpr bool begins_spelling(char c) { return c == '%' || c == '\\' || c == '&'; }
// Whether two bytes that begin so may stand for one.
constexpr bool begins_pair(char c) { return c == '\'' || c == '"' || c == '\xc2' || c == '\xc3'; }

// Whether one that begins with such a sign may end with `text`, if the last such sign before its last byte is so many
// bytes before that.
bool may_end_spelling(std::string_view text, std::size_t since);

// A line of base64 that goes on in the next waits for that: one that is nothing but so many digits, or ends in more of
// them behind something else. Shorter ones are read on from as well, but go as they come: most lines of a text end in a
// word, and nobody is to wait for the next.
inline constexpr std::size_t kLineDigits = 4;
inline constexpr std::size_t kEndDigits = 12;
// Whether a line of base64 may end here.
bool ends_in_digits(std::string_view text, std::size_t count);

// Without the end of a line, or the beginning of that, which is there as it is or as XML has it.
std::string_view without_line_end(std::string_view text);

// Everything that the end of `text` may stand for, besides itself. Looks at the last kLongestSpelling bytes. The end of
// a line behind a digit of base64, and that with an empty line, stands for nothing at all; there it looks further back,
// for what ends in such a digit and is none.
Spellings spellings_at_end(std::string_view text);

// `meant` in the same spelling as `unit`, and as long; letters if there is no such thing.
std::string respelled(std::string_view unit, char meant);

}  // namespace cloche::gateway
