#include "store/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/units.h"

namespace cloche::store {
namespace {

constexpr const char* kStep = "state directory";
constexpr const char* kHint = "name a directory of your own with CLOCHE_STATE_DIR";
constexpr const char* kRuns = "runs";

std::unexpected<Error> nothing_recorded(const Place& place) {
  return std::unexpected(Error{ErrorCode::kNotFound, kStep, 0, "no run is recorded in " + shown_text(place.directory),
                               "`cloche run` records each run"});
}

std::unexpected<Error> unusable(int error, const std::string& path, const char* what) {
  return fail_errno(error, kStep, shown_text(path) + " " + what, kHint);
}

Status judge(int directory, const std::string& path) {
  struct stat st{};
  if (::fstat(directory, &st) != 0) return unusable(errno, path, "could not be inspected");
  if (st.st_uid == ::geteuid() && (st.st_mode & 022) == 0) return {};
  return fail(ErrorCode::kRefused, kStep, shown_text(path) + " is not this user's own, or others may write to it",
              kHint);
}

// A link at the end is refused: whoever may write beside it would choose which directory of ours is used.
Result<Fd> open_judged(int folder, const std::string& name, const std::string& path) {
  Fd directory(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return unusable(errno, path, "could not be opened");
  CLOCHE_TRY(judge(directory.get(), path));
  return directory;
}

Result<Fd> open_state(const Place& place) { return open_judged(AT_FDCWD, place.directory, place.directory); }

bool is_missing(const Error& error) { return error.errno_value == ENOENT; }

Result<Fd> make_in_state(const Fd& state, const Place& place, const char* name) {
  const std::string path = place.directory + "/" + name;
  auto directory = open_judged(state.get(), name, path);
  if (directory || !is_missing(directory.error())) return directory;
  if (::mkdirat(state.get(), name, 0700) != 0 && errno != EEXIST) return unusable(errno, path, "could not be made");
  return open_judged(state.get(), name, path);
}

// mkdir -p with 0700, and nothing below somebody else's directory unless the user named the place.
Status make_missing(const Place& place) {
  std::vector<std::string> missing;
  std::string path = place.directory;
  struct stat st{};
  while (::stat(path.c_str(), &st) != 0) {
    if (errno != ENOENT) return unusable(errno, path, "could not be inspected");
    missing.push_back(path);
    const std::size_t slash = path.rfind('/');
    path = slash == 0 ? "/" : path.substr(0, slash);
    if (path.empty()) break;
  }
  if (place.chosen == Place::Chosen::kByDefault && st.st_uid != ::geteuid()) {
    return fail(ErrorCode::kRefused, kStep, shown_text(path) + " is not this user's own", kHint);
  }
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) {
    if (::mkdir(one->c_str(), 0700) != 0 && errno != EEXIST) return unusable(errno, *one, "could not be made");
  }
  return {};
}

std::optional<std::string> absolute(const std::map<std::string, std::string>& env, const char* name) {
  const auto found = env.find(name);
  if (found == env.end() || !found->second.starts_with('/')) return std::nullopt;
  std::string path = found->second;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path == "/" ? std::string() : path;
}

}  // namespace

Result<Place> choose_place(const std::map<std::string, std::string>& env) {
  Place place;
  if (const auto named = env.find("CLOCHE_STATE_DIR"); named != env.end() && !named->second.empty()) {
    place.directory = absolute(env, "CLOCHE_STATE_DIR").value_or("");
    if (place.directory.empty()) {
      return fail(ErrorCode::kInvalidInput, "CLOCHE_STATE_DIR", shown_text(named->second) + " cannot be used",
                  "give the absolute path of a directory of your own");
    }
  } else if (const auto state = absolute(env, "XDG_STATE_HOME")) {
    place = {*state + "/cloche", Place::Chosen::kByDefault};
  } else if (const auto home = absolute(env, "HOME")) {
    place = {*home + "/.local/state/cloche", Place::Chosen::kByDefault};
  } else {
    return fail(ErrorCode::kRefused, kStep, "HOME is not set", kHint);
  }
  return place;
}

Result<Place> find_place(const std::map<std::string, std::string>& env) {
  CLOCHE_TRY_ASSIGN(Place place, choose_place(env));
  if (auto opened = open_state(place); !opened && !is_missing(opened.error())) return std::unexpected(opened.error());
  return place;
}

Result<Folders> open_folders(const Place& place) {
  auto state = open_state(place);
  if (!state) return is_missing(state.error()) ? nothing_recorded(place) : std::unexpected(state.error());
  auto runs = open_judged(state->get(), kRuns, place.directory + "/" + kRuns);
  if (!runs && !is_missing(runs.error())) return std::unexpected(runs.error());
  return Folders{std::move(*state), runs ? std::move(*runs) : Fd()};
}

Result<Fd> make_state(const Place& place) {
  auto state = open_state(place);
  if (state || !is_missing(state.error())) return state;
  CLOCHE_TRY(make_missing(place));
  return open_state(place);
}

Result<Fd> make_runs(const Place& place) {
  CLOCHE_TRY_ASSIGN(const Fd state, make_state(place));
  return make_in_state(state, place, kRuns);
}

Result<Fd> open_beside_runs(const Place& place, const char* name, Missing missing) {
  auto state = missing == Missing::kMake ? make_state(place) : open_state(place);
  if (!state) return is_missing(state.error()) ? nothing_recorded(place) : std::unexpected(state.error());
  if (missing == Missing::kMake) return make_in_state(*state, place, name);
  auto directory = open_judged(state->get(), name, place.directory + "/" + name);
  if (!directory && is_missing(directory.error())) return nothing_recorded(place);
  return directory;
}

bool is_run_id(std::string_view name) {
  constexpr std::size_t kShortest = 4;
  constexpr std::size_t kLongest = 32;
  return name.size() >= kShortest && name.size() <= kLongest &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

Result<std::vector<std::string>> run_names(const Fd& runs) {
  if (!runs.valid()) return std::vector<std::string>{};
  const int fd = ::openat(runs.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* list) { ::closedir(list); };
  const std::unique_ptr<DIR, decltype(close)> list(fd < 0 ? nullptr : ::fdopendir(fd), close);
  if (!list) return fail_errno(errno, kStep, "the directory of runs could not be listed", kHint);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(list.get())) {
    if (is_run_id(entry->d_name) && names.size() < kMostRuns) names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace cloche::store
