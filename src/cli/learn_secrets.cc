#include "cli/learn_secrets.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/units.h"
#include "keeper/place.h"
#include "learn/item.h"
#include "observe/host_look.h"
#include "plan/steps.h"
#include "store/place.h"

namespace cloche::cli {
namespace {

using learn::Below;

constexpr std::size_t kMostHomes = 64;

struct Bounds {
  std::size_t entries;
  Millis time;
};
constexpr Bounds kOfOne{20'000, Millis(200)};
constexpr Bounds kOfTheCurrent{200'000, Millis(2000)};
constexpr Millis kOfAll{10'000};  // a home directory may have hundreds of large ones

// Names alone are read. No link is followed, and no server is asked: what is mounted from elsewhere stays unknown.
class Search {
 public:
  explicit Search(std::string cwd) : cwd_(std::move(cwd)), host_(HostLook::of_this_host()) {}

  Below below(const std::string& directory) {
    for (std::string above = directory;; above = learn::folder_of(above)) {
      const auto known = known_.find(above);
      const bool itself = above == directory;
      if (known != known_.end() && (itself || known->second == Below::kNothing)) return known->second;
      if (above == "/") break;
    }
    const auto begun = Clock::now();
    const Below found = walk(directory, directory == cwd_ ? kOfTheCurrent : kOfOne);
    spent_ += std::chrono::duration_cast<Millis>(Clock::now() - begun);
    known_.emplace(directory, found);
    return found;
  }

 private:
  Below walk(const std::string& top, const Bounds& bounds) const {
    if (spent_ > kOfAll || host_.lies_elsewhere(top)) return Below::kUnknown;
    const auto until = Clock::now() + bounds.time;
    std::size_t left = bounds.entries;
    bool all = true;
    std::vector<std::string> waiting{top};
    while (!waiting.empty()) {
      const std::string directory = std::move(waiting.back());
      waiting.pop_back();
      const auto folders = look_into(directory, left);
      if (!folders) return Below::kSecrets;
      if (left == 0 || Clock::now() > until) return Below::kUnknown;
      all = all && folders->second;
      for (const std::string& name : folders->first)
        waiting.push_back((directory == "/" ? "" : directory) + "/" + name);
    }
    return all ? Below::kNothing : Below::kUnknown;
  }

  // Directories in it, and whether all of it was seen. None: there is a secret name.
  std::optional<std::pair<std::vector<std::string>, bool>> look_into(const std::string& directory,
                                                                     std::size_t& left) const {
    std::pair<std::vector<std::string>, bool> out;
    if (host_.is_elsewhere(directory)) return out;
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> open(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
    if (!open) return out;
    while (const dirent* entry = ::readdir(open.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (learn::is_secret_name(name)) return std::nullopt;
      if (left == 0) return out;
      --left;
      if (is_folder(fd, *entry)) out.first.emplace_back(name);
    }
    out.second = true;
    return out;
  }

  static bool is_folder(int parent, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
    struct stat st{};
    return ::fstatat(parent, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode);
  }

  std::string cwd_;
  HostLook host_;
  std::map<std::string, Below> known_;
  Millis spent_{0};
};

std::vector<std::string> homes(const std::string& own, const std::string& cwd) {
  std::vector<std::string> out{own, cwd, "/root"};
  const HostLook host = HostLook::of_this_host();
  if (host.lies_elsewhere("/home")) return out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/home", error)) {
    if (out.size() == kMostHomes) break;
    const std::string folder = entry.path().string();
    if (!host.lies_elsewhere(folder)) out.push_back(folder);
  }
  return out;
}

// "~/.ssh" may be a link to "~/dotfiles/ssh", which nobody would know for what it is by its name.
void add_targets(std::vector<std::string>& places, const std::string& folder, const std::string& home) {
  for (const std::string& place : learn::secret_places_of(folder)) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(place, error).string();
    if (error || real == place || real == home || lies_below(home, real)) continue;
    if (std::ranges::find(places, real) == places.end()) places.push_back(real);
  }
}

// What Cloche keeps: in its records is what other runs wrote, a keeper's socket starts cells, and whoever writes a
// policy of tomorrow's grants himself what he likes. Some of it may not be there yet.
void add_own(std::vector<std::string>& places, const Environment& env, const std::string& home) {
  std::vector<std::string> own{home + "/.local/state/cloche", home + "/.config/cloche", keeper::default_directory()};
  if (const auto place = store::choose_place(env)) own.push_back(place->directory);
  for (const char* variable : {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"}) {
    const auto set = env.find(variable);
    if (set != env.end() && set->second.starts_with('/')) own.push_back(set->second + "/cloche");
  }
  for (const std::string& path : own) {
    std::error_code error;
    const std::string real = std::filesystem::weakly_canonical(path, error).string();
    places.push_back(error ? path : real);
  }
}

}  // namespace

learn::Secrets secrets_of_host(const Environment& env, const std::string& home, const std::string& cwd) {
  learn::Secrets out{home};
  add_own(out.places, env, home);
  for (const std::string& folder : homes(home, cwd)) add_targets(out.places, folder, home);
  out.search = [search = std::make_shared<Search>(cwd)](const std::string& directory) {
    return search->below(directory);
  };
  return out;
}

}  // namespace cloche::cli
