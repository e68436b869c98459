// Finds texts in a stream though each of their characters may be spelled in another way (spelling.h). What has come so
// far can be read in several ways, of each of which the last characters are known: a set of windows after each byte,
// most of the time one. Where one of them is like the end of a text, the text is looked for from there to its
// beginning. In time that is linear in the stream and says nothing about the texts (quiet_text.h): a guest that makes a
// server repeat guesses learns nothing from how long it takes, unless eight characters are right at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gateway/effort.h"
#include "gateway/quiet_text.h"
#include "gateway/secret_text.h"
#include "gateway/spelling.h"

namespace cloche::gateway {

// What is looked for, for all streams.
class SpelledTexts {
 public:
  SpelledTexts(std::vector<SecretForm> forms, const QuietText::Key& key);
  SpelledTexts(SpelledTexts&&) noexcept = default;
  SpelledTexts& operator=(SpelledTexts&&) = delete;
  ~SpelledTexts();  // wipes

  bool is_empty() const { return forms_.empty(); }
  const SecretForm& form(std::size_t index) const { return forms_[index]; }
  const QuietText& quiet() const { return quiet_; }
  // The most bytes that one of them takes.
  std::size_t longest() const { return longest_ * kLongestSpelling; }
  // How many bytes at the end of `text` must be held back: whatever is not whole yet begins there. Depends on the text
  // and on the length of what is looked for, and on nothing else that one could ask about by it. `most`: the others are
  // gone already.
  std::size_t to_hold(std::string_view text, std::size_t most) const;
  // How many must be known to go on from there, though they are gone.
  std::size_t to_keep(std::string_view text) const;
  // The numbers of the forms that end with `text`; `window`: one of the ways to read it.
  void find(std::string_view text, Window window, Effort& effort, std::vector<std::uint32_t>& found) const;

 private:
  enum class Lines : std::uint8_t { kWait, kGo };
  std::size_t reach(std::string_view text, std::size_t most, Lines lines) const;
  // Whether base64 may go on behind the end of a line that `text` ends in.
  static bool goes_on(std::string_view text, std::size_t behind, Lines lines);

  std::vector<SecretForm> forms_;
  QuietText quiet_;
  std::vector<Window> ends_;  // of each form
  std::size_t longest_ = 0;
};

// One stream.
class SpelledSearch {
 public:
  explicit SpelledSearch(const SpelledTexts& texts) : texts_(&texts) {}

  // Goes on at text[at], as far as one step leads; `text` has as many bytes before that as are to be kept. Where the
  // step ended: found() has the numbers of the forms that end there.
  std::size_t step(std::string_view text, std::size_t at);
  const std::vector<std::uint32_t>& found() const { return found_; }
  // Once it is over nothing is known of the stream any more, and none of it may be passed on.
  Effort& effort() { return effort_; }

 private:
  static constexpr std::size_t kKept = 32;  // more than a spelling or the end of a line takes
  static constexpr std::size_t kFew = 8;    // readings that nobody counts
  using Readings = std::vector<Window>;     // of which none is the end of another; empty: nothing is known

  Readings& before(std::size_t bytes) { return kept_[(at_ - bytes) % kKept]; }
  Window one_before(std::size_t bytes) { return before(bytes).empty() ? 0 : before(bytes)[0]; }
  std::size_t run(std::string_view text, std::size_t at);
  std::size_t walk(std::string_view text, std::size_t at);
  bool has_ways(std::string_view text) const;
  void advance(char byte);
  void follow(const Readings& from, std::string_view meant);
  void settle();
  void keep(std::size_t bytes, Window window);
  void note(std::string_view text, Window window);
  void earn(std::size_t at);

  const SpelledTexts* texts_;
  std::array<Readings, kKept> kept_;  // after each of the last bytes that a spelling may begin after
  Readings here_;
  std::vector<std::uint32_t> found_;
  Effort effort_;
  std::size_t at_ = kKept;      // bytes so far
  std::size_t earned_ = kKept;  // of which the effort is earned
  std::size_t since_ = kKept;   // bytes since one that begins a spelling
  std::size_t plain_ = 0;       // bytes since one that does not stand for itself
};

// Where one of the texts was found, and what is to be there instead: overwrites it in `out`, which is what is left to
// pass on of `raw`: all but its first bytes. `end`: of the text, in `raw`. Nothing of `out` is to be used if that took
// too much effort.
void overwrite(const SecretForm& form, std::string_view raw, std::size_t end, Effort& effort, std::string& out);

}  // namespace cloche::gateway
