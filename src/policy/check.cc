#include "policy/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "policy/env_names.h"
#include "policy/key_value.h"

namespace cloche {
namespace {

using Found = std::optional<Contradiction>;

// Written through to the host, any of these hands over the machine; the kernel's own trees do so by one write.
constexpr auto kNeverWritable = std::to_array<std::string_view>(
    {"/proc", "/sys", "/dev", "/boot", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"});

// The cell has its own; the host's would show every process and open every device.
constexpr auto kNeverReadable = std::to_array<std::string_view>({"/proc", "/dev"});

Found check_trust(const Policy& p) {
  if (p.trust == Trust::kLow && p.tier == Tier::kProcess) {
    return clash({Key::kTier, Key::kTrust}, "tier: \"process\" does not hold code of trust \"low\"",
                 "write tier = \"namespace\" or higher, or trust = \"medium\" for code a person vouches for");
  }
  return {};
}

Found check_backend(const Policy& p) {
  if (p.backend == BackendChoice::kNone) {
    const std::vector<Key> keys{Key::kBackend, Key::kDevelopment, Key::kWeaken, Key::kTrust, Key::kTier};
    if (!p.development) {
      return clash(keys, "backend: \"none\" is for development only",
                   "write development = true, or choose backend = \"auto\"");
    }
    if (!p.weakens(Weakening::kNoBackend)) {
      return clash(keys, "backend: \"none\" is no containment and the policy does not say so",
                   "add \"no-backend\" to weaken, or choose backend = \"auto\"");
    }
    if (p.trust == Trust::kLow) {
      return clash(keys, "backend: \"none\" does not hold code of trust \"low\"",
                   "choose backend = \"auto\", or trust = \"medium\" for code a person vouches for");
    }
    if (p.tier != Tier::kProcess) {
      return clash(keys, fmt::format("backend: \"none\" cannot give tier \"{}\"", to_string(p.tier)),
                   "write tier = \"process\", or choose backend = \"auto\"");
    }
  }
  const bool tier_one_backend = p.backend == BackendChoice::kNative || p.backend == BackendChoice::kBwrap;
  if (tier_one_backend && p.tier > Tier::kNamespace) {
    return clash({Key::kBackend, Key::kTier},
                 fmt::format("backend: \"{}\" cannot give tier \"{}\"", to_string(p.backend), to_string(p.tier)),
                 "write backend = \"auto\", or tier = \"namespace\"");
  }
  return {};
}

Found check_net(const Policy& p) {
  if (p.net == NetMode::kHost && !p.weakens(Weakening::kHostNetwork)) {
    return clash({Key::kNetMode, Key::kWeaken},
                 "net.mode: \"host\" gives the guest the host's network and the policy does not say so",
                 "add \"host-network\" to weaken, or write net.mode = \"none\"");
  }
  return {};
}

Found check_tree(Key key, const std::vector<std::string>& paths, std::span<const std::string_view> forbidden,
                 std::string_view verb) {
  const std::string_view name = spec_of(key).name;
  for (const std::string& path : paths) {
    const std::string clean = clean_path(path);
    const bool inside = std::any_of(forbidden.begin(), forbidden.end(),
                                    [&clean](std::string_view tree) { return path_covers(tree, clean); });
    if (clean == "/" || inside) {
      return clash({key}, fmt::format("{}: {} is never {}", name, shown_text(path), verb),
                   "grant the one directory the guest needs, outside of the system's own", path);
    }
  }
  return {};
}

Found check_files(const Policy& p) {
  if (auto found = check_tree(Key::kFilesWrite, p.files.write, kNeverWritable, "writable")) return found;
  if (auto found = check_tree(Key::kFilesRead, p.files.read, kNeverReadable, "granted")) return found;
  if (auto found = check_tree(Key::kFilesExec, p.files.exec, kNeverReadable, "granted")) return found;
  std::set<std::string> writable;
  for (const std::string& path : p.files.write) writable.insert(clean_path(path));
  for (const std::string& path : p.files.read) {
    if (writable.contains(clean_path(path))) {
      return clash({Key::kFilesRead, Key::kFilesWrite},
                   fmt::format("files.read: {} is in files.write, too", shown_text(path)),
                   "keep it in files.write, which includes reading, or in files.read", path);
    }
  }
  for (const std::string& path : p.files.exec) {
    if (!p.files.exec_writable && writable.contains(clean_path(path))) {
      return clash({Key::kFilesExec, Key::kFilesWrite, Key::kFilesExecWritable},
                   fmt::format("files.exec: {} is in files.write, too", shown_text(path)),
                   "take it out of one of them, or write files.exec_writable = true", path);
    }
  }
  return {};
}

// A place of its own in the cell, so it can lie neither in another one nor where a grant already is.
Found check_workspaces(const Policy& p) {
  std::vector<std::string> paths = p.workspace.path;
  // They are judged when they have been anchored.
  std::erase_if(paths, [](const std::string& path) { return path.starts_with('.'); });
  if (auto found = check_tree(Key::kWorkspacePath, paths, kNeverWritable, "a workspace")) return found;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < paths.size(); ++j) {
      if (i == j || !path_covers(paths[j], paths[i])) continue;
      return clash({Key::kWorkspacePath},
                   fmt::format("workspace.path: {} lies in {}", shown_text(paths[i]), shown_text(paths[j])),
                   "name the outer one alone", paths[i]);
    }
    for (const auto* list : {&p.files.read, &p.files.write, &p.files.exec}) {
      for (const std::string& grant : *list) {
        if (clean_path(grant) != clean_path(paths[i])) continue;
        return clash({Key::kWorkspacePath},
                     fmt::format("workspace.path: {} is granted by files, too", shown_text(paths[i])),
                     "keep it in one of them", paths[i]);
      }
    }
  }
  return {};
}

Found check_env(const Policy& p) {
  for (const std::string& pattern : p.env.pass) {
    const bool wildcard = pattern.ends_with('*');
    const std::string_view stem = std::string_view(pattern).substr(0, pattern.size() - (wildcard ? 1 : 0));
    if (is_dangerous_env(stem)) {
      return clash({Key::kEnvPass},
                   fmt::format("env.pass: {} can run code in the guest or open a way out and is never passed on",
                               shown_text(pattern)),
                   "put the value you want in env.set", pattern);
    }
  }
  return {};
}

}  // namespace

Contradiction clash(std::vector<Key> keys, std::string message, std::string hint, std::string item) {
  Error error{ErrorCode::kInvalidInput, {}, 0, std::move(message), std::move(hint)};
  return {std::move(keys), std::move(item), std::move(error)};
}

std::optional<Contradiction> find_contradiction(const Policy& policy) {
  for (const auto rule : {check_trust, check_backend, check_net, check_files, check_workspaces, check_env}) {
    if (auto found = rule(policy)) return found;
  }
  return check_way_out(policy);
}

void anchor_workspaces(Policy& policy, const std::string& directory) {
  for (std::string& path : policy.workspace.path) {
    if (path.starts_with('.')) path = clean_path(directory + "/" + path);
  }
}

Status check(const Policy& policy, std::string_view origin) {
  for (const KeySpec& spec : key_table()) {
    const std::optional<Value> value = load(policy, spec.key);
    if (!value) continue;
    if (auto status = check_value(spec, *value); !status) return located(origin, std::move(status.error()));
  }
  if (auto found = find_contradiction(policy)) return located(origin, std::move(found->error));
  return {};
}

}  // namespace cloche
