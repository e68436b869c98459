#include "diff/line_ids.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace cloche::diff {
namespace {

// A line's hash above its index, so that one sort of plain integers brings equal lines together.
using Key = std::uint64_t;
using Keys = std::vector<Key>;

class Numbering {
 public:
  Numbering(const Lines& old_lines, Span old_span, const Lines& new_lines, Span new_span)
      : old_lines_(old_lines), old_span_(old_span), new_lines_(new_lines), new_span_(new_span) {
    ids_.old_ids.resize(old_span.size());
    ids_.new_ids.resize(new_span.size());
  }

  LineIds run(LineHash hash) {
    Keys keys(ids_.old_ids.size() + ids_.new_ids.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = (static_cast<Key>(hash(line(i))) << 32) | i;
    }
    std::ranges::sort(keys);
    for (auto first = keys.begin(); first != keys.end();) {
      const auto last = std::find_if(first, keys.end(), [&](Key key) { return key >> 32 != *first >> 32; });
      number_equal_hashes(first, last);
      first = last;
    }
    return std::move(ids_);
  }

 private:
  static std::size_t index_of(Key key) { return static_cast<std::uint32_t>(key); }

  std::string_view line(std::size_t index) const {
    const std::size_t old_count = ids_.old_ids.size();
    return index < old_count ? old_lines_[old_span_.begin + index] : new_lines_[new_span_.begin + index - old_count];
  }

  // Nearly always all of these are one line. A few passes part a few lines that collide by chance; a sort parts many
  // that were made to.
  void number_equal_hashes(Keys::iterator first, Keys::iterator last) {
    for (int pass = 0; pass < 4 && first != last; ++pass) {
      const std::string_view wanted = line(index_of(*first));
      const auto others = std::partition(first, last, [&](Key key) { return line(index_of(key)) == wanted; });
      give_one_id(first, others);
      first = others;
    }
    std::sort(first, last, [&](Key a, Key b) { return line(index_of(a)) < line(index_of(b)); });
    while (first != last) {
      const std::string_view wanted = line(index_of(*first));
      const auto others = std::find_if(first, last, [&](Key key) { return line(index_of(key)) != wanted; });
      give_one_id(first, others);
      first = others;
    }
  }

  void give_one_id(Keys::iterator first, Keys::iterator last) {
    const auto id = static_cast<std::uint32_t>(ids_.sides.size());
    std::uint8_t sides = 0;
    const std::size_t old_count = ids_.old_ids.size();
    for (; first != last; ++first) {
      const std::size_t index = index_of(*first);
      const bool is_old = index < old_count;
      (is_old ? ids_.old_ids[index] : ids_.new_ids[index - old_count]) = id;
      sides |= is_old ? LineIds::kOld : LineIds::kNew;
    }
    ids_.sides.push_back(sides);
  }

  const Lines& old_lines_;
  Span old_span_;
  const Lines& new_lines_;
  Span new_span_;
  LineIds ids_;
};

}  // namespace

std::size_t hash_line(std::string_view line) { return std::hash<std::string_view>{}(line); }

LineIds number_lines(const Lines& old_lines, Span old_span, const Lines& new_lines, Span new_span, LineHash hash) {
  return Numbering(old_lines, old_span, new_lines, new_span).run(hash);
}

}  // namespace cloche::diff
