#include "tree/protected_changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "tree/file_names.h"
#include "tree/place.h"
#include "tree/protected_leads.h"

namespace cloche::tree {
namespace {

// What makes a directory a repository; bits of a set.
enum Part : std::uint8_t { kHead = 1, kObjects = 2, kRefs = 4, kCommonDir = 8, kAllParts = 15 };
using Parts = std::uint8_t;

bool is_repository(Parts parts) {
  return (parts & kHead) != 0 && ((parts & kCommonDir) != 0 || (parts & (kObjects | kRefs)) == (kObjects | kRefs));
}

constexpr std::string_view kMakesOne = "with it git takes the directory for a repository and runs what its config says";
constexpr std::string_view kNamesCommands = "git runs commands that it names";
constexpr std::string_view kLeadsAway = "it leads git to other hooks and settings";

// A name that means something to git in a repository.
struct GitName {
  std::string_view plain;
  const char* exact;
  Parts part;  // 0: it makes no repository, but is obeyed in one
  enum class Extent : std::uint8_t {
    kItself,
    kIfMissing,  // and what is below, as long as that makes the directory itself
    kBelow,      // and what is below
  } extent;
  std::string_view reason;
};
using Extent = GitName::Extent;
constexpr GitName kGitNames[] = {
    {"head", "HEAD", kHead, Extent::kItself, kMakesOne},
    // Git asks whether it may enter these two, and not what they are: links and programs do.
    {"objects", "objects", kObjects, Extent::kIfMissing, kMakesOne},
    {"refs", "refs", kRefs, Extent::kIfMissing, kMakesOne},
    {"commondir", "commondir", kCommonDir, Extent::kItself, kLeadsAway},
    {"gitdir", "gitdir", 0, Extent::kItself, kLeadsAway},
    {"config", "config", 0, Extent::kItself, kNamesCommands},
    {"config.worktree", "config.worktree", 0, Extent::kItself, kNamesCommands},
    {"hooks", "hooks", 0, Extent::kBelow, "git runs it"},
};

const GitName* git_name(std::string_view plain) {
  const auto* const found = std::ranges::find(kGitNames, plain, &GitName::plain);
  return found == std::end(kGitNames) ? nullptr : found;
}

Parts parts_in(int root, const std::string& directory) {
  if (root < 0) return 0;
  const auto folder = open_beneath(root, directory.empty() ? "." : directory, O_PATH | O_DIRECTORY, Mounts::kCross);
  if (!folder) {
    const int error = folder.error().errno_value;
    // What cannot be looked at may hold anything.
    return error == ENOENT || error == ENOTDIR || error == ELOOP ? Parts{0} : Parts{kAllParts};
  }
  Parts parts = 0;
  for (const GitName& name : kGitNames) {
    struct stat st {};
    if (name.part == 0) continue;
    const bool there = ::fstatat(folder->get(), name.exact, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there ? name.part != kHead || !S_ISDIR(st.st_mode) : errno != ENOENT) parts |= name.part;
  }
  return parts;
}

class Repositories {
 public:
  explicit Repositories(int root) : root_(root) {}

  void add(const NamedChange& change) {
    if (change.goes) return;
    for_each_git_name(change, [&](const GitName& name, std::size_t, bool last, Directory& directory) {
      if (last ? name.part != kHead || change.kind != FileKind::kDirectory : name.extent == Extent::kIfMissing) {
        directory.proposed |= name.part;
      }
    });
  }

  // After all have been added.
  std::optional<std::string> why(const NamedChange& change) {
    std::optional<std::string> reason;
    for_each_git_name(change, [&](const GitName& name, std::size_t begin, bool last, Directory& directory) {
      if (reason) return;
      const Parts there = look(directory, change.path.substr(0, begin));
      if (!is_repository(there | directory.proposed)) return;
      // A repository that loses one of these is none any more.
      if (change.goes && name.reason == kMakesOne) return;
      const bool reaches =
          last || name.extent == Extent::kBelow || (name.extent == Extent::kIfMissing && (there & name.part) == 0);
      if (reaches) reason = name.reason;
    });
    return reason;
  }

 private:
  struct Directory {
    Parts proposed = 0;
    std::optional<Parts> there;  // now, once that was asked for
  };

  Parts look(Directory& directory, std::string_view path) const {
    if (path.ends_with('/')) path.remove_suffix(1);
    if (!directory.there) directory.there = parts_in(root_, std::string(path));
    return *directory.there;
  }

  // Each component that git knows, with where it begins and the directory it is in. What is below a .git is protected
  // by its name alone.
  template <typename Visit>
  void for_each_git_name(const NamedChange& change, const Visit& visit) {
    const std::vector<std::string> plain = plain_components(change.path);
    const auto git = std::ranges::find(plain, ".git");
    const auto known = [](const std::string& name) { return git_name(name) != nullptr; };
    auto left = std::count_if(plain.begin(), git, known);
    std::size_t directory = 0;
    for (std::size_t i = 0, begin = 0; left > 0; ++i) {
      const std::size_t end = std::min(change.path.find('/', begin), change.path.size());
      if (const GitName* name = git_name(plain[i])) {
        visit(*name, begin, i + 1 == plain.size(), directories_[directory]);
        --left;
      }
      if (left > 0) directory = inside(directory, change.path.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  // By number and name, not by path: a guest nests directories as deep as a path can be long.
  std::size_t inside(std::size_t directory, std::string_view name) {
    const auto [found, fresh] = numbers_.try_emplace({directory, std::string(name)}, directories_.size());
    if (fresh) directories_.emplace_back();
    return found->second;
  }

  int root_;
  std::vector<Directory> directories_ = std::vector<Directory>(1);
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers_;
};

// The tree's own path; nothing where it has none that can be told.
std::optional<std::string> place_of(int root) {
  if (root < 0) return std::nullopt;
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(root)).c_str(), path.data(), path.size());
  if (n <= 0 || path.front() != '/') return std::nullopt;
  return std::string(path.data(), static_cast<std::size_t>(n));
}

}  // namespace

Protection::Protection(int root) : root_(root) {
  const std::optional<std::string> place = place_of(root);
  if (!place) return;
  above_ = above_of(*place);
  leads_ = std::make_unique<Leads>(root, *place);
}

Protection::~Protection() = default;

std::vector<std::optional<std::string>> Protection::why(std::span<const NamedChange> changes) {
  Repositories repositories(root_);
  for (const NamedChange& change : changes) {
    repositories.add(change);
    if (leads_) leads_->look_along(change.path);
  }
  std::vector<std::optional<std::string>> reasons;
  reasons.reserve(changes.size());
  for (const NamedChange& change : changes) {
    std::optional<std::string> reason = why_protected(change.path, change.kind, above_);
    if (!reason) reason = repositories.why(change);
    if (!reason && leads_) reason = leads_->why(change.path, change.kind);
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::vector<std::optional<std::string>> why_protected(int root, std::span<const NamedChange> changes) {
  if (changes.empty()) return {};
  return Protection(root).why(changes);
}

}  // namespace cloche::tree
