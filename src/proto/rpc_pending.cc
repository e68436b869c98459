#include "proto/rpc_pending.h"

#include <algorithm>
#include <utility>

namespace cloche::proto {

void PendingBatches::add(std::vector<std::string> awaited, Messages held) {
  batches_.push_back({std::move(awaited), std::move(held)});
}

PendingBatches::Messages PendingBatches::take_for(const std::vector<std::string>& ids) {
  const auto awaits = [&](const Batch& batch) {
    return std::find_first_of(batch.awaited.begin(), batch.awaited.end(), ids.begin(), ids.end()) !=
           batch.awaited.end();
  };
  const auto found = std::find_if(batches_.begin(), batches_.end(), awaits);
  if (found == batches_.end()) return {};
  Messages held = std::move(found->held);
  batches_.erase(found);
  return held;
}

PendingBatches::Messages PendingBatches::take_after(std::string_view id) {
  for (auto batch = batches_.begin(); batch != batches_.end(); ++batch) {
    const auto found = std::find(batch->awaited.begin(), batch->awaited.end(), id);
    if (found == batch->awaited.end()) continue;
    batch->awaited.erase(found);
    if (!batch->awaited.empty()) return {};
    Messages held = std::move(batch->held);
    batches_.erase(batch);
    return held;
  }
  return id == "null" ? take_oldest() : Messages{};
}

PendingBatches::Messages PendingBatches::take_oldest() {
  if (batches_.empty()) return {};
  Messages held = std::move(batches_.front().held);
  batches_.pop_front();
  return held;
}

std::size_t PendingBatches::held() const {
  std::size_t bytes = 0;
  for (const Batch& batch : batches_) {
    for (const auto* list : {&batch.awaited, &batch.held}) {
      for (const std::string& text : *list) bytes += sizeof text + text.capacity();
    }
  }
  return bytes;
}

}  // namespace cloche::proto
