// Ring: the tail of a stream, in bounded memory (K6). A guest may print for ever; the engine keeps the last `cap`
// bytes and counts the rest. Memory comes in blocks as it is needed, and full blocks are overwritten in place: a quiet
// guest costs nothing, and no moment holds an old and a new copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

class Ring {
 public:
  explicit Ring(std::size_t cap) : cap_(cap) {}

  void append(std::string_view bytes);
  std::string tail() const;                         // the last min(total, cap) bytes
  std::uint64_t total() const { return total_; }    // bytes ever appended
  bool truncated() const { return total_ > cap_; }  // the tail is not all of it

 private:
  static constexpr std::size_t kBlock = 4096;

  std::size_t cap_;
  std::uint64_t total_ = 0;
  std::size_t next_ = 0;  // where the next byte goes, in [0, cap)
  std::vector<std::unique_ptr<char[]>> blocks_;
};

}  // namespace cloche
