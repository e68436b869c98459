// Hunks as the text that people read and that `patch -p1` and `git apply` take.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "diff/hunks.h"

namespace cloche::diff {

// What is sent around the parts of a difference. All empty: no colour, which is the only form that programs read.
struct Paint {
  std::string header;
  std::string range;  // @@ … @@
  std::string added;
  std::string removed;
  std::string reset;
  bool operator==(const Paint&) const = default;
};

Paint terminal_paint();

enum class FileChange { kModified, kAdded, kDeleted };

enum class Showing {
  kExact,     // every byte of the lines as it is: for files and programs
  kHarmless,  // for a terminal, which obeys what it is sent; no patch any more
};

struct UnifiedOptions {
  FileChange change = FileChange::kModified;
  Showing showing = Showing::kExact;
  Paint paint;
};

// Empty without hunks: that an empty file was added or deleted cannot be said this way. The path is relative, with
// neither a/ nor b/.
std::string unified(std::string_view path, std::span<const Hunk> hunks, const UnifiedOptions& options = {});

}  // namespace cloche::diff
