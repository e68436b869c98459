// How much work the search of one stream may make of its bytes. Some texts can be read in very many ways, and a guest
// may have a host send them; what would take more than this is not passed on, since nobody knows what is in it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace cloche::gateway {

class Effort {
 public:
  // A unit is one reading that goes on by one spelling, or one place where a spelling of a text may begin: well below a
  // tenth of a microsecond. Text that somebody wrote takes one or two for each byte.
  static constexpr std::size_t kPerByte = 64;
  // What may be spent before it is earned, and the most that is saved: enough for the longest value.
  static constexpr std::size_t kAhead = std::size_t{1} << 18;

  void earn(std::size_t bytes) { left_ = std::min(left_ + std::min(bytes, kAhead) * kPerByte, kAhead); }
  void spend(std::size_t units) {
    is_over_ = is_over_ || units > left_;
    left_ -= std::min(left_, units);
  }
  void give_up() { is_over_ = true; }
  bool is_over() const { return is_over_; }  // for good

 private:
  std::size_t left_ = kAhead;
  bool is_over_ = false;
};

}  // namespace cloche::gateway
