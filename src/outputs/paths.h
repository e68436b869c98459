// Which paths outputs and manifests may name, one by one and as a set.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace cloche::outputs {

// The file in a target that says who owns what.
inline constexpr std::string_view kManifestName = ".cloche-outputs.json";

// Narrower than what the kernel takes: a few bytes of a document must not become a mountain of directories.
inline constexpr std::size_t kMaxPathBytes = 1024;
inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxFolders = 10'000;

// By tree::check_path, and: nothing that a reader cannot see, no blank at an end of a name, not too deep, and
// no part of it the manifest's name, in any spelling. The message is a clause without the path: "is absolute".
Status check_output_path(std::string_view path);

// What is wrong with a set of paths that are right one by one; nothing: it is right. `index` is that of the path that
// clashes with an earlier or shorter one. Paths are compared as the most forgiving file system compares ASCII names;
// for other letters that file system itself has the last word when the files are put in place.
struct Clash {
  std::size_t index = 0;
  std::string message;
};
std::optional<Clash> find_clash(std::span<const std::string_view> paths);

}  // namespace cloche::outputs
