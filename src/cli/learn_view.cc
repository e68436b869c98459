#include "cli/learn_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>

#include "base/fd.h"
#include "base/units.h"
#include "observe/host_look.h"
#include "policy/check.h"
#include "policy/env_names.h"
#include "policy/key_value.h"

namespace cloche::cli {
namespace {

using learn::Item;
using learn::Kind;

constexpr std::size_t kMostGrants = 192;
constexpr std::size_t kMostCopies = 24;
constexpr std::size_t kMostEntries = 65'536;  // of a directory that is counted
constexpr int kDeepestSplit = 4;
constexpr int kMostDirectories = 32;  // to look for a file in
constexpr Millis kLongestLook{4000};
constexpr int kMostLinks = 40;  // as the kernel has it

// The guest chose these names: looking for them must not act on anything.
std::optional<observe::HostPath> look(const std::string& path, observe::Right right) {
  return HostLook::of_this_host().look(path, right);
}

std::vector<std::string> link_places(const std::string& path) {
  std::vector<std::string> out;
  if (!look(path, observe::Right::kRead)) return out;
  std::string done;
  std::string rest = path;
  for (int links = 0; links < kMostLinks && !rest.empty();) {
    const std::size_t begin = rest.find_first_not_of('/');
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(rest.find('/', begin), rest.size());
    const std::string name = rest.substr(begin, end - begin);
    rest.erase(0, end);
    if (name == ".") continue;
    if (name == "..") {
      done = done.empty() ? done : done.substr(0, done.rfind('/'));
      continue;
    }
    const std::string here = done + "/" + name;
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(here.c_str(), target.data(), target.size());
    if (size <= 0) {
      done = here;
      continue;
    }
    ++links;
    out.push_back(done.empty() ? "/" : done);
    const std::string to(target.data(), static_cast<std::size_t>(size));
    if (to.starts_with('/')) done.clear();
    rest = to + rest;
    if (!rest.starts_with('/')) rest.insert(0, "/");
  }
  return out;
}

std::string interpreter(const std::string& path) {
  const std::string name = HostLook::of_this_host().interpreter(path);
  return name.starts_with('/') ? name : std::string();
}

std::optional<std::vector<std::string>> names_in(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (!open) return std::nullopt;
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (out.size() == kMostEntries) return std::nullopt;
    out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

std::optional<std::size_t> count_entries(const std::string& directory) {
  const auto names = names_in(directory);
  return names ? std::optional(names->size()) : std::nullopt;
}

// About the caller's own session, and of no use in a cell.
bool is_of_session(const std::string& name) {
  constexpr auto kSession = std::to_array<std::string_view>(
      {"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "MAIL", "WINDOWID", "TERM_PROGRAM"});
  return std::ranges::find(kSession, name) != kSession.end() || name.starts_with("CLOCHE_");
}

// The smallest by its size, and of these the first by its name: the same in each run.
std::optional<Item> smallest_file(const std::string& directory, const Secrets& secrets, int& directories) {
  std::optional<Item> out;
  if (--directories < 0) return out;
  off_t size = 0;
  const auto names = names_in(directory);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const std::string path = (directory == "/" ? "" : directory) + "/" + name;
    struct stat st{};
    if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || (out && st.st_size >= size)) continue;
    Item item{Kind::kRead, path, "any file of a directory that has to be there, and of which no more is read"};
    const bool readable = !is_secret_place(path, secrets) && ::access(path.c_str(), R_OK) == 0;
    if (!readable || !learn::ungrantable(item).empty()) continue;
    size = st.st_size;
    out = std::move(item);
  }
  for (std::size_t i = 0; !out && names && i < names->size() && directories > 0; ++i) {
    const std::string path = (directory == "/" ? "" : directory) + "/" + (*names)[i];
    struct stat st{};
    const bool looks_in = ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && !is_secret_place(path, secrets);
    if (looks_in) out = smallest_file(path, secrets, directories);
  }
  return out;
}

class View {
 public:
  explicit View(const Secrets& secrets) : secrets_(secrets), until_(Clock::now() + kLongestLook) {}

  void add(const std::string& path, Kind kind, int depth) {
    struct stat st{};
    // Grants never go through links.
    if (::lstat(path.c_str(), &st) != 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))) return;
    if (is_secret_place(path, secrets_) || ::access(path.c_str(), R_OK) != 0 || items_.size() >= kMostGrants) return;
    // What there was no time to look into is not shown; a command that fails for want of it gets it by name.
    if (Clock::now() > until_) return;
    if (S_ISDIR(st.st_mode) && secrets_below(path, secrets_) != Below::kNothing) {
      const auto names = depth < kDeepestSplit ? names_in(path) : std::nullopt;
      for (const std::string& name : names ? *names : std::vector<std::string>()) {
        add((path == "/" ? "" : path) + "/" + name, kind, depth + 1);
      }
      return;
    }
    const bool copied = kind == Kind::kChange && S_ISDIR(st.st_mode) && copies_ < kMostCopies;
    Item item{copied ? Kind::kChange : Kind::kExec, path, {}, {}, S_ISDIR(st.st_mode)};
    const bool known = std::ranges::any_of(items_, [&](const Item& other) {
      return other.what == path || (other.kind != Kind::kChange && path_covers(other.what, path));
    });
    if (known || !learn::ungrantable(item).empty()) return;
    if (copied) ++copies_;
    items_.push_back(std::move(item));
  }

  std::vector<Item> take() { return std::move(items_); }

 private:
  const Secrets& secrets_;
  Clock::time_point until_;
  std::vector<Item> items_;
  std::size_t copies_ = 0;
};

}  // namespace

bool is_directory(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

std::string repository_above(const std::string& directory) {
  struct stat st{};
  for (std::string place = directory; place != "/";) {
    if (::lstat((place + "/.git").c_str(), &st) == 0) return place == directory ? std::string() : place;
    place = learn::folder_of(place);
  }
  return {};
}

learn::Host learn_host() {
  return {look, link_places,
          [](const std::string& path) {
            return HostLook::of_this_host().head(path).starts_with(
                "\x7f"
                "ELF");
          },
          interpreter, count_entries};
}

std::vector<Item> wide_view(const std::string& cwd, const Secrets& secrets) {
  View view(secrets);
  const bool systems = !learn::ungrantable({Kind::kChange, cwd, {}, {}, true}).empty();
  if (!systems && cwd != "/tmp" && cwd != "/work" && cwd != "/home") view.add(cwd, Kind::kChange, 0);
  view.add(secrets.home, Kind::kExec, 0);
  for (const char* place : {"/opt", "/srv", "/mnt", "/media"}) view.add(place, Kind::kExec, 0);
  return view.take();
}

std::optional<Item> foothold_in(const std::string& directory, const Secrets& secrets) {
  int directories = kMostDirectories;
  return smallest_file(directory, secrets, directories);
}

std::vector<Item> passable(const std::map<std::string, std::string>& env) {
  std::vector<Item> out;
  for (const auto& [name, value] : env) {
    if (is_of_session(name) || is_dangerous_env(name) || is_secret_variable(name)) continue;
    Item item{Kind::kEnv, name};
    if (learn::ungrantable(item).empty()) out.push_back(std::move(item));
  }
  return out;
}

std::vector<std::string> withheld(const std::map<std::string, std::string>& env, const EnvGrants& grants) {
  std::vector<std::string> out;
  for (const auto& [name, value] : env) {
    const bool given = grants.set.contains(name) || std::ranges::any_of(grants.pass, [&](const std::string& pattern) {
                         return matches_env_pattern(pattern, name);
                       });
    if (given || is_of_session(name) || is_dangerous_env(name) || !is_secret_variable(name)) continue;
    if (learn::ungrantable({Kind::kEnv, name}).empty()) out.push_back(name);
  }
  return out;
}

std::vector<Item> below(const std::vector<Ceiling>& ceilings, const Policy& base, const std::vector<Item>& items) {
  std::vector<Item> out;
  for (const Item& item : items) {
    // One by one: whatever else is granted, a ceiling judges each entry by itself.
    const Policy with = learn::compose(base, {item}, learn::Changes::kProposed);
    const bool fits = check(with, {}).has_value() && std::ranges::all_of(ceilings, [&](const Ceiling& ceiling) {
                        return enforce(with, ceiling).has_value();
                      });
    if (fits) out.push_back(item);
  }
  return out;
}

}  // namespace cloche::cli
