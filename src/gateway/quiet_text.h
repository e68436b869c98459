// Which parts of a text need no look by a search for spelled texts (spelled_search.h): what stands for itself and is
// like no end of what is looked for. Most of what servers say is so, and is passed many bytes at a time.
//
// A text that is looked for is told by eight characters of its end at once, by a hash with a key of this process: that
// something is passed, or is not, says nothing about fewer of them to who measures the time. At its end, because the
// beginnings of many values are known to everybody ("github_pat_"), and who knows eight could ask for the ninth.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cloche::gateway {

// The last eight characters of something that was read, the last one in the highest byte; 0: there are fewer. Signs
// that come in several ways, or in several numbers, are one character here, and bytes that UTF-8 has more of than
// Latin-1 are none, so that most of the ways to read a text are the same.
using Window = std::uint64_t;

class QuietText {
 public:
  using Key = std::array<std::uint64_t, 3>;  // random

  // `texts`: all that is looked for.
  QuietText(const std::vector<std::string_view>& texts, const Key& key);
  QuietText(QuietText&&) noexcept = default;
  QuietText& operator=(QuietText&&) = delete;
  ~QuietText();  // wipes

  // How a byte is read, unless one that begins a spelling came shortly before.
  enum class Byte : std::uint8_t {
    kItself,   // as it is; or any other reading leads to nothing that is looked for
    kMerged,   // in more than one way, which are one for a window
    kLineEnd,  // either as it is, or as nothing at all
    kSign,     // as it is, and it may begin a spelling
  };
  Byte kind(char c) const { return kinds_[static_cast<unsigned char>(c)]; }

  Window push(Window window, char c) const {
    const unsigned char sort = sorts_[static_cast<unsigned char>(c)];
    if (sort == 0) return 0;
    if ((window >> kTop == sort && repeats_[sort]) || sort == kNothing) return window;
    return window >> 8 | Window{sort} << kTop;
  }
  // The end of all texts that `text` may be one of.
  Window window_of(std::string_view text) const;
  // Whether what ends with `window` ends with `of_text` as well, as far as there is something of that. How much there
  // is of other texts does not matter: a short one would tell by the time how much of a longer one somebody guessed.
  static bool is_end(Window window, Window of_text) {
    return of_text == 0 || ((window ^ of_text) >> std::countr_zero(of_text) / 8 * 8) == 0;
  }
  // Whether a text may end so.
  bool may_end(Window window) const { return has_bit(window) || (!short_masks_.empty() && may_end_short(window)); }

  // From a place on behind which kWindow bytes stand for themselves: the end of as many bytes as stand for themselves,
  // too, and in which no text ends.
  std::size_t pass(std::string_view text, std::size_t from) const;
  static constexpr std::size_t kWindow = sizeof(Window);

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kStops = 7;  // signs, quotes, a plus and the end of a line
  static constexpr unsigned kTop = 56;
  static constexpr unsigned char kNothing = 0xff;  // the sort of bytes that windows leave out

  template <std::size_t kSize>
  bool has_stop(const char* block) const;
  bool has_window(const char* bytes) const;
  bool has_close_window(const char* block) const;
  std::size_t pass_closely(std::string_view text, std::size_t from) const;
  bool may_end_short(Window window) const;
  std::size_t bit_of(Window window) const;
  bool has_bit(Window window) const;
  void add_bit(Window window);
  void note_kinds(const std::array<bool, 256>& used);
  void note_ends(const std::vector<std::string_view>& texts);
  std::size_t plain_tail(std::string_view text) const;
  void note_tail(std::string_view text);

  std::array<Byte, 256> kinds_{};
  std::array<unsigned char, 256> sorts_{};  // what a byte is in a window; 0: in no text
  std::array<bool, 256> repeats_{};         // of a sort: whether many are like one
  // All bytes below 0x80 that are not kItself, each as often as a block is long.
  std::array<std::array<unsigned char, kBlock>, kStops> stops_{};
  unsigned char high_ = 0x80;        // in all others that are not; 0: none are
  std::size_t step_ = kWindow;       // from one window of a grid to the next; 0: nothing can be passed
  std::vector<Window> short_masks_;  // what there is of the texts that have less than a window; each once
  Key key_;
  unsigned shift_ = 0;
  std::vector<std::uint64_t> ends_;  // a set of windows, by a few bits of each
};

}  // namespace cloche::gateway
