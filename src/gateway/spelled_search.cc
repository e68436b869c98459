#include "gateway/spelled_search.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cloche::gateway {
namespace {

std::vector<SecretMatcher::Needle> needles_of(const std::vector<SecretForm>& forms) {
  std::vector<SecretMatcher::Needle> out;
  for (const SecretForm& form : forms) out.push_back({form.bytes.view(), static_cast<std::uint32_t>(out.size())});
  return out;
}

std::vector<std::string_view> texts_of(const std::vector<SecretForm>& forms) {
  std::vector<std::string_view> out;
  for (const SecretForm& form : forms) out.push_back(form.bytes.view());
  return out;
}

// Whether a line of base64 ends at the end of a text, or begins to.
bool is_end_of_digits(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return ends_in_digits(text, kLineDigits);
}

// A place in `raw` from which on the rest of a text is spelled.
struct Place {
  std::size_t at;      // in raw
  std::size_t text;    // how much of the text comes before
  std::size_t length;  // of the spelling that begins here
  std::size_t next;    // the place after it
};

// Every way in which a text may be spelled that ends at `end`: from its last character to its first.
class WayBack {
 public:
  WayBack(std::string_view text, std::string_view raw, std::size_t begin) : text_(text), raw_(raw), begin_(begin) {}

  // The one that begins first; if each has its beginning in what was let go, the earliest place after that.
  std::optional<std::size_t> find(std::size_t end) {
    std::vector<std::vector<std::size_t>> by_text(text_.size() + 1);
    places_.push_back({end, text_.size(), 0, 0});
    by_text.back().push_back(0);
    std::optional<std::size_t> best;
    for (std::size_t left = text_.size() + 1; left-- > 0;) {
      for (std::size_t i = 0; i < by_text[left].size(); ++i) {  // the end of a line adds to it
        const std::size_t index = by_text[left][i];
        const Place here = places_[index];
        if (left == 0 || here.at <= begin_) {
          if (!best || is_better(here, places_[*best])) best = index;
          continue;
        }
        if (raw_[here.at - 1] == text_[left - 1]) add(by_text, index, 1, 1);
        for (const Spelling& one : spellings_at_end(raw_.substr(0, here.at))) {
          if (text_.substr(0, left).ends_with(one.meant())) add(by_text, index, one.length, one.size);
        }
      }
    }
    return best;
  }
  const Place& place(std::size_t index) const { return places_[index]; }

 private:
  static bool is_better(const Place& one, const Place& other) {
    if ((one.text == 0) != (other.text == 0)) return one.text == 0;
    return one.at < other.at;
  }

  void add(std::vector<std::vector<std::size_t>>& by_text, std::size_t next, std::size_t length, std::size_t size) {
    const Place& after = places_[next];
    if (length > after.at) return;
    const Place place{after.at - length, after.text - size, length, next};
    auto& same = by_text[place.text];
    if (std::ranges::any_of(same, [&](std::size_t other) { return places_[other].at == place.at; })) return;
    same.push_back(places_.size());
    places_.push_back(place);
  }

  std::string_view text_;
  std::string_view raw_;
  std::size_t begin_;
  std::vector<Place> places_;
};

}  // namespace

SpelledTexts::SpelledTexts(std::vector<SecretForm> forms)
    : forms_(std::move(forms)), matcher_(needles_of(forms_)), quiet_(texts_of(forms_)) {}

std::size_t SpelledTexts::to_hold(std::string_view text, std::size_t most) const {
  if (is_empty()) return 0;
  most = std::min(most, longest());
  // A beginning of a text has less than all of its characters. Each takes one byte, or as many more as begin with a
  // sign that is in there, too; and one may have begun before.
  std::size_t need = matcher_.longest() + kLongestSpelling;
  std::size_t held = 0;
  while (held < most && need > 0) {
    const char c = text[text.size() - held - 1];
    // No text has a control character in it, so none begins before the last one: lines and events need not wait, but
    // for those of base64, which may go on.
    if (static_cast<unsigned char>(c) < 0x20 && !is_end_of_digits(text.substr(0, text.size() - held))) break;
    ++held;
    if (c != '\n' && c != '\r') --need;
    if (begins_spelling(c)) need += kLongestSpelling;
    if (begins_pair(c)) ++need;
  }
  return held;
}

// As long as there is one way to read the bytes, and they are no spelling: only the last two places are kept, since
// whatever takes more begins with a sign that is none of these.
std::size_t SpelledSearch::run(std::string_view text, std::size_t at) {
  const SecretMatcher& matcher = texts_->matcher();
  const QuietText& quiet = texts_->quiet();
  SecretMatcher::State state = before(0).empty() ? SecretMatcher::kStart : before(0)[0];
  SecretMatcher::State former = before(1).empty() ? SecretMatcher::kStart : before(1)[0];
  std::size_t end = at;
  const auto is_plain = [&] {
    switch (quiet.kind(text[end])) {
      case QuietText::Byte::kItself:
        return true;
      case QuietText::Byte::kQuote:
        return end == 0 || text[end - 1] != text[end];
      case QuietText::Byte::kLineEnd:  // it goes on where it was, or anew: at the start there is no difference
        return state == SecretMatcher::kStart && former == SecretMatcher::kStart;
      default:
        return false;
    }
  };
  std::size_t next_try = at;
  while (end < text.size()) {
    if (state == SecretMatcher::kStart && end >= next_try) {
      const std::size_t passed = quiet.pass(text, end);
      next_try = passed + 2 * QuietText::kWindow;
      if (passed > end) {
        end = passed;
        former = state;
      }
    }
    if (!is_plain()) break;
    former = state;
    state = matcher.next(state, text[end]);
    ++end;
    if (matcher.found(state).length != 0) break;
  }
  if (end == at) return at;
  at_ += end - at;
  since_ = kKept;
  for (const auto& [place, what] : {std::pair{1u, former}, std::pair{0u, state}}) {
    before(place).clear();
    if (what != SecretMatcher::kStart) before(place).push_back(what);
  }
  note(state);
  return end;
}

// Shortly behind a sign: as long as nothing ends that it may have begun, there is one way as well. Each place is kept.
std::size_t SpelledSearch::walk(std::string_view text, std::size_t at) {
  const SecretMatcher& matcher = texts_->matcher();
  SecretMatcher::State state = before(0).empty() ? SecretMatcher::kStart : before(0)[0];
  while (at < text.size() && since_ < kLongestSpelling && !has_ways(text.substr(0, at + 1))) {
    state = matcher.next(state, text[at]);
    advance(text[at]);
    ++at;
    before(0).clear();
    if (state != SecretMatcher::kStart) before(0).push_back(state);
    note(state);
    if (!found_.empty()) break;
  }
  return at;
}

// Whether the last byte may be read in another way than as itself.
bool SpelledSearch::has_ways(std::string_view text) const {
  const QuietText::Byte kind = texts_->quiet().kind(text.back());
  if (kind != QuietText::Byte::kItself && kind != QuietText::Byte::kSign) return true;
  return may_end_spelling(text, since_ + 1);
}

void SpelledSearch::advance(char byte) {
  since_ = begins_spelling(byte) ? 0 : since_ + 1;
  ++at_;
}

void SpelledSearch::note(SecretMatcher::State state) {
  const auto found = texts_->matcher().found(state);
  if (found.length != 0 && std::ranges::find(found_, found.tag) == found_.end()) found_.push_back(found.tag);
}

void SpelledSearch::follow(const States& from, std::string_view meant) {
  const SecretMatcher& matcher = texts_->matcher();
  const auto one = [&](SecretMatcher::State state) {
    for (const char c : meant) state = matcher.next(state, c);
    if (state != SecretMatcher::kStart && std::ranges::find(here_, state) == here_.end()) here_.push_back(state);
  };
  if (from.empty()) one(SecretMatcher::kStart);
  for (const SecretMatcher::State state : from) one(state);
}

std::size_t SpelledSearch::step(std::string_view text, std::size_t at) {
  found_.clear();
  if (before(0).size() <= 1) {
    const std::size_t end = since_ >= kLongestSpelling ? run(text, at) : walk(text, at);
    if (end > at) return end;
  }
  here_.clear();
  const bool is_spelled = has_ways(text.substr(0, at + 1));
  advance(text[at]);
  ++at;
  follow(before(1), text.substr(at - 1, 1));
  if (is_spelled) {
    for (const Spelling& one : spellings_at_end(text.substr(0, at))) follow(before(one.length), one.meant());
  }
  for (const SecretMatcher::State state : here_) note(state);
  before(0).swap(here_);
  return at;
}

void overwrite(const SecretForm& form, std::string_view raw, std::size_t end, std::string& out) {
  const std::size_t gone = raw.size() - out.size();
  const std::string_view text = form.bytes.view();
  WayBack way(text, raw, gone);
  const auto first = way.find(end);
  if (!first) return;
  for (Place place = way.place(*first); place.length != 0; place = way.place(place.next)) {
    const Place& after = way.place(place.next);
    const std::size_t size = after.text - place.text;
    const std::string_view unit = raw.substr(place.at, place.length);
    const std::string_view instead = std::string_view(form.instead).substr(place.text, size);
    std::string written(unit);
    if (instead != text.substr(place.text, size)) {
      written = size == 1 ? respelled(unit, instead[0]) : std::string(unit.size(), 'x');
    }
    const std::size_t cut = place.at < gone ? gone - place.at : 0;  // of it, so much was let go
    if (cut < written.size()) out.replace(place.at + cut - gone, written.size() - cut, written, cut);
  }
}

}  // namespace cloche::gateway
