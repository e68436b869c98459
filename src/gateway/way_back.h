// Every way in which a text may be spelled that ends at one place: from its last character to its first.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

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
  WayBack(std::string_view text, std::string_view raw, std::size_t begin) : text_(text), raw_(raw), begin_(begin) {}

  // The one that begins first; if each has its beginning before `begin`, the earliest place after that.
  std::optional<std::size_t> find(std::size_t end);
  const Place& place(std::size_t index) const { return places_[index]; }

 private:
  void add(std::vector<std::vector<std::size_t>>& by_text, std::size_t next, std::size_t length, std::size_t size);

  std::string_view text_;
  std::string_view raw_;
  std::size_t begin_;
  std::vector<Place> places_;
};

}  // namespace cloche::gateway
