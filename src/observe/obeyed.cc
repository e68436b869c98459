#include "observe/obeyed.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "policy/key_value.h"
#include "tree/protected_names.h"

namespace cloche::observe {
namespace {

constexpr const char* kProgram = "shells run it by its name alone";

bool has(const std::vector<std::string>& places, std::string_view directory) {
  return std::ranges::find(places, directory) != places.end();
}

std::string why_as(const std::string& path, tree::FileKind kind) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return {};
  const tree::Above above = tree::above_of(path.substr(0, std::max<std::size_t>(slash, 1)));
  return tree::why_protected(path.substr(slash + 1), kind, above).value_or("");
}

std::string why_git(const std::string& path, const Secrets& host, Secrets::GitAsks what = Secrets::GitAsks::kFile) {
  return host.git ? host.git(path, what) : std::string();
}

}  // namespace

std::string why_obeyed(const std::string& path, const Secrets& host) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && has(host.programs, std::string_view(path).substr(0, slash))) return kProgram;
  std::string reason = why_as(path, tree::FileKind::kRegular);
  return reason.empty() ? why_git(path, host) : reason;
}

std::string why_obeyed_below(const std::string& directory, const Secrets& host) {
  if (has(host.programs, directory)) return kProgram;
  const tree::Above above = tree::above_of(directory);
  // Of any name in it: what commits are kept in is no part of what is obeyed.
  return above.reason ? *above.reason : why_git(directory + "/any", host);
}

bool leads_to_obeyed(const std::string& directory, const Secrets& host) {
  const auto is_in = [&](const std::string& place) { return path_covers(directory, place); };
  // The table judges a link by all paths that would lead through it.
  return std::ranges::any_of(host.programs, is_in) || !why_as(directory, tree::FileKind::kSymlink).empty() ||
         !why_git(directory, host, Secrets::GitAsks::kWay).empty();
}

}  // namespace cloche::observe
