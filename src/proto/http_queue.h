// Bytes that wait: put in at the end, taken off the front.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::proto {

class HttpQueue {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(start_); }
  std::size_t size() const { return bytes_.size() - start_; }
  bool empty() const { return size() == 0; }

  std::string& tail() { return bytes_; }  // to append to
  void append(std::string_view more) { bytes_ += more; }

  void drop(std::size_t count) {
    start_ += count;
    // Moved down only when at least as much was dropped as is left: each byte is moved once on average.
    if (start_ >= bytes_.size() - start_) {
      bytes_.erase(0, start_);
      start_ = 0;
    }
  }
  void clear() {
    bytes_.clear();
    start_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t start_ = 0;
};

}  // namespace cloche::proto
