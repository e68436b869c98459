#include "engine/own_places.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "plan/steps.h"
#include "store/place.h"

namespace cloche {
namespace {

using Environment = std::map<std::string, std::string>;

bool is_directory(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// A path that cannot be followed to its end is taken as it stands.
std::string real_path(const std::string& path) {
  std::error_code error;
  std::string real = std::filesystem::weakly_canonical(path, error).string();
  while (real.size() > 1 && real.back() == '/') real.pop_back();
  return error ? path : real;
}

}  // namespace

std::vector<OwnPlace> own_places(const Environment& env) {
  std::vector<OwnPlace> out;
  Environment left = env;
  for (const char* variable : {"", "CLOCHE_STATE_DIR", "XDG_STATE_HOME"}) {
    left.erase(variable);
    const auto place = store::choose_place(left);
    if (!place) continue;
    const std::string real = real_path(place->directory);
    if (std::ranges::find(out, real, &OwnPlace::path) != out.end()) continue;
    out.push_back({real, place->directory, is_directory(real), *variable == '\0'});
  }
  return out;
}

bool holds_own_place(const Plan& plan, const HostFacts& host) {
  return std::ranges::any_of(host.own_places, [&](const OwnPlace& place) {
    return std::ranges::any_of(plan.grants, [&](const std::string& grant) { return lies_below(place.path, grant); });
  });
}

Status make_hidden(const Plan& plan, const Environment& env) {
  for (const std::string& path : plan.hidden) {
    if (is_directory(path)) continue;
    CLOCHE_TRY_ASSIGN(const store::Place place, store::choose_place(env));
    CLOCHE_TRY(store::make_state(place));
    if (is_directory(path)) continue;
    return fail(ErrorCode::kRefused, "state directory", fmt::format("{} does not stay where it is", path),
                "grant directories beside it");
  }
  return {};
}

}  // namespace cloche
