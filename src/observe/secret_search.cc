#include "observe/secret_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "policy/key_value.h"
#include "tree/protected_changes.h"
#include "tree/protected_names.h"

namespace cloche {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string below_of(const std::string& directory, std::string_view name) {
  return (directory == "/" ? "" : directory) + "/" + std::string(name);
}

unsigned char type_of(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat st{};
  if (::fstatat(parent, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) return DT_DIR;
  return static_cast<unsigned char>(IFTODT(st.st_mode));
}

// A directory counts as a link in its place would, by any part of an obeyed path: a guest that may write above it makes
// the rest of that path, which need not be there yet.
tree::FileKind judged_as(unsigned char type) {
  return type == DT_DIR || type == DT_LNK ? tree::FileKind::kSymlink : tree::FileKind::kRegular;
}

}  // namespace

Below SecretSearch::below(const std::string& directory) {
  for (std::string above = directory;; above = folder_of(above)) {
    const auto known = found_.find(above);
    const bool itself = above == directory;
    if (known != found_.end() && (itself || known->second == Below::kNothing)) return known->second;
    if (above == "/") break;
  }
  const auto begun = Clock::now();
  const auto chosen = favourite_.find(directory);
  const Below found = walk(directory, chosen == favourite_.end() ? of_one_ : chosen->second);
  spent_ += std::chrono::duration_cast<Millis>(Clock::now() - begun);
  found_.emplace(directory, found);
  return found;
}

std::string SecretSearch::first_in(const std::string& directory) {
  if (below(directory) != Below::kSecrets) return {};
  const auto first = first_.find(directory);
  return first == first_.end() ? std::string() : first->second;
}

bool SecretSearch::has_obeyed(const std::string& directory) {
  (void)below(directory);
  return std::ranges::any_of(obeyed_, [&](const std::string& path) { return path_covers(directory, path); });
}

Below SecretSearch::walk(const std::string& top, const Bounds& bounds) {
  if (spent_ > of_all_ || host_.lies_elsewhere(top)) return Below::kUnknown;
  const auto until = Clock::now() + bounds.time;
  std::size_t left = bounds.entries;
  bool all = true;
  std::vector<std::string> waiting{top};
  while (!waiting.empty()) {
    const std::string directory = std::move(waiting.back());
    waiting.pop_back();
    const Entries entries = look_into(directory, left);
    if (!entries.secret.empty()) {
      first_.emplace(top, entries.secret);
      return Below::kSecrets;
    }
    if (left == 0 || Clock::now() > until) return Below::kUnknown;
    all = all && entries.all;
    for (const std::string& name : entries.folders) waiting.push_back(below_of(directory, name));
  }
  return all ? Below::kNothing : Below::kUnknown;
}

SecretSearch::Entries SecretSearch::look_into(const std::string& directory, std::size_t& left) {
  Entries out;
  if (host_.is_elsewhere(directory)) return out;
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!open) return out;
  std::optional<tree::NameJudge> judge;  // of names in it; gone as soon as one is known
  tree::RepositoryParts parts;
  if (wants_obeyed_) judge.emplace(tree::above_of(directory));
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (std::string path = below_of(directory, name); is_secret_entry(path, known_)) {
      out.secret = std::move(path);
      return out;
    }
    if (left == 0) return out;
    --left;
    const unsigned char type = type_of(fd, *entry);
    if (type == DT_DIR) out.folders.emplace_back(name);
    if (!judge) continue;
    parts.add(name, type == DT_DIR ? tree::FileKind::kDirectory : tree::FileKind::kRegular);
    if (!parts.are_all() && !judge->why(name, judged_as(type))) continue;
    obeyed_.push_back(directory);
    judge.reset();
  }
  out.all = true;
  return out;
}

}  // namespace cloche
