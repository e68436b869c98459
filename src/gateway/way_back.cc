#include "gateway/way_back.h"

#include <algorithm>

#include "gateway/spelling.h"

namespace cloche::gateway {
namespace {

bool is_better(const WayBack::Place& one, const WayBack::Place& other) {
  if ((one.text == 0) != (other.text == 0)) return one.text == 0;
  return one.at < other.at;
}

}  // namespace

std::optional<std::size_t> WayBack::find(std::size_t end) {
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

void WayBack::add(std::vector<std::vector<std::size_t>>& by_text, std::size_t next, std::size_t length,
                  std::size_t size) {
  const Place& after = places_[next];
  if (length > after.at) return;
  const Place place{after.at - length, after.text - size, length, next};
  auto& same = by_text[place.text];
  if (std::ranges::any_of(same, [&](std::size_t other) { return places_[other].at == place.at; })) return;
  same.push_back(places_.size());
  places_.push_back(place);
}

}  // namespace cloche::gateway
