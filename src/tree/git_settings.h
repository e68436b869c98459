// Git's configuration files, as far as they name other files that git obeys. Nothing of git is run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::tree {

struct GitPath {
  enum class Kind : std::uint8_t {
    kHooks,    // core.hooksPath
    kInclude,  // include.path and includeIf.*.path, whatever the condition is
  } kind;
  std::string value;

  bool operator==(const GitPath&) const = default;
};

// In their order. Where git would stop at an error, this goes on with the next line.
std::vector<GitPath> git_paths(std::string_view text);

}  // namespace cloche::tree
