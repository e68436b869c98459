// What net, sockets and secrets may not say together, and with the rest of the policy.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "policy/check.h"
#include "policy/env_names.h"
#include "policy/key_value.h"
#include "policy/way_out.h"
#include "proto/rule_set.h"

namespace cloche {
namespace {

using Found = std::optional<Contradiction>;

// The gateway listens on each of them.
constexpr std::size_t kMaxPorts = 128;
// Who could ask another one could tell it anything.
constexpr std::uint16_t kNameserverPort = 53;

// The cell has its own, and what is mounted there cannot take a socket.
constexpr auto kNoSockets = std::to_array<std::string_view>(
    {"/proc", "/dev", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/cell"});

// What a cell has of its own, or the plan sets for the way out.
constexpr auto kOwnVariables = std::to_array<std::string_view>({"PATH",
                                                                "HOME",
                                                                "TMPDIR",
                                                                "USER",
                                                                "LOGNAME",
                                                                "TERM",
                                                                "LC_CTYPE",
                                                                "HTTP_PROXY",
                                                                "http_proxy",
                                                                "HTTPS_PROXY",
                                                                "https_proxy",
                                                                "ALL_PROXY",
                                                                "all_proxy",
                                                                "NO_PROXY",
                                                                "no_proxy",
                                                                "SSL_CERT_FILE",
                                                                "CURL_CA_BUNDLE",
                                                                "REQUESTS_CA_BUNDLE",
                                                                "NODE_EXTRA_CA_CERTS",
                                                                "GIT_SSL_CAINFO",
                                                                "PIP_CERT",
                                                                "CARGO_HTTP_CAINFO",
                                                                "AWS_CA_BUNDLE"});

Found check_host_network(const Policy& p) {
  if (p.net != NetMode::kHost) return {};
  const Key key = p.loopback                 ? Key::kNetLoopback
                  : !p.net_allow.empty()     ? Key::kNetAllow
                  : !p.net_deny.empty()      ? Key::kNetDeny
                  : p.net_limits.bytes_in    ? Key::kNetLimitsBytesIn
                  : p.net_limits.bytes_out   ? Key::kNetLimitsBytesOut
                  : p.net_limits.connections ? Key::kNetLimitsConnections
                  : p.net_limits.rate        ? Key::kNetLimitsRate
                  : !p.sockets.empty()       ? Key::kSocketsAllow
                  : !p.secrets.empty()       ? Key::kSecrets
                                             : Key::kNetMode;
  if (key == Key::kNetMode) return {};
  return clash({key, Key::kNetMode},
               fmt::format("{}: with net.mode = \"host\" nothing of it can be held", spec_of(key).name),
               "leave net.mode out, or grant the host's network alone");
}

Found check_ports(const Policy& p) {
  proto::RuleSet rules;
  for (const NetGrant& grant : p.net_allow) {
    auto rule = proto::parse_net_rule(grant.rule);
    if (rule) rules.allow.push_back(std::move(*rule));  // check_value tells what does not parse
  }
  for (const proto::NetRule& rule : rules.allow) {
    if (!rule.ports().contains(kNameserverPort)) continue;
    return clash({Key::kNetAllow},
                 fmt::format("net.allow: {} has port {}, where the cell's own nameserver is", shown_text(rule.text()),
                             kNameserverPort),
                 "leave the port out: names that are allowed are found without it");
  }
  if (rules.ports(kMaxPorts)) return {};
  return clash({Key::kNetAllow}, fmt::format("net.allow: it has more than {} ports in all", kMaxPorts),
               "name the ports that the guest uses, not a range of all");
}

Found check_secret_name(const Policy& p, const SecretGrant& secret) {
  const auto taken = [&](std::string_view by, Key key) {
    return clash({Key::kSecrets, key}, fmt::format("secrets: {} is set by {}, too", shown_text(secret.name), by),
                 "give the secret a variable of its own", secret.name);
  };
  if (p.env.set.contains(secret.name)) return taken("env.set", Key::kEnvSet);
  for (const std::string& pattern : p.env.pass) {
    if (matches_env_pattern(pattern, secret.name)) return taken("env.pass", Key::kEnvPass);
  }
  const bool own = std::ranges::find(kOwnVariables, secret.name) != kOwnVariables.end();
  if (own || is_dangerous_env(secret.name)) {
    return clash(
        {Key::kSecrets},
        fmt::format("secrets: {} has a meaning of its own to the cell or to its programs", shown_text(secret.name)),
        "give the secret a variable of its own", secret.name);
  }
  return {};
}

// A value that the guest gets by another way is none of a secret.
Found check_secret_source(const Policy& p, const SecretGrant& secret) {
  const auto open = [&](Key key, std::string_view by) {
    return clash({Key::kSecrets, key},
                 fmt::format("secrets: the value of {} comes from {}, which {} hands to the guest",
                             shown_text(secret.name), shown_text(secret.from), by),
                 "keep the value where the guest cannot see it", secret.name);
  };
  if (secret.source == SecretGrant::Source::kEnv) {
    for (const std::string& pattern : p.env.pass) {
      if (matches_env_pattern(pattern, secret.from)) return open(Key::kEnvPass, "env.pass");
    }
  }
  if (secret.source != SecretGrant::Source::kFile) return {};
  const std::string path = clean_path(secret.from);
  const std::tuple<const std::vector<std::string>&, Key, std::string_view> grants[] = {
      {p.files.read, Key::kFilesRead, "files.read"},
      {p.files.write, Key::kFilesWrite, "files.write"},
      {p.files.exec, Key::kFilesExec, "files.exec"},
      {p.workspace.path, Key::kWorkspacePath, "workspace.path"}};
  for (const auto& [paths, key, by] : grants) {
    for (const std::string& granted : paths) {
      if (path_covers(clean_path(granted), path)) return open(key, by);
    }
  }
  return {};
}

Found check_secrets_together(const Policy& p) {
  std::set<std::string_view> names;
  for (const SecretGrant& secret : p.secrets) {
    if (!names.insert(secret.name).second) {
      return clash({Key::kSecrets}, fmt::format("secrets: {} is there twice", shown_text(secret.name)),
                   "give each secret a variable of its own", secret.name);
    }
    if (auto found = check_secret_name(p, secret)) return found;
    if (auto found = check_secret_source(p, secret)) return found;
    for (const std::string& host : secret.hosts) {
      const bool reached =
          std::ranges::any_of(p.net_allow, [&](const NetGrant& grant) { return rule_covers(grant.rule, host); });
      if (reached) continue;
      return clash({Key::kSecrets, Key::kNetAllow},
                   fmt::format("secrets: {} is for {}, which net.allow does not allow", shown_text(secret.name),
                               shown_text(host)),
                   fmt::format("add {} to net.allow", shown_text(host)), secret.name);
    }
  }
  return {};
}

Found check_socket_places(const Policy& p) {
  std::set<std::string> seen;
  for (const SocketGrant& grant : p.sockets) {
    const std::string path = clean_path(grant.path);
    if (!seen.insert(path).second) {
      return clash({Key::kSocketsAllow}, fmt::format("sockets.allow: {} is there twice", shown_text(path)),
                   "name it once", path);
    }
    const bool own = std::ranges::any_of(kNoSockets, [&](std::string_view tree) { return path_covers(tree, path); });
    // A star as the first name could be any of them.
    if (own || path == "/" || path == "~" || path.substr(0, path.find('/', 1)).find('*') != std::string::npos) {
      return clash({Key::kSocketsAllow}, fmt::format("sockets.allow: {} cannot be in a cell", shown_text(grant.path)),
                   "name a socket outside of the system's own directories", path);
    }
  }
  // ADR 14: with a piece of the host's file system in reach, the guest has no unix sockets.
  const bool grants =
      !p.files.read.empty() || !p.files.write.empty() || !p.files.exec.empty() || !p.workspace.path.empty();
  if (!p.sockets.empty() && grants) {
    return clash({Key::kSocketsAllow, Key::kFilesRead, Key::kFilesWrite, Key::kFilesExec, Key::kWorkspacePath},
                 "sockets.allow: a guest that is granted files or a workspace of the host cannot use unix sockets",
                 "copy the files in with --put, or grant the service by net.allow");
  }
  return {};
}

Found check_socket_rules_together(const Policy& p) {
  std::set<std::string> seen;
  for (const SocketRule& rule : p.socket_rules) {
    const std::string path = clean_path(rule.path);
    if (!seen.insert(path).second) {
      return clash({Key::kSocketsRules}, fmt::format("sockets.rules: {} has two rules", shown_text(path)),
                   "put all methods in one rule", path);
    }
    const bool granted =
        std::ranges::any_of(p.sockets, [&](const SocketGrant& grant) { return pattern_covers_path(grant.path, path); });
    if (granted) continue;
    return clash({Key::kSocketsRules, Key::kSocketsAllow},
                 fmt::format("sockets.rules: {} is not in sockets.allow", shown_text(path)),
                 fmt::format("add {} to sockets.allow", shown_text(path)), path);
  }
  return {};
}

}  // namespace

std::optional<Contradiction> check_way_out(const Policy& policy) {
  for (const auto rule :
       {check_host_network, check_ports, check_secrets_together, check_socket_places, check_socket_rules_together}) {
    if (auto found = rule(policy)) return found;
  }
  return {};
}

}  // namespace cloche
