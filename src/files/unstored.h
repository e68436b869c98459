// Bytes that have to be read, or written to the host, and that cost a guest nothing: holes, and each further name of a
// file. No disk limit bounds them, so this does.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <set>
#include <utility>

#include "files/capture.h"

namespace cloche::files {

class Unstored {
 public:
  // False when this file would be too much; then it is not counted.
  bool add(const struct stat& st) {
    const bool again = st.st_nlink > 1 && !linked_.emplace(st.st_dev, st.st_ino).second;
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const auto stored = again ? 0 : static_cast<std::uint64_t>(st.st_blocks) * 512;
    const std::uint64_t more = size > stored ? size - stored : 0;
    if (more > kMostHoleBytes - bytes_) return false;
    bytes_ += more;
    return true;
  }

 private:
  std::uint64_t bytes_ = 0;
  std::set<std::pair<dev_t, ino_t>> linked_;
};

}  // namespace cloche::files
