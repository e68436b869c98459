// Batches of which the service answers one part and the broker the other. A client waits for one array, so the broker's
// part is held until the service's comes.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::proto {

class PendingBatches {
 public:
  using Messages = std::vector<std::string>;

  bool is_full() const { return batches_.size() >= kMost; }
  void add(std::vector<std::string> awaited, Messages held);

  // The service sent an array of answers with these ids: what belongs into it. Empty: it is of no batch that waits.
  Messages take_for(const std::vector<std::string>& ids);
  // The service answered one id alone: what was held, if this was the last of its batch. An error without id may be
  // about any batch; the oldest is given up.
  Messages take_after(std::string_view id);
  Messages take_oldest();

  std::size_t held() const;  // bytes, about

 private:
  struct Batch {
    std::vector<std::string> awaited;
    Messages held;
  };
  static constexpr std::size_t kMost = 32;
  std::deque<Batch> batches_;
};

}  // namespace cloche::proto
