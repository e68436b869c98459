#include "prove/granted.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/units.h"

namespace cloche::prove {
namespace fs = std::filesystem;
namespace {

constexpr const char* kBait = "bait";  // in "not-with:"

std::string plain(const std::string& path) {
  std::string out = fs::path(path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// Whether `path` is `top` or lies in it; both without a slash at their end.
bool is_in(const std::string& path, const std::string& top) {
  return path == top || top == "/" || (path.starts_with(top) && path[top.size()] == '/');
}

// Where in the home directory a grant lies, empty when it has all of it.
std::optional<std::string> place_in(const std::string& home, const std::string& grant) {
  if (is_in(home, grant)) return "";
  if (!is_in(grant, home)) return std::nullopt;
  return grant.substr(home == "/" ? 1 : home.size() + 1);
}

std::optional<HomeGrant> home_grant(const std::string& key, const std::string& given, const Words& homes) {
  for (const std::string& one : homes) {
    const std::string home = plain(one);
    const bool short_form = given == "~" || given.starts_with("~/");
    const std::string grant = plain(short_form ? home + given.substr(1) : given);
    const auto below = place_in(home, grant);
    if (!below) continue;
    const std::string shown = grant == home ? "~" : below->empty() ? grant : "~/" + *below;
    return HomeGrant{key, shown, *below};
  }
  return std::nullopt;
}

// "." is met by a grant of all, "any" by whatever is granted in there. A grant inside of what the attack is about
// counts as well: the user's keys have other names than the bait's.
bool is_about(const std::string& area, const HomeGrant& grant) {
  if (grant.below.empty() || area == "any") return true;
  return area != "." && (is_in(area, grant.below) || is_in(grant.below, area));
}

std::string first_about(const Words& areas, const std::vector<HomeGrant>& grants) {
  for (const std::string& area : areas) {
    const auto found = std::ranges::find_if(grants, [&](const HomeGrant& grant) { return is_about(area, grant); });
    if (found != grants.end()) return fmt::format("{} grants {}", found->key, shown_text(found->path));
  }
  return {};
}

}  // namespace

Granted granted_by(const Policy& policy, const cloche::Plan& plan, const Words& homes) {
  Granted out;
  out.backend = plan.backend;
  out.places = plan.grants;
  out.writable = plan.watched;
  const auto add = [&](std::vector<HomeGrant>& to, const char* key, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (auto grant = home_grant(key, path, homes)) to.push_back(std::move(*grant));
    }
  };
  add(out.readable, "files.read", policy.files.read);
  add(out.readable, "files.write", policy.files.write);
  add(out.readable, "files.exec", policy.files.exec);
  add(out.readable, "workspace.path", policy.workspace.path);
  add(out.changeable, "files.write", policy.files.write);
  if (!policy.sockets.empty()) {
    out.others["sockets"] = fmt::format("sockets.allow grants {}", shown_text(policy.sockets.front().path));
  }
  if (policy.files.exec_writable) {
    out.others["exec-writable"] = "files.exec_writable lets it execute what it wrote";
  }
  const bool on_host = plan.net == NetMode::kHost;
  if (on_host) out.others["host-network"] = "net.mode grants the host's network";
  if (on_host || plan.has_network()) out.net = Granted::Net::kSome;
  for (const auto& [name, value] : plan.env) out.variables.push_back(name);
  return out;
}

std::string place_around(const std::string& path, const Words& places) {
  std::error_code error;
  const std::string real = plain(fs::weakly_canonical(path, error).string());
  const auto found = std::ranges::find_if(places, [&](const std::string& place) {
    const std::string top = plain(fs::weakly_canonical(place, error).string());
    return is_in(plain(path), plain(place)) || (!top.empty() && is_in(real, top));
  });
  return found == places.end() ? "" : *found;
}

void bait_is_granted(Granted& granted, const std::string& place) {
  granted.others[kBait] = fmt::format("the policy grants {}, where what it looks for is planted", shown_text(place));
}

std::string grant_of(const Attack& attack, const Granted& granted) {
  if (std::string why = first_about(attack.reads, granted.readable); !why.empty()) return why;
  if (std::string why = first_about(attack.changes, granted.changeable); !why.empty()) return why;
  Words words = attack.not_with;
  if (!attack.reads.empty() || !attack.changes.empty()) words.emplace_back(kBait);
  for (const std::string& word : words) {
    if (const auto found = granted.others.find(word); found != granted.others.end()) return found->second;
  }
  return {};
}

}  // namespace cloche::prove
