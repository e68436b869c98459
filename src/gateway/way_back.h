// Every way in which a text may be spelled that ends at one place: from its last character to its first.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/effort.h"

namespace cloche::gateway {

class WayBack {
 public:
  // A place from which on the rest of the text is spelled.
  struct Place {
    std::size_t at;      // in raw
    std::size_t text;    // how much of the text comes before
    std::size_t length;  // of the spelling that begins here; 0: nothing is left
    std::size_t next;    // the place after it
  };

  // `begin`: where in `raw` to end at the latest.
  WayBack(std::string_view text, std::string_view raw, std::size_t begin, Effort& effort)
      : text_(text), raw_(raw), begin_(begin), effort_(effort) {}

  // The one that begins first; if each has its beginning before `begin`, the earliest place after that. Once, and it
  // says nothing if it took too much effort.
  std::optional<std::size_t> find(std::size_t end);
  const Place& place(std::size_t index) const { return places_[index]; }

 private:
  // The places with as much of the text before them.
  struct Level {
    std::vector<std::size_t> places;
    std::vector<bool> known;  // by how far they are from the end
  };
  static constexpr std::size_t kLevels = 5;  // one spelling stands for four bytes at most

  Level& level(std::size_t text) { return levels_[text % kLevels]; }
  void look(std::size_t index);
  void add(std::size_t next, std::size_t length, std::size_t size);
  void clear(Level& level) const;

  std::string_view text_;
  std::string_view raw_;
  std::size_t begin_;
  Effort& effort_;
  std::vector<Place> places_;  // the first one is the end
  std::array<Level, kLevels> levels_;
  std::optional<std::size_t> best_;
};

}  // namespace cloche::gateway
