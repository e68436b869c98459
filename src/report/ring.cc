#include "report/ring.h"

#include <algorithm>
#include <cstring>

namespace cloche {

void Ring::append(std::string_view bytes) {
  total_ += bytes.size();
  if (cap_ == 0) return;
  if (bytes.size() > cap_) bytes.remove_prefix(bytes.size() - cap_);
  while (!bytes.empty()) {
    const std::size_t index = next_ / kBlock;
    const std::size_t offset = next_ % kBlock;
    const std::size_t block_size = std::min(kBlock, cap_ - index * kBlock);
    if (index == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size));
    const std::size_t n = std::min(bytes.size(), block_size - offset);
    std::memcpy(blocks_[index].get() + offset, bytes.data(), n);
    bytes.remove_prefix(n);
    next_ = next_ + n == cap_ ? 0 : next_ + n;
  }
}

std::string Ring::tail() const {
  const std::size_t size = total_ < cap_ ? static_cast<std::size_t>(total_) : cap_;
  std::string out;
  out.reserve(size);
  const auto copy = [&](std::size_t from, std::size_t to) {
    while (from < to) {
      const std::size_t index = from / kBlock;
      const std::size_t n = std::min(to, (index + 1) * kBlock) - from;
      out.append(blocks_[index].get() + from % kBlock, n);
      from += n;
    }
  };
  if (truncated()) copy(next_, cap_);
  copy(0, truncated() ? next_ : size);
  return out;
}

}  // namespace cloche
