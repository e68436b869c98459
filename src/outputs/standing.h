// What is at a path of the target now, and whether that is still what its producer wrote.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "outputs/manifest.h"
#include "tree/change.h"

namespace cloche::outputs {

enum class State : std::uint8_t {
  kClean,        // as its producer wrote it
  kEdited,       // other bytes, or another right to be executed
  kMissing,      // somebody removed it
  kChangedKind,  // something else than a file is there, or above it
  kUnreadable,   // nobody knows
};

std::string_view to_string(State state);

// A look that reads no content.
struct Glance {
  std::optional<tree::FileKind> kind;  // nothing: nothing is there
  mode_t mode = 0;
  std::uint64_t size = 0;
  std::string blocked;  // why nothing can be there: something above it is no directory
};

struct Standing {
  State state = State::kUnreadable;
  std::optional<tree::FileState> present;  // of a clean file: the very state that was found clean
};

class Target {
 public:
  explicit Target(int root) : root_(root) {}

  int root() const { return root_; }
  Result<Glance> glance(const std::string& path);
  // Reads the content only if its size is the one that was written.
  Standing judge(const std::string& path, const Owned& owned);

 private:
  Result<std::optional<tree::FileKind>> parent_kind(const std::string& path);

  int root_;
  std::map<std::string, std::optional<tree::FileKind>> parents_;
};

// Of the mode only whether it can be executed is a producer's business: the rest is umask and taste.
bool executable(mode_t mode);

}  // namespace cloche::outputs
