#include "observe/obeyed.h"

#include <algorithm>

#include "tree/protected_names.h"

namespace cloche::observe {
namespace {

std::string why_as(const std::string& path, tree::FileKind kind) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return {};
  const tree::Above above = tree::above_of(path.substr(0, std::max<std::size_t>(slash, 1)));
  return tree::why_protected(path.substr(slash + 1), kind, above).value_or("");
}

}  // namespace

std::string why_obeyed(const std::string& path) { return why_as(path, tree::FileKind::kRegular); }

std::string why_obeyed_below(const std::string& directory) { return tree::above_of(directory).reason.value_or(""); }

// The table judges a link by all paths that would lead through it.
bool leads_to_obeyed(const std::string& directory) { return !why_as(directory, tree::FileKind::kSymlink).empty(); }

}  // namespace cloche::observe
