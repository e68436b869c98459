#include "diff/myers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cloche::diff {
namespace {

using Ids = std::span<const std::uint32_t>;

// Positions are those of the whole sequences.
struct Box {
  std::size_t old_begin, old_end, new_begin, new_end;
};

struct Point {
  std::size_t x, y;  // lines of the old and of the new side that lie before it
};

// How far a search has come on each diagonal k = x - y, counted from its own corner of the box.
class Frontier {
 public:
  explicit Frontier(std::int32_t effort)
      : middle_(effort + 2), reached_(2 * static_cast<std::size_t>(effort) + 5, kNever) {}

  static constexpr std::int64_t kNever = -1;

  std::int64_t& operator[](std::int64_t k) { return reached_[static_cast<std::size_t>(k + middle_)]; }

  // Diagonals that step d looks at and that no step has reached hold what an earlier box left there.
  void open(std::int64_t d) {
    (*this)[d + 1] = (*this)[-d - 1] = kNever;
    if (d == 0) (*this)[0] = kNever;
  }

 private:
  std::int64_t middle_;
  std::vector<std::int64_t> reached_;
};

class Search {
 public:
  Search(Ids old_ids, Ids new_ids, std::int32_t effort)
      : old_(old_ids), new_(new_ids), effort_(effort), forward_(effort), backward_(effort) {
    edit_.removed.resize(old_.size());
    edit_.added.resize(new_.size());
  }

  Edit run() {
    // A stack of our own: where every split is a forced one, they nest as deep as the text is long.
    std::vector<Box> open = {{0, old_.size(), 0, new_.size()}};
    while (!open.empty()) {
      const Box box = trimmed(open.back());
      open.pop_back();
      if (box.old_begin == box.old_end || box.new_begin == box.new_end) {
        mark(box);
        continue;
      }
      const Point at = split(box);
      open.push_back({box.old_begin + at.x, box.old_end, box.new_begin + at.y, box.new_end});
      open.push_back({box.old_begin, box.old_begin + at.x, box.new_begin, box.new_begin + at.y});
    }
    return std::move(edit_);
  }

 private:
  Box trimmed(Box box) const {
    while (box.old_begin < box.old_end && box.new_begin < box.new_end && old_[box.old_begin] == new_[box.new_begin]) {
      ++box.old_begin, ++box.new_begin;
    }
    while (box.old_begin < box.old_end && box.new_begin < box.new_end &&
           old_[box.old_end - 1] == new_[box.new_end - 1]) {
      --box.old_end, --box.new_end;
    }
    return box;
  }

  void mark(const Box& box) {
    for (std::size_t i = box.old_begin; i < box.old_end; ++i) edit_.removed[i] = true;
    for (std::size_t i = box.new_begin; i < box.new_end; ++i) edit_.added[i] = true;
  }

  // A point inside of a trimmed box with lines on both sides. Its edit has two steps at least, and each search takes
  // one before they meet, so that the point is neither of the two corners and both halves are smaller than the box.
  Point split(const Box& box) {
    box_ = box;
    width_ = static_cast<std::int64_t>(box.old_end - box.old_begin);
    height_ = static_cast<std::int64_t>(box.new_end - box.new_begin);
    const std::int64_t delta = width_ - height_;
    for (std::int64_t d = 0; d <= effort_; ++d) {
      const bool odd = delta % 2 != 0;
      advance(forward_, d, [this](std::int64_t x, std::int64_t y) { return same_from_the_start(x, y); });
      if (const auto k = odd ? meeting(forward_, d, backward_, d - 1) : std::nullopt) return point(*k, forward_[*k]);
      advance(backward_, d, [this](std::int64_t x, std::int64_t y) { return same_from_the_end(x, y); });
      if (const auto k = odd ? std::nullopt : meeting(backward_, d, forward_, d)) return mirrored(*k, backward_[*k]);
    }
    const std::int64_t forward_k = furthest(forward_);
    const std::int64_t backward_k = furthest(backward_);
    const std::int64_t forward_gain = 2 * forward_[forward_k] - forward_k;
    const std::int64_t backward_gain = 2 * backward_[backward_k] - backward_k;
    return forward_gain >= backward_gain ? point(forward_k, forward_[forward_k])
                                         : mirrored(backward_k, backward_[backward_k]);
  }

  bool same_from_the_start(std::int64_t x, std::int64_t y) const {
    return old_[box_.old_begin + static_cast<std::size_t>(x)] == new_[box_.new_begin + static_cast<std::size_t>(y)];
  }
  bool same_from_the_end(std::int64_t x, std::int64_t y) const {
    return old_[box_.old_end - 1 - static_cast<std::size_t>(x)] == new_[box_.new_end - 1 - static_cast<std::size_t>(y)];
  }

  template <typename Same>
  void advance(Frontier& frontier, std::int64_t d, Same same) const {
    frontier.open(d);
    for (std::int64_t k = -d; k <= d; k += 2) {
      const std::int64_t limit = std::min(width_, height_ + k);
      const std::int64_t by_adding = frontier[k + 1];
      const std::int64_t by_removing = frontier[k - 1] == Frontier::kNever ? Frontier::kNever : frontier[k - 1] + 1;
      std::int64_t x = d == 0 ? 0 : Frontier::kNever;
      if (by_adding <= limit) x = std::max(x, by_adding);
      if (by_removing <= limit) x = std::max(x, by_removing);
      if (x != Frontier::kNever) {
        while (x < limit && same(x, x - k)) ++x;
      }
      frontier[k] = x;
    }
  }

  // The diagonal, in the terms of the search that has just moved, on which the two have met or passed each other.
  std::optional<std::int64_t> meeting(Frontier& moved, std::int64_t d, Frontier& other, std::int64_t other_d) const {
    const std::int64_t delta = width_ - height_;
    // Both bounds are as odd as d, because one of the two searches is a step behind just when delta is odd.
    for (std::int64_t k = std::max(-d, delta - other_d); k <= std::min(d, delta + other_d); k += 2) {
      const std::int64_t theirs = other[delta - k];
      if (moved[k] != Frontier::kNever && theirs != Frontier::kNever && moved[k] + theirs >= width_) return k;
    }
    return std::nullopt;
  }

  std::int64_t furthest(Frontier& frontier) const {
    std::int64_t best = 0;
    std::int64_t best_gain = -1;
    for (std::int64_t k = -effort_; k <= effort_; k += 2) {
      if (frontier[k] == Frontier::kNever || 2 * frontier[k] - k <= best_gain) continue;
      best = k;
      best_gain = 2 * frontier[k] - k;
    }
    return best;
  }

  static Point point(std::int64_t k, std::int64_t x) {
    return {static_cast<std::size_t>(x), static_cast<std::size_t>(x - k)};
  }
  Point mirrored(std::int64_t k, std::int64_t x) const {
    return {static_cast<std::size_t>(width_ - x), static_cast<std::size_t>(height_ - (x - k))};
  }

  Ids old_, new_;
  std::int64_t effort_;
  Frontier forward_, backward_;
  Edit edit_;
  Box box_{};
  std::int64_t width_ = 0, height_ = 0;
};

}  // namespace

Edit shortest_edit(Ids old_ids, Ids new_ids, std::int32_t effort) { return Search(old_ids, new_ids, effort).run(); }

}  // namespace cloche::diff
