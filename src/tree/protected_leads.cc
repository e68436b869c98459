#include "tree/protected_leads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <deque>
#include <memory>

#include "base/fd.h"
#include "tree/file_names.h"
#include "tree/git_settings.h"
#include "tree/home_of.h"
#include "tree/place.h"

namespace cloche::tree {
namespace {

constexpr std::size_t kMostEntries = 65'536;       // of protected directories, in all
constexpr std::size_t kMostEntriesOfOne = 8192;    // that are links or directories, in each of them
constexpr std::size_t kMostFiles = 4096;           // of git's settings that are there, in all
constexpr std::size_t kMostBytes = 1024UL * 1024;  // of one of them
constexpr int kDeepestInclude = 10;                // as git has it
constexpr std::size_t kMostWorktrees = 4;          // of one repository, by its own settings
constexpr int kMostLinks = 40;                     // as the kernel has it

constexpr std::string_view kRun = "git runs it";
constexpr std::string_view kNamesCommands = "git runs commands that it names";
constexpr std::string_view kTooManyFiles =
    "there are more repositories than can be looked at; git may run it for one of the others";
constexpr std::string_view kTooManyEntries =
    "protected directories have more entries than can be looked at; one of the others may lead to it";
constexpr std::string_view kUnlisted = "a protected directory cannot be listed; a link in it may lead here";
constexpr std::string_view kNoHome = "git's settings name a place in the home of an unknown user; git may run it";
constexpr std::string_view kUnread = "a file of git's settings cannot be read as a whole; git may run it";

std::string join(const std::string& folder, std::string_view name) {
  return (folder == "/" ? "" : folder) + "/" + std::string(name);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// What is in the folder, when both are paths without links.
std::optional<std::string_view> path_in(std::string_view folder, std::string_view path) {
  if (folder == "/") return path.substr(1);
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  if (path.empty()) return path;
  if (!path.starts_with('/')) return std::nullopt;
  return path.substr(1);
}

// A regular file; nothing where it is none. Not known where it is one that cannot be read, or not as a whole.
struct Text {
  std::optional<std::string> bytes = std::nullopt;
  bool known = true;
};

Text text_at(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    const bool other = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO || errno == ENAMETOOLONG;
    return {std::nullopt, other};
  }
  struct stat st{};
  if (::fstat(file.get(), &st) != 0) return {std::nullopt, false};
  if (!S_ISREG(st.st_mode)) return {};
  // One byte more, to see the end.
  std::string text(std::min(static_cast<std::size_t>(st.st_size), kMostBytes) + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {std::nullopt, false};
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  const bool whole = size < text.size();
  text.resize(size);
  return {std::move(text), whole};
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
  return line;
}

// As git expands it; nothing where that is not known.
std::optional<std::string> expanded(std::string_view value) {
  constexpr std::string_view kOptional = ":(optional)";
  if (value.starts_with(kOptional)) value.remove_prefix(kOptional.size());
  return with_home(value);
}

// Git's settings of this user and of the system. Names of variables as git has them.
std::vector<std::string> users_files() {
  std::vector<std::string> out{"/etc/gitconfig"};
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it
    return std::string(value != nullptr && value[0] == '/' ? value : "");
  };
  if (std::string named = variable("GIT_CONFIG_GLOBAL"); !named.empty()) out.push_back(std::move(named));
  if (std::string config = variable("XDG_CONFIG_HOME"); !config.empty()) out.push_back(config + "/git/config");
  for (const char* file : {"~/.gitconfig", "~/.config/git/config"}) {
    if (auto path = with_home(file); path && path->starts_with('/')) out.push_back(*std::move(path));
  }
  return out;
}

// The first names of all rules, each once.
const std::vector<std::string_view>& first_names() {
  static const std::vector<std::string_view> names = [] {
    std::set<std::string_view> all;
    for (const ProtectedRule& rule : protected_rules()) all.insert(rule.names[0]);
    return std::vector<std::string_view>(all.begin(), all.end());
  }();
  return names;
}

// The plain names in a directory. Nothing where there are so many that asking for some is quicker, or none are told.
std::optional<std::set<std::string>> few_names(const std::string& folder) {
  constexpr std::size_t kFew = 128;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder.c_str()), &::closedir);
  if (list == nullptr) return std::nullopt;
  std::set<std::string> names;
  std::size_t count = 0;
  errno = 0;
  while (const struct dirent* entry = ::readdir(list.get())) {
    if (++count > kFew) return std::nullopt;
    names.insert(plain_name(entry->d_name));
  }
  if (errno != 0) return std::nullopt;
  return names;
}

}  // namespace

Leads::Leads(int root, std::string place, Rules rules, MayLook may_look)
    : root_(root),
      place_(std::move(place)),
      rules_(rules),
      may_look_(std::move(may_look)),
      entries_left_(kMostEntries),
      files_left_(kMostFiles) {
  read_users_settings();
  for (std::string folder = place_;; folder = parent_of(folder)) {
    look_in(folder);
    if (folder == "/") break;
  }
}

std::optional<FileKind> Leads::kind_at(const std::string& path) const {
  struct stat st{};
  if (!is_open(path) || ::lstat(path.c_str(), &st) != 0) return std::nullopt;
  return kind_of(st);
}

std::optional<std::string> Leads::link_at(const std::string& path) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t n = is_open(path) ? ::readlink(path.c_str(), target.data(), target.size()) : -1;
  if (n <= 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(n));
}

void Leads::look_along(std::string_view path) {
  // Nothing more can come of it.
  if (everything_) return;
  walk_.to(path, [this](std::span<const std::size_t> way, std::string_view folder, std::string_view name) {
    // What is not there has nothing in it.
    if (way.back() == 0) return std::size_t{0};
    const auto [found, fresh] = numbers_.try_emplace({way.back(), std::string(name)}, std::size_t{0});
    if (fresh && open_beneath(root_, std::string(folder), O_PATH | O_DIRECTORY, Mounts::kCross)) {
      found->second = ++directories_;
      look_in(join(place_, folder));
    }
    return found->second;
  });
}

std::optional<std::string> Leads::why(std::string_view path, FileKind kind) const {
  std::optional<std::string> reason;
  if (!targets_.empty()) reason = why_target(path, kind);
  return reason ? reason : everything_;
}

std::optional<std::string> Leads::why_target(std::string_view path, FileKind kind) const {
  std::string key;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (begin != 0) key += '/';
    key += plain_name(path.substr(begin, end - begin));
    const bool last = end == path.size();
    const auto target = targets_.find(key);
    if (target != targets_.end() && (last || target->second.reach == Reach::kBelow)) {
      return std::string(target->second.reason);
    }
    if (!above_targets_.contains(key)) return std::nullopt;
    if (last && kind == FileKind::kSymlink) return "it leads to what is obeyed under another name";
    begin = end + 1;
  }
  return std::nullopt;
}

void Leads::look_in(const std::string& folder) {
  const bool all = rules_ == Rules::kAll;
  const std::optional<std::set<std::string>> names = all ? few_names(folder) : std::nullopt;
  const auto has = [&](std::string_view name) {
    if (names && !names->contains(plain_name(name))) return false;
    return kind_at(join(folder, name)).has_value();
  };
  for (const std::string_view name : first_names()) {
    if (!all || !has(name)) continue;
    for (const ProtectedRule& rule : protected_rules()) {
      if (rule.names[0] == name) follow(folder, Names(rule.names).first(rule.length()), rule.reach, rule.reason);
    }
  }
  if (has(".git")) look_in_git(folder);
  if (has("HEAD") && (has("commondir") || (has("objects") && has("refs")))) look_in_repository(folder, folder);
}

void Leads::look_in_git(const std::string& folder) {
  std::string repository = resolve(folder, ".git");
  if (kind_at(repository) == FileKind::kRegular) {
    constexpr std::string_view kPrefix = "gitdir:";
    std::string line = first_line(text_of(repository));
    if (!line.starts_with(kPrefix)) return;
    line.erase(0, std::min(line.find_first_not_of(' ', kPrefix.size()), line.size()));
    repository = resolve(folder, line);
  }
  look_in_repository(repository, folder);
}

void Leads::look_in_repository(const std::string& repository, const std::string& worktree) {
  std::vector<std::string> folders{repository};
  if (const std::string common = first_line(text_of(join(repository, "commondir"))); !common.empty()) {
    folders.push_back(resolve(repository, common));
  }
  for (const std::string& folder : folders) {
    constexpr std::array<std::string_view, 1> kHooks{"hooks"};
    add(follow(folder, kHooks, Reach::kBelow, kRun), {Reach::kBelow, kRun});
  }
  // Its settings may name another directory to be seen from, which is found while they are read.
  worktrees_ = {worktree};
  for (std::size_t i = 0; i < worktrees_.size() && i < kMostWorktrees; ++i) {
    const std::string from = worktrees_[i];
    for (const std::string& folder : folders) {
      for (const std::string_view name : {"config", "config.worktree"}) read_settings(folder, name, from, 0);
    }
    add_users(from);
  }
}

// Once, and seen from where no relative path leads into the tree: which repositories there are is still to be seen.
void Leads::read_users_settings() {
  users_ = true;
  for (const std::string& file : users_files()) read_settings(parent_of(file), file, "/", 0);
  users_ = false;
}

void Leads::add_users(const std::string& worktree) {
  for (const std::string& hooks : users_hooks_) add_hooks(resolve(worktree, hooks));
  for (const std::string& word : users_words_) {
    const std::string program = resolve(worktree, word);
    if (!path_in(program, place_)) add(program, {Reach::kItself, kRun});
  }
}

void Leads::add_hooks(const std::string& folder) {
  add(folder, {Reach::kBelow, kRun});
  scan(folder, kRun);
}

// `file` may be any path, as seen from the folder.
void Leads::read_settings(const std::string& folder, std::string_view file, const std::string& worktree, int depth) {
  if (depth > kDeepestInclude) return;
  const std::string path = resolve(folder, file);
  add(path, {Reach::kItself, kNamesCommands});
  // Where the file is named and not where a link there leads to, as git has it.
  const std::size_t slash = file.rfind('/');
  const std::string home =
      slash == std::string_view::npos ? folder : resolve(folder, file.substr(0, std::max<std::size_t>(slash, 1)));
  if (depth > 0 && !included_.emplace(path, home, worktree, depth).second) return;
  for (const GitPath& found : git_paths(text_of(path))) {
    if (found.kind == GitPath::Kind::kCommand) {
      add_command(found.value, folder, worktree);
    } else if (const std::optional<std::string> value = expanded(found.value); !value) {
      protect_everything(kNoHome);
    } else if (found.kind == GitPath::Kind::kInclude) {
      read_settings(home, *value, worktree, depth + 1);
    } else if (found.kind == GitPath::Kind::kWorktree) {
      // Of a repository: git does not take it from elsewhere.
      std::string other = resolve(folder, *value);
      if (!users_ && std::ranges::find(worktrees_, other) == worktrees_.end()) worktrees_.push_back(std::move(other));
    } else {
      if (users_ && !value->starts_with('/')) users_hooks_.insert(*value);
      add_hooks(resolve(worktree, *value));
    }
  }
}

// Every file that a command may mean: which of its words is the program, only a shell knows.
void Leads::add_command(std::string_view command, const std::string& repository, const std::string& worktree) {
  for (const std::string& word : paths_in_command(command)) {
    if (take_entry() == Budget::kUsedUp) return;
    const std::optional<std::string> path = with_home(word);
    if (!path) return protect_everything(kNoHome);
    if (users_ && !path->starts_with('/')) users_words_.insert(*path);
    for (const std::string& folder : {worktree, repository}) {
      const std::string program = resolve(folder, *path);
      // The tree, or a directory around it, is no program.
      if (!path_in(program, place_)) add(program, {Reach::kItself, kRun});
    }
  }
}

// Notes what the path with these names leads to, if there is a link on the way, and says what that is.
std::string Leads::follow(const std::string& folder, Names names, Reach reach, std::string_view reason) {
  std::string at = folder;
  for (const std::string_view name : names) at = resolve(at, name);
  std::string straight = folder;
  for (const std::string_view name : names) straight = join(straight, name);
  if (at != straight) add(at, {reach, reason});
  if (reach == Reach::kBelow) scan(at, reason);
  return at;
}

// Links in a directory that is protected with everything below.
void Leads::scan(const std::string& folder, std::string_view reason) {
  if (kind_at(folder) != FileKind::kDirectory || !scanned_.insert(folder).second) return;
  std::deque<std::string> folders{folder};
  for (std::size_t left = kMostEntriesOfOne; !folders.empty(); folders.pop_front()) {
    const int fd = ::open(folders.front().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    // Git runs what lies in the directory itself; who keeps a part of one closed loses no more than that.
    const bool closed = fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    if (closed && folders.front() == folder) return protect_everything(kUnlisted);
    if (fd < 0) continue;
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), &::closedir);
    if (list == nullptr) {
      ::close(fd);
      continue;
    }
    while (const struct dirent* entry = ::readdir(list.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (take_entry() == Budget::kUsedUp) return;
      if (entry->d_type == DT_REG) continue;
      if (left == 0) return protect_everything(kTooManyEntries);
      --left;
      const std::string path = join(folders.front(), name);
      const std::optional<FileKind> kind = kind_at(path);
      if (kind == FileKind::kDirectory) folders.push_back(path);
      if (kind == FileKind::kSymlink) add(resolve(folders.front(), name), {Reach::kBelow, reason});
    }
  }
}

// Where the path leads from a folder without links in its own path: what is not there is taken to be no link. Links in
// the tree that are met on the way are noted: whoever replaces one leads elsewhere.
std::string Leads::resolve(const std::string& folder, std::string_view path) {
  std::string at = path.starts_with('/') ? "/" : folder;
  std::string rest(path);
  int links = 0;
  while (!rest.empty() && at.size() < PATH_MAX && rest.size() < std::size_t{2} * PATH_MAX) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = parent_of(at);
      continue;
    }
    const std::string next = join(at, name);
    const std::optional<std::string> target = links < kMostLinks ? link_at(next) : std::nullopt;
    if (!target) {
      at = next;
      continue;
    }
    ++links;
    add(next, {Reach::kBelow, "it leads to what is obeyed under another name"});
    if (target->starts_with('/')) at = "/";
    rest = *target + "/" + rest;
  }
  return at;
}

void Leads::add(const std::string& path, Target target) {
  const bool around = path_in(path, place_).has_value();
  if (around && (target.reach == Reach::kBelow || path == place_)) {
    // A link that leads to the whole of a disk says nothing about this tree.
    if (path != "/") protect_everything(target.reason);
    return;
  }
  const std::optional<std::string_view> inside = path_in(place_, path);
  if (!inside || inside->empty()) return;
  std::string key;
  for (const std::string& name : plain_components(*inside)) {
    if (!key.empty()) above_targets_.insert(key);
    key += (key.empty() ? "" : "/") + name;
  }
  Target& known = targets_.try_emplace(key, target).first->second;
  if (known.reach == Reach::kItself) known = target;
}

// Of a file that git obeys. What is not there costs nothing: a guest makes as many empty repositories as it likes.
std::string Leads::text_of(const std::string& path) {
  Text text = is_open(path) ? text_at(path) : Text{};
  // Of the user's settings git leaves out what it may not open: somebody else's home, perhaps.
  const bool left_out = users_ && !text.bytes;
  if (!text.known && !left_out) protect_everything(kUnread);
  // The user's own are not a guest's to multiply.
  if (!text.bytes || (!users_ && take_file() == Budget::kUsedUp)) return {};
  return *std::move(text.bytes);
}

Leads::Budget Leads::take_file() {
  if (files_left_ == 0) {
    protect_everything(kTooManyFiles);
    return Budget::kUsedUp;
  }
  --files_left_;
  return Budget::kLeft;
}

Leads::Budget Leads::take_entry() {
  if (entries_left_ == 0) {
    protect_everything(kTooManyEntries);
    return Budget::kUsedUp;
  }
  --entries_left_;
  return Budget::kLeft;
}

void Leads::protect_everything(std::string_view reason) {
  if (!everything_) everything_ = std::string(reason);
}

}  // namespace cloche::tree
