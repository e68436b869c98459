#include "diff/merge.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "diff/changes.h"
#include "diff/lines.h"

namespace cloche::diff {
namespace {

// One of the two texts that were made of the base, and its changes from left to right.
class Side {
 public:
  Side(const Lines& base, std::string_view text) : lines_(text), changes_(find_changes(base, lines_)) {}

  const Lines& lines() const { return lines_; }
  bool at_end() const { return next_ == changes_.size(); }
  const Change& next() const { return changes_[next_]; }

  // Takes the changes that touch the stretch of the base and widens the stretch by them; false if there was none.
  bool join(Span& base) {
    const std::size_t before = next_;
    while (!at_end() && next().old_span.begin <= base.end) {
      base.end = std::max(base.end, next().old_span.end);
      ++next_;
    }
    return next_ != before;
  }

  bool has_joined() const { return next_ != first_; }

  // What this side made of a stretch of the base that holds all changes taken since the last call.
  Span give(Span base) {
    const std::span<const Change> taken(changes_.data() + first_, next_ - first_);
    first_ = next_;
    const Span made{taken.front().new_span.begin - (taken.front().old_span.begin - base.begin),
                    taken.back().new_span.end + (base.end - taken.back().old_span.end)};
    return made;
  }

 private:
  Lines lines_;
  std::vector<Change> changes_;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

class Merging {
 public:
  Merging(std::string_view base, std::string_view ours, std::string_view theirs, const MergeLabels& labels)
      : base_(base), ours_(base_, ours), theirs_(base_, theirs), labels_(labels) {}

  Merge run() {
    std::size_t copied = 0;
    while (!ours_.at_end() || !theirs_.at_end()) {
      const Span stretch = next_stretch();
      merge_.text += base_.between(copied, stretch.begin);
      if (!theirs_.has_joined()) {
        take(ours_, ours_.give(stretch));
      } else if (!ours_.has_joined()) {
        take(theirs_, theirs_.give(stretch));
      } else {
        settle(ours_.give(stretch), theirs_.give(stretch));
      }
      copied = stretch.end;
    }
    merge_.text += base_.between(copied, base_.size());
    return std::move(merge_);
  }

 private:
  // The lines of the base from the next change on, as far as changes of either side touch each other.
  Span next_stretch() {
    std::size_t begin = base_.size();
    for (const Side* side : {&ours_, &theirs_}) {
      if (!side->at_end()) begin = std::min(begin, side->next().old_span.begin);
    }
    Span stretch{begin, begin};
    while (true) {
      const bool by_ours = ours_.join(stretch);
      const bool by_theirs = theirs_.join(stretch);
      if (!by_ours && !by_theirs) return stretch;
    }
  }

  void take(const Side& side, Span span) { merge_.text += side.lines().between(span.begin, span.end); }

  void settle(Span ours, Span theirs) {
    const Lines& our_lines = ours_.lines();
    const Lines& their_lines = theirs_.lines();
    const std::size_t shared_begin = ours.begin;
    while (ours.size() > 0 && theirs.size() > 0 && our_lines[ours.begin] == their_lines[theirs.begin]) {
      ++ours.begin, ++theirs.begin;
    }
    const std::size_t shared_end = ours.end;
    while (ours.size() > 0 && theirs.size() > 0 && our_lines[ours.end - 1] == their_lines[theirs.end - 1]) {
      --ours.end, --theirs.end;
    }
    take(ours_, {shared_begin, ours.begin});
    if (ours.size() > 0 || theirs.size() > 0) write_conflict(ours, theirs);
    take(ours_, {ours.end, shared_end});
  }

  void write_conflict(Span ours, Span theirs) {
    ++merge_.conflicts;
    merge_.text += "<<<<<<< " + labels_.ours + '\n';
    take_half(ours_, ours);
    merge_.text += "=======\n";
    take_half(theirs_, theirs);
    merge_.text += ">>>>>>> " + labels_.theirs + '\n';
  }

  void take_half(const Side& side, Span span) {
    take(side, span);
    if (span.size() > 0 && !ends_its_line(merge_.text)) merge_.text += '\n';
  }

  Lines base_;
  Side ours_;
  Side theirs_;
  const MergeLabels& labels_;
  Merge merge_;
};

}  // namespace

Merge merge_lines(std::string_view base, std::string_view ours, std::string_view theirs, const MergeLabels& labels) {
  return Merging(base, ours, theirs, labels).run();
}

}  // namespace cloche::diff
