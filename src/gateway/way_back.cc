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
  places_.push_back({end, text_.size(), 0, 0});
  level(text_.size()).places.push_back(0);
  level(text_.size()).known.push_back(true);
  std::size_t looked = 0;
  for (std::size_t left = text_.size() + 1; left-- > 0 && looked < places_.size();) {
    Level& here = level(left);
    for (std::size_t i = 0; i < here.places.size(); ++i, ++looked) {  // the end of a line adds to it
      effort_.spend(1);
      if (effort_.is_over()) return std::nullopt;
      look(here.places[i]);
    }
    clear(here);
  }
  return best_;
}

void WayBack::look(std::size_t index) {
  const Place here = places_[index];
  if (here.text == 0 || here.at <= begin_) {
    if (!best_ || is_better(here, places_[*best_])) best_ = index;
    return;
  }
  if (raw_[here.at - 1] == text_[here.text - 1]) add(index, 1, 1);
  const Spellings ways = spellings_at_end(raw_.substr(0, here.at));
  if (ways.is_over()) effort_.give_up();
  for (const Spelling& one : ways) {
    if (text_.substr(0, here.text).ends_with(one.meant())) add(index, one.length, one.size);
  }
}

// Each place once: of many quotes in a row, each of which may be half of one, there are as many ways as of any sum.
void WayBack::add(std::size_t next, std::size_t length, std::size_t size) {
  const Place& after = places_[next];
  if (length > after.at) return;
  const Place place{after.at - length, after.text - size, length, next};
  Level& same = level(place.text);
  const std::size_t back = places_[0].at - place.at;
  if (back >= same.known.size()) same.known.resize(2 * back + 1);
  if (same.known[back]) return;
  same.known[back] = true;
  same.places.push_back(places_.size());
  places_.push_back(place);
}

// For the places that come kLevels later.
void WayBack::clear(Level& level) const {
  for (const std::size_t index : level.places) level.known[places_[0].at - places_[index].at] = false;
  level.places.clear();
}

}  // namespace cloche::gateway
