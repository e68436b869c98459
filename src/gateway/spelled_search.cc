#include "gateway/spelled_search.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "gateway/way_back.h"

namespace cloche::gateway {
namespace {

std::vector<std::string_view> texts_of(const std::vector<SecretForm>& forms) {
  std::vector<std::string_view> out;
  for (const SecretForm& form : forms) out.push_back(form.bytes.view());
  return out;
}

// Whether the last line is nothing but base64, and long enough to wait for the next.
bool is_line_of_digits(std::string_view text) {
  const std::size_t begin = text.rfind('\n') + 1;  // 0 if there is none
  return text.size() - begin >= kLineDigits && ends_in_digits(text, text.size() - begin);
}

}  // namespace

SpelledTexts::SpelledTexts(std::vector<SecretForm> forms, const QuietText::Key& key)
    : forms_(std::move(forms)), quiet_(texts_of(forms_), key) {
  ends_.reserve(forms_.size());  // a vector that grows leaves copies behind
  for (const SecretForm& form : forms_) {
    ends_.push_back(quiet_.window_of(form.bytes.view()));
    longest_ = std::max(longest_, form.bytes.view().size());
  }
}

SpelledTexts::~SpelledTexts() {
  if (!ends_.empty()) explicit_bzero(ends_.data(), ends_.size() * sizeof(Window));
}

// `behind`: how many bytes have come after the end of the line.
bool SpelledTexts::goes_on(std::string_view text, std::size_t behind, Lines lines) {
  const std::string_view line = without_line_end(text);
  const std::string_view before = without_line_end(line);  // an empty one
  if (lines == Lines::kGo) return ends_in_digits(line, 1) || ends_in_digits(before, 1);
  if (ends_in_digits(line, kEndDigits) || is_line_of_digits(line) || is_line_of_digits(before)) return true;
  // So ends an event: what has other words in front waits only if base64 has gone on already.
  return behind >= kLineDigits && ends_in_digits(before, kEndDigits);
}

std::size_t SpelledTexts::reach(std::string_view text, std::size_t most, Lines lines) const {
  if (is_empty()) return 0;
  most = std::min(most, longest());
  // A beginning of a text has less than all of its characters. Each takes one byte, or as many more as begin with a
  // sign that is in there, too; and one may have begun before.
  std::size_t need = longest_ + kLongestSpelling;
  std::size_t bytes = 0;
  while (bytes < most && need > 0) {
    const std::string_view rest = text.substr(0, text.size() - bytes);
    const char c = rest.back();
    // No text has a control character in it, so none begins before the last one: lines and events need not wait, but
    // for those of base64, which may go on.
    if (static_cast<unsigned char>(c) < 0x20 && !goes_on(rest, bytes, lines)) break;
    ++bytes;
    if (c != '\n' && c != '\r') --need;
    if (begins_spelling(c)) need += kLongestSpelling;
    if (begins_pair(c)) ++need;
  }
  return bytes;
}

std::size_t SpelledTexts::to_hold(std::string_view text, std::size_t most) const {
  return reach(text, most, Lines::kWait);
}

std::size_t SpelledTexts::to_keep(std::string_view text) const {
  constexpr std::size_t kContext = kLongestSpelling + kEndDigits;  // what a first spelling or line begins with
  return reach(text, text.size(), Lines::kGo) + kContext;
}

// All of them, whether one was found or not.
void SpelledTexts::find(std::string_view text, Window window, Effort& effort, std::vector<std::uint32_t>& found) const {
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    if (!QuietText::is_end(window, ends_[i])) continue;
    const auto index = static_cast<std::uint32_t>(i);
    if (std::ranges::find(found, index) != found.end()) continue;
    WayBack way(forms_[i].bytes.view(), text, 0, effort);
    if (const auto first = way.find(text.size()); first && way.place(*first).text == 0) found.push_back(index);
  }
}

// As long as there is one way to read the bytes, and they are no spelling: only the last two places are kept, since
// whatever takes more begins with a sign that is none of these.
std::size_t SpelledSearch::run(std::string_view text, std::size_t at) {
  const QuietText& quiet = texts_->quiet();
  Window here = one_before(0);
  Window former = one_before(1);
  std::size_t end = at;
  std::size_t next_try = at;
  while (end < text.size() && found_.empty()) {
    if (plain_ >= QuietText::kWindow && end >= next_try) {
      const std::size_t passed = quiet.pass(text, end - QuietText::kWindow);
      next_try = std::max(passed, end) + QuietText::kWindow;
      if (passed > end) {
        end = passed;
        here = quiet.window_of(text.substr(end - QuietText::kWindow, QuietText::kWindow));
        former = quiet.window_of(text.substr(end - 1 - QuietText::kWindow, QuietText::kWindow));
        continue;
      }
    }
    const char c = text[end];
    const QuietText::Byte kind = quiet.kind(c);
    if (kind == QuietText::Byte::kSign) break;
    Window next = quiet.push(here, c);
    if (kind == QuietText::Byte::kLineEnd) {
      if (next != 0) break;
      // No sign is near, so these are the only ends of lines that may be here, or be here twice.
      const bool is_second = end > 0 && text[end - 1] == '\r';
      const std::string_view line_end = is_second ? "\r\n" : "\n";
      std::string_view line = text.substr(0, end + 1 - line_end.size());
      if (line.ends_with(line_end)) line.remove_suffix(line_end.size());
      if (ends_in_digits(line, 1)) next = is_second ? former : here;
    }
    plain_ = kind == QuietText::Byte::kItself ? plain_ + 1 : 0;
    former = std::exchange(here, next);
    ++end;
    if (quiet.may_end(here)) {
      earn(at_ + end - at);
      texts_->find(text.substr(0, end), here, effort_, found_);
    }
  }
  if (end == at) return at;
  at_ += end - at;
  since_ = kKept;
  keep(1, former);
  keep(0, here);
  return end;
}

// Shortly behind a sign: as long as nothing ends that it may have begun, there is one way as well. Each place is kept.
std::size_t SpelledSearch::walk(std::string_view text, std::size_t at) {
  Window here = one_before(0);
  while (at < text.size() && since_ < kLongestSpelling && !has_ways(text.substr(0, at + 1)) && found_.empty()) {
    here = texts_->quiet().push(here, text[at]);
    advance(text[at]);
    ++at;
    keep(0, here);
    note(text.substr(0, at), here);
  }
  return at;
}

// Whether the last byte may be read in another way than as itself, and not in a window alone.
bool SpelledSearch::has_ways(std::string_view text) const {
  return texts_->quiet().kind(text.back()) == QuietText::Byte::kLineEnd || may_end_spelling(text, since_ + 1);
}

void SpelledSearch::advance(char byte) {
  since_ = begins_spelling(byte) ? 0 : since_ + 1;
  plain_ = 0;
  ++at_;
}

void SpelledSearch::keep(std::size_t bytes, Window window) {
  before(bytes).clear();
  if (window != 0) before(bytes).push_back(window);
}

void SpelledSearch::note(std::string_view text, Window window) {
  if (!texts_->quiet().may_end(window)) return;
  earn(at_);
  texts_->find(text, window, effort_, found_);
}

// Only where something is spent: most bytes are to cost nothing.
void SpelledSearch::earn(std::size_t at) { effort_.earn(at - std::exchange(earned_, at)); }

// Sorted, a window of which less is known comes right before those that end with it: what takes any number of readings
// is not to take the square of it.
void SpelledSearch::settle() {
  std::ranges::sort(here_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    const bool is_in_next = i + 1 < here_.size() && QuietText::is_end(here_[i + 1], here_[i]);
    if (here_[i] != 0 && !is_in_next) here_[kept++] = here_[i];
  }
  here_.resize(kept);
}

void SpelledSearch::follow(const Readings& from, std::string_view meant) {
  const auto one = [&](Window window) {
    for (const char c : meant) window = texts_->quiet().push(window, c);
    here_.push_back(window);
  };
  if (from.empty()) one(0);
  for (const Window window : from) one(window);
}

std::size_t SpelledSearch::step(std::string_view text, std::size_t at) {
  found_.clear();
  if (before(0).size() <= 1 && before(1).size() <= 1) {
    const std::size_t end = since_ >= kLongestSpelling ? run(text, at) : walk(text, at);
    if (end > at) return end;
  }
  here_.clear();
  const bool is_spelled = has_ways(text.substr(0, at + 1));
  advance(text[at]);
  ++at;
  follow(before(1), text.substr(at - 1, 1));
  if (is_spelled) {
    const Spellings ways = spellings_at_end(text.substr(0, at));
    if (ways.is_over()) effort_.give_up();
    for (const Spelling& one : ways) follow(before(one.length), one.meant());
  }
  if (here_.size() > kFew) {
    earn(at_);
    effort_.spend(here_.size());
  }
  settle();
  if (here_.empty()) note(text.substr(0, at), 0);
  for (const Window window : here_) note(text.substr(0, at), window);
  before(0).swap(here_);
  return at;
}

void overwrite(const SecretForm& form, std::string_view raw, std::size_t end, Effort& effort, std::string& out) {
  const std::size_t gone = raw.size() - out.size();
  const std::string_view text = form.bytes.view();
  WayBack way(text, raw, gone, effort);
  const auto first = way.find(end);
  if (!first) return;
  for (WayBack::Place place = way.place(*first); place.length != 0; place = way.place(place.next)) {
    const WayBack::Place& after = way.place(place.next);
    const std::size_t size = after.text - place.text;
    const std::string_view unit = raw.substr(place.at, place.length);
    const std::string_view instead = std::string_view(form.instead).substr(place.text, size);
    if (instead == text.substr(place.text, size)) continue;  // it may be overwritten already, for another text
    const std::string written = size == 1 ? respelled(unit, instead[0]) : std::string(unit.size(), 'x');
    const std::size_t cut = place.at < gone ? gone - place.at : 0;  // of it, so much was let go
    if (cut < written.size()) out.replace(place.at + cut - gone, written.size() - cut, written, cut);
  }
}

}  // namespace cloche::gateway
