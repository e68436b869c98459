#include "files/seen_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "files/guest_side.h"
#include "files/hidden.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

using Of = SeenThing::Of;

std::unexpected<Error> nothing_there(const std::string& name) {
  return fail_errno(ENOENT, "read " + tree::printable(name), "the guest left nothing there");
}

std::unexpected<Error> hosts_error(int error, const std::string& path) {
  return fail_errno(error, "read " + tree::printable(path), "the host could not look at it");
}

}  // namespace

Result<SeenFolder> SeenFolder::top(const GuestPlace& place) {
  SeenFolder out(place, {}, std::nullopt);
  CLOCHE_TRY_ASSIGN(out.upper_, open_guest_top(place.directory.get()));
  if (place.lower >= 0) {
    CLOCHE_TRY_ASSIGN(out.rights_, GuestRights::of(place.lower));
    CLOCHE_TRY_ASSIGN(out.lower_, tree::open_beneath(place.lower, ".", O_PATH | O_DIRECTORY, tree::Mounts::kRefuse));
  }
  return out;
}

bool SeenFolder::is_covered(const std::string& name) const {
  return !place_->covered.empty() && std::ranges::find(place_->covered, join(name)) != place_->covered.end();
}

Result<std::vector<std::string>> SeenFolder::names() const {
  std::set<std::string> out;
  if (upper_.valid()) {
    CLOCHE_TRY_ASSIGN(const std::vector<std::string> written, names_in(upper_.get()));
    out.insert(written.begin(), written.end());
  }
  struct stat st{};
  if (lower_.valid() && ::fstat(lower_.get(), &st) != 0) return hosts_error(errno, path_);
  if (lower_.valid() && rights_->may(lower_.get(), st, 4)) {
    const auto left = names_in(lower_.get());
    if (!left && !is_hidden_from_us(left.error())) return left;
    // What is being copied out at this moment, by this run into its own workspace or by another, is nothing it left.
    for (const std::string& name : left ? *left : std::vector<std::string>()) {
      if (!name.starts_with(kHiddenPrefix)) out.insert(name);
    }
  }
  return std::vector<std::string>(out.begin(), out.end());
}

Result<std::optional<SeenThing>> SeenFolder::look(const std::string& name) const {
  SeenThing out;
  if (is_covered(name)) return std::nullopt;
  if (upper_.valid()) {
    if (::fstatat(upper_.get(), name.c_str(), &out.st, AT_SYMLINK_NOFOLLOW) == 0) {
      if (place_->lower >= 0 && is_whiteout(out.st)) return std::nullopt;
      return out;
    }
    // What cannot be looked at must not be taken for what the guest left as it was.
    if (errno != ENOENT) return hosts_error(errno, join(name));
  }
  out.of = Of::kHost;
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (!lower_.valid()) return std::nullopt;
  if (::fstatat(lower_.get(), name.c_str(), &out.st, kFlags) == 0) return out;
  if (is_hidden_from_us(errno)) return std::nullopt;
  return hosts_error(errno, join(name));
}

Result<SeenFolder> SeenFolder::open_directory(const std::string& name) const {
  CLOCHE_TRY_ASSIGN(const auto thing, look(name));
  if (!thing) return nothing_there(name);
  SeenFolder out(*place_, join(name), rights_);
  if (thing->of == Of::kGuest) {
    CLOCHE_TRY_ASSIGN(out.upper_, open_guest_directory(upper_.get(), name));
    if (!lower_.valid() || is_opaque(out.upper_.get())) return out;
  }
  // What is no directory there lies below the guest's one and was not seen.
  auto below = tree::open_beneath(lower_.get(), name, O_PATH | O_DIRECTORY, tree::Mounts::kRefuse);
  if (!below && !is_hidden_from_us(below.error())) return std::unexpected(below.error());
  struct stat st{};
  if (below && ::fstat(below->get(), &st) == 0 && rights_->may(below->get(), st, 1)) out.lower_ = std::move(*below);
  return out;
}

Result<Fd> SeenFolder::open_file(const std::string& name) const {
  CLOCHE_TRY_ASSIGN(const auto thing, look(name));
  if (!thing) return nothing_there(name);
  if (thing->of == Of::kGuest) return open_guest_file(upper_.get(), name);
  auto place = tree::open_beneath(lower_.get(), name, O_PATH, tree::Mounts::kRefuse);
  if (!place) return is_hidden_from_us(place.error()) ? Result<Fd>(Fd()) : std::move(place);
  auto file = tree::reopen_regular(place->get(), name);
  if (!file) return is_hidden_from_us(file.error()) ? Result<Fd>(Fd()) : std::move(file);
  struct stat st{};
  if (::fstat(file->get(), &st) != 0) return hosts_error(errno, join(name));
  if (!rights_->may(file->get(), st, 4)) return Fd();
  return file;
}

}  // namespace cloche::files
