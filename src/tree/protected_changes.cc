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

#include "base/fd.h"
#include "tree/file_names.h"
#include "tree/path_walk.h"
#include "tree/place.h"
#include "tree/protected_leads.h"
#include "tree/protected_rules.h"

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
    {"rebase-merge", "rebase-merge", 0, Extent::kBelow, kSequencer},
    {"rebase-apply", "rebase-apply", 0, Extent::kBelow, kSequencer},
    {"sequencer", "sequencer", 0, Extent::kBelow, kSequencer},
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
    struct stat st{};
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
    const auto enter = [this](std::span<Step> way, std::string_view, std::string_view name) {
      Step step = Step::in(way.back(), name);
      const GitName* known = step.known;
      if (known != nullptr && known->extent == Extent::kIfMissing) directory(way).proposed |= known->part;
      return step;
    };
    const std::span<Step> way = adding_.to(change.path, enter);
    const GitName* name = Step::in(way.back(), last_name(change.path)).known;
    if (name == nullptr || (name->part == kHead && change.kind == FileKind::kDirectory)) return;
    directory(way).proposed |= name->part;
  }

  // After all have been added.
  std::optional<std::string> why(const NamedChange& change) {
    const auto enter = [this](std::span<Step> way, std::string_view path, std::string_view name) {
      Step step = Step::in(way.back(), name);
      if (step.known != nullptr) judge_below(step, look(way, path));
      return step;
    };
    const std::span<Step> way = judging_.to(change.path, enter);
    const Step& above = way.back();
    if (const auto& reason = change.goes ? above.obeyed : above.reason) return std::string(*reason);
    const GitName* name = Step::in(above, last_name(change.path)).known;
    if (name == nullptr) return std::nullopt;
    const Directory& directory = look(way, change.path);
    if (!is_repository(*directory.there | directory.proposed)) return std::nullopt;
    // A repository that loses one of these is none any more.
    if (change.goes && name->reason == kMakesOne) return std::nullopt;
    return std::string(name->reason);
  }

 private:
  struct Directory {
    Parts proposed = 0;
    std::optional<Parts> there;  // now, once that was asked for
  };

  // A directory on the way to a change.
  struct Step {
    std::string name;
    std::optional<std::size_t> number;  // once that was asked for
    bool in_git = false;                // what is below a .git is protected by its name alone
    const GitName* known = nullptr;
    std::optional<std::string_view> reason;  // for everything below
    std::optional<std::string_view> obeyed;  // the same, of what is more than a part of a repository

    static Step in(const Step& above, std::string_view name) {
      const std::string plain = plain_name(name);
      const bool in_git = above.in_git || plain == ".git";
      return {std::string(name), {}, in_git, in_git ? nullptr : git_name(plain), above.reason, above.obeyed};
    }
  };

  static void judge_below(Step& step, const Directory& directory) {
    const GitName& name = *step.known;
    if (!is_repository(*directory.there | directory.proposed)) return;
    const bool missing = (*directory.there & name.part) == 0;
    if (name.extent != Extent::kBelow && (name.extent != Extent::kIfMissing || !missing)) return;
    if (!step.reason) step.reason = name.reason;
    if (!step.obeyed && name.reason != kMakesOne) step.obeyed = name.reason;
  }

  // The last directory of the way, of what is there now, too; `path` is of something in it.
  const Directory& look(std::span<Step> way, std::string_view path) {
    Directory& found = directory(way);
    if (!found.there) found.there = parts_in(root_, std::string(path.substr(0, way.size() == 1 ? 0 : path.rfind('/'))));
    return found;
  }

  // By number and name, not by path: a guest nests directories as deep as a path can be long.
  Directory& directory(std::span<Step> way) {
    std::size_t known = way.size() - 1;
    while (!way[known].number) --known;
    for (++known; known < way.size(); ++known) way[known].number = inside(*way[known - 1].number, way[known].name);
    return directories_[*way.back().number];
  }

  std::size_t inside(std::size_t directory, const std::string& name) {
    const auto [found, fresh] = numbers_.try_emplace({directory, name}, directories_.size());
    if (fresh) directories_.emplace_back();
    return found->second;
  }

  static Step top() { return {{}, 0, false, nullptr, {}, {}}; }

  int root_;
  std::vector<Directory> directories_ = std::vector<Directory>(1);
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers_;
  PathWalk<Step> adding_ = PathWalk<Step>(top());
  PathWalk<Step> judging_ = PathWalk<Step>(top());
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
  NameJudge names(above_);
  std::vector<std::optional<std::string>> reasons;
  reasons.reserve(changes.size());
  for (const NamedChange& change : changes) {
    std::optional<std::string> reason = names.why(change.path, change.kind);
    if (!reason) reason = repositories.why(change);
    if (!reason && leads_) reason = leads_->why(change.path, change.kind);
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::optional<std::string> why_git_obeys(const std::string& path, FileKind kind,
                                         const std::function<bool(const std::string& path)>& may_look) {
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!path.starts_with('/') || !root.valid() || !may_look(path)) return std::nullopt;
  const NamedChange change{.path = std::string_view(path).substr(1), .kind = kind};
  Repositories repositories(root.get());
  repositories.add(change);
  if (auto reason = repositories.why(change)) return reason;
  Leads leads(root.get(), "/", Leads::Rules::kOfGit, may_look);
  leads.look_along(change.path);
  return leads.why(change.path, kind);
}

void RepositoryParts::add(std::string_view name, FileKind kind) {
  const GitName* known = git_name(plain_name(name));
  if (known != nullptr && (known->part != kHead || kind != FileKind::kDirectory)) parts_ |= known->part;
}

bool RepositoryParts::are_all() const { return is_repository(parts_); }

std::vector<std::optional<std::string>> why_protected(int root, std::span<const NamedChange> changes) {
  if (changes.empty()) return {};
  return Protection(root).why(changes);
}

}  // namespace cloche::tree
