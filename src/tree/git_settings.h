// Git's configuration files, as far as they name other files that git obeys. Nothing of git is run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::tree {

struct GitPath {
  enum class Kind : std::uint8_t {
    kHooks,     // core.hooksPath
    kInclude,   // include.path and includeIf.*.path, whatever the condition is
    kWorktree,  // core.worktree: from where the others are seen
    kCommand,   // what git or one of its programs runs: core.fsmonitor, diff.*.textconv, filter.*.clean, alias.* = !...
  } kind;
  std::string value;

  bool operator==(const GitPath&) const = default;
};

// In their order, as they are written there. Where git would stop at an error, this goes on with the next line.
std::vector<GitPath> git_paths(std::string_view text);

// What in such a command may be the path of a file: words with a slash or a dot in them, in every way a shell may take
// them apart. A path after an expansion, as in "$(git rev-parse --show-toplevel)/tools/x", is one from the repository.
// Where one of its words is a shell or another program that runs files, as in "sh check", each word may be one.
std::set<std::string> paths_in_command(std::string_view command);

}  // namespace cloche::tree
