#include "cli/learn_changes.h"

#include <fmt/format.h>
#include <poll.h>

#include <optional>
#include <string>

#include "engine/keep.h"
#include "sys/sha256.h"
#include "tree/change.h"

namespace cloche::cli {
namespace {

bool is_cancelled(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&one, 1, 0) == 1;
}

learn::Content content_of(const std::optional<tree::FileState>& state) {
  if (!state) return {0, "gone"};
  const std::string kind(tree::to_string(state->kind));
  switch (state->kind) {
    case tree::FileKind::kRegular:
      return {state->size, fmt::format("{} {:o} {}", kind, state->mode, sys::to_hex(state->digest))};
    case tree::FileKind::kDirectory:
      return {0, fmt::format("{} {:o}", kind, state->mode)};
    case tree::FileKind::kSymlink:
      return {state->target.size(), kind + " " + state->target};
    case tree::FileKind::kOther:
      break;
  }
  return {0, kind};
}

}  // namespace

learn::Changed changes_of(const Plan& plan, const Leftovers& left, int cancel_fd) {
  learn::Changed out;
  const auto changed = changed_paths(plan, left, [cancel_fd](const files::Advance&) {
    return is_cancelled(cancel_fd) ? files::Answer::kStop : files::Answer::kGoOn;
  });
  if (!changed) return out;
  out.known = true;
  for (const files::ChangedPath& one : *changed) {
    out.paths.insert(one.path);
    out.contents.emplace(one.path, content_of(one.after));
  }
  return out;
}

}  // namespace cloche::cli
