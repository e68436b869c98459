#include "outputs/standing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::outputs {
namespace {

Result<std::optional<struct stat>> status_at(int root, const std::string& path) {
  const auto opened = tree::open_beneath(root, path, O_PATH, tree::Mounts::kCross);
  if (!opened) {
    const int error = opened.error().errno_value;
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    return std::unexpected(opened.error());
  }
  struct stat st{};
  if (::fstat(opened->get(), &st) != 0) {
    return fail_errno(errno, "inspect " + tree::printable(path), "could not be inspected");
  }
  return st;
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::kClean:
      return "clean";
    case State::kEdited:
      return "edited";
    case State::kMissing:
      return "missing";
    case State::kChangedKind:
      return "changed kind";
    case State::kUnreadable:
      break;
  }
  return "unreadable";
}

bool executable(mode_t mode) { return (mode & S_IXUSR) != 0; }

Result<std::optional<tree::FileKind>> Target::parent_kind(const std::string& path) {
  if (const auto known = parents_.find(path); known != parents_.end()) return known->second;
  CLOCHE_TRY_ASSIGN(const auto st, status_at(root_, path));
  std::optional<tree::FileKind> kind;
  if (st) kind = tree::kind_of(*st);
  return parents_[path] = kind;
}

Result<Glance> Target::glance(const std::string& path) {
  Glance glance;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    CLOCHE_TRY_ASSIGN(const auto kind, parent_kind(parent));
    if (!kind) return glance;
    if (*kind == tree::FileKind::kDirectory) continue;
    glance.blocked = fmt::format("{} is {}", tree::printable(parent), tree::to_string(*kind));
    return glance;
  }
  CLOCHE_TRY_ASSIGN(const auto st, status_at(root_, path));
  if (!st) return glance;
  glance.kind = tree::kind_of(*st);
  glance.mode = st->st_mode & 0777;
  glance.size = static_cast<std::uint64_t>(st->st_size);
  return glance;
}

Standing Target::judge(const std::string& path, const Owned& owned) {
  const auto glance = this->glance(path);
  if (!glance) return {State::kUnreadable, {}};
  if (!glance->blocked.empty()) return {State::kChangedKind, {}};
  if (!glance->kind) return {State::kMissing, {}};
  if (*glance->kind != tree::FileKind::kRegular) return {State::kChangedKind, {}};
  if (glance->size != owned.size) return {State::kEdited, {}};
  auto state = tree::inspect(root_, path);
  if (!state) return {State::kUnreadable, {}};
  if (!*state) return {State::kMissing, {}};
  if ((*state)->kind != tree::FileKind::kRegular) return {State::kChangedKind, {}};
  const bool clean = (*state)->digest == owned.digest && (*state)->size == owned.size &&
                     executable((*state)->mode) == executable(owned.mode);
  if (!clean) return {State::kEdited, {}};
  return {State::kClean, *std::move(state)};
}

}  // namespace cloche::outputs
