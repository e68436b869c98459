#include "cli/learn_secrets.h"

#include <filesystem>
#include <memory>
#include <vector>

#include "base/units.h"
#include "keeper/place.h"
#include "observe/secret_host.h"
#include "observe/secret_search.h"
#include "store/place.h"

namespace cloche::cli {
namespace {

constexpr SecretSearch::Bounds kOfOne{20'000, Millis(200)};
constexpr SecretSearch::Bounds kOfTheCurrent{200'000, Millis(2000)};
constexpr Millis kOfAll{10'000};  // a home directory may have hundreds of large ones

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

Secrets secrets_of_host(const Environment& env, const std::string& home, const std::string& cwd) {
  const auto spelled = env.find("HOME");
  Secrets out = secrets_of_users(spelled == env.end() ? home : spelled->second);
  out.home = home;
  add_own(out.places, env, home);
  add_link_targets(out, cwd);
  for (const std::string& folder : std::vector(out.homes)) add_link_targets(out, folder);
  const auto search = std::make_shared<SecretSearch>(out, kOfOne, kOfAll);
  search->favour(cwd, kOfTheCurrent);
  out.search = [search](const std::string& directory) { return search->below(directory); };
  return out;
}

}  // namespace cloche::cli
