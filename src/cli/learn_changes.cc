#include "cli/learn_changes.h"

#include <poll.h>

#include "engine/keep.h"

namespace cloche::cli {
namespace {

bool is_cancelled(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&one, 1, 0) == 1;
}

}  // namespace

learn::Changed changes_of(const Plan& plan, const Leftovers& left, int cancel_fd) {
  learn::Changed out;
  const auto changed = changed_paths(plan, left, [cancel_fd](const files::Advance&) {
    return is_cancelled(cancel_fd) ? files::Answer::kStop : files::Answer::kGoOn;
  });
  if (!changed) return out;
  out.known = true;
  for (const files::ChangedPath& one : *changed) out.paths.insert(one.path);
  return out;
}

}  // namespace cloche::cli
