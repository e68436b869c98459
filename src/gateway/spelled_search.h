// Finds texts in a stream though each of their characters may be spelled in another way (spelling.h). What has come so
// far can be read in several ways, and each way has its place in the matcher: a set of states after each byte, most of
// the time none but the start. In time that is linear in the stream; how many ways are open at once is bounded by the
// texts, which are not the guest's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gateway/quiet_text.h"
#include "gateway/secret_matcher.h"
#include "gateway/secret_text.h"
#include "gateway/spelling.h"

namespace cloche::gateway {

// What is looked for, for all streams.
class SpelledTexts {
 public:
  explicit SpelledTexts(std::vector<SecretForm> forms);
  SpelledTexts(SpelledTexts&&) noexcept = default;
  SpelledTexts& operator=(SpelledTexts&&) = delete;

  bool is_empty() const { return forms_.empty(); }
  const SecretForm& form(std::size_t index) const { return forms_[index]; }
  const SecretMatcher& matcher() const { return matcher_; }
  const QuietText& quiet() const { return quiet_; }
  // The most bytes that one of them takes.
  std::size_t longest() const { return matcher_.longest() * kLongestSpelling; }
  // How many bytes at the end of `text` must be held back: whatever is not whole yet begins there. Depends on the text
  // and on the length of what is looked for, and on nothing else that one could ask about by it. `most`: the others are
  // gone already.
  std::size_t to_hold(std::string_view text, std::size_t most) const;

 private:
  std::vector<SecretForm> forms_;
  SecretMatcher matcher_;
  QuietText quiet_;
};

// One stream.
class SpelledSearch {
 public:
  explicit SpelledSearch(const SpelledTexts& texts) : texts_(&texts) {}

  // Goes on at text[at], as far as one step leads; `text` has as many bytes before that as a spelling may take, if
  // there were so many. Where the step ended: found() has the numbers of the forms that end there.
  std::size_t step(std::string_view text, std::size_t at);
  const std::vector<std::uint32_t>& found() const { return found_; }

 private:
  static constexpr std::size_t kKept = 16;  // more than a spelling takes
  using States = std::vector<SecretMatcher::State>;

  States& before(std::size_t bytes) { return kept_[(at_ - bytes) % kKept]; }
  std::size_t run(std::string_view text, std::size_t at);
  std::size_t walk(std::string_view text, std::size_t at);
  bool has_ways(std::string_view text) const;
  void advance(char byte);
  void follow(const States& from, std::string_view meant);
  void note(SecretMatcher::State state);

  const SpelledTexts* texts_;
  std::array<States, kKept> kept_;  // after each of the last bytes that a spelling may begin after; empty: the start
  States here_;
  std::vector<std::uint32_t> found_;
  std::size_t at_ = kKept;     // bytes so far
  std::size_t since_ = kKept;  // bytes since one that begins a spelling
};

// Where one of the texts was found, and what is to be there instead: overwrites it in `out`, which is what is left to
// pass on of `raw`: all but its first bytes. `end`: of the text, in `raw`.
void overwrite(const SecretForm& form, std::string_view raw, std::size_t end, std::string& out);

}  // namespace cloche::gateway
