#include "observe/obeyed.h"

#include <algorithm>

#include "tree/protected_names.h"

namespace cloche::observe {

std::string why_obeyed(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return {};
  const tree::Above above = tree::above_of(path.substr(0, std::max<std::size_t>(slash, 1)));
  return tree::why_protected(path.substr(slash + 1), tree::FileKind::kRegular, above).value_or("");
}

std::string why_obeyed_below(const std::string& directory) { return tree::above_of(directory).reason.value_or(""); }

}  // namespace cloche::observe
