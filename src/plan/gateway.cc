// The way out: what the gateway may do, where it is reached, and how programs are told.
#include <fmt/format.h>

#include <algorithm>

#include "plan/steps.h"
#include "policy/way_out.h"
#include "proto/rule_set.h"

namespace cloche {
namespace {

using wire::StepKind;

constexpr std::size_t kMostPorts = 128;
constexpr std::uint16_t kProxyPort = 3128;
constexpr std::uint16_t kNameserverPort = 53;
constexpr std::size_t kMostPathBytes = 107;  // sun_path without its NUL
constexpr const char* kBundle = "/etc/ssl/certs/cloche-ca.pem";
constexpr const char* kUsualBundle = "/etc/ssl/certs/ca-certificates.crt";

// As egress::ListenerKind numbers them; the plan does not know the gateway.
enum Listener : std::uint64_t { kPort = 1, kProxy, kDnsDatagram, kDnsStream };

std::unexpected<Error> refuse(std::string step, std::string message, std::string hint) {
  return fail(ErrorCode::kRefused, std::move(step), std::move(message), std::move(hint));
}

Result<proto::RuleSet> rules_of(const PlannedGateway& gateway) {
  std::vector<std::string> allow;
  for (const NetGrant& grant : gateway.allow) allow.push_back(grant.rule);
  return proto::parse_rule_set(allow, gateway.deny);
}

Status settle_ports(PlannedGateway& gateway) {
  CLOCHE_TRY_ASSIGN(const proto::RuleSet rules, rules_of(gateway));
  CLOCHE_TRY_ASSIGN(gateway.ports, rules.ports(kMostPorts));
  gateway.proxy_port = kProxyPort;
  while (std::ranges::binary_search(gateway.ports, gateway.proxy_port)) ++gateway.proxy_port;
  return {};
}

Result<std::optional<SocketRule>> rule_for(const std::string& path, const StepContext& context) {
  std::optional<SocketRule> out;
  for (SocketRule rule : context.policy.socket_rules) {
    rule.path = expand_home(rule.path, context.home);
    if (!pattern_covers_path(rule.path, path)) continue;
    if (out) {
      return refuse(
          "sockets.rules",
          fmt::format("both {} and {} are about {}", shown_text(out->path), shown_text(rule.path), shown_text(path)),
          "keep one rule for each socket");
    }
    out = std::move(rule);
  }
  return out;
}

Status add_found(PlannedGateway& gateway, const SocketGrant& grant, const StepContext& context) {
  const std::string pattern = expand_home(grant.path, context.home);
  const auto facts = std::ranges::find(context.host.sockets, pattern, &SocketFacts::pattern);
  if (facts == context.host.sockets.end() || facts->found.empty()) {
    return refuse("sockets.allow", fmt::format("{} finds no socket", shown_text(pattern)),
                  "start the service first; a path through a symbolic link finds none");
  }
  for (const std::string& path : facts->found) {
    // Who is found by two patterns has the grant of the first.
    if (std::ranges::find(gateway.sockets, path, &PlannedSocket::path) != gateway.sockets.end()) continue;
    if (path.size() > kMostPathBytes) {
      return refuse("sockets.allow",
                    fmt::format("the path {} has {} bytes, and no program can connect to more than {}",
                                shown_text(path), path.size(), kMostPathBytes),
                    "let the service listen on a shorter one");
    }
    CLOCHE_TRY_ASSIGN(std::optional<SocketRule> rule, rule_for(path, context));
    gateway.sockets.push_back({path, std::move(rule), grant.lasts});
  }
  if (facts->too_many || gateway.sockets.size() > kMostSockets) {
    return refuse("sockets.allow", fmt::format("{} makes it more than {} sockets", shown_text(pattern), kMostSockets),
                  "name those that the guest needs");
  }
  return {};
}

void listen(Plan& plan, Listener kind, std::uint16_t port) {
  plan.steps.push_back({.kind = StepKind::kListen, .serves = Guarantee::kNetwork, .x = kind, .y = port});
}

// What `localhost` means is the policy's to say: the cell itself, or the host.
bool names_localhost(const Plan& plan) {
  if (!plan.has_network()) return false;
  const auto rules = rules_of(*plan.gateway);
  const auto name = proto::parse_host_name("localhost");
  return rules && name && std::ranges::any_of(rules->allow, [&](const auto& rule) { return rule.matches(*name); });
}

}  // namespace

Status settle_gateway(Plan& plan, const StepContext& context) {
  const Policy& policy = context.policy;
  if (!policy.needs_gateway()) return {};
  PlannedGateway gateway{.allow = policy.net_allow,
                         .deny = policy.net_deny,
                         .limits = policy.net_limits,
                         .secrets = policy.secrets,
                         .sockets = {},
                         .ports = {},
                         .bundle = policy.secrets.empty() ? "" : kBundle};
  for (SecretGrant& secret : gateway.secrets) {
    if (secret.source == SecretGrant::Source::kFile) secret.from = expand_home(secret.from, context.home);
  }
  if (!policy.net_allow.empty()) {
    CLOCHE_TRY(settle_ports(gateway));
    plan.loopback = true;
  }
  for (const SocketGrant& grant : policy.sockets) CLOCHE_TRY(add_found(gateway, grant, context));
  plan.gateway = std::move(gateway);
  return {};
}

void add_gateway_environment(const Plan& plan, std::map<std::string, std::string>& env) {
  if (!plan.has_network()) return;
  // Also in ALL_PROXY, although the port speaks SOCKS: clients without a library for that refuse to begin (httpx).
  const std::string http = fmt::format("http://127.0.0.1:{}", plan.gateway->proxy_port);
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}) {
    env[name] = http;
  }
  // Whatever localhost means here, a connection leads there; a proxy would be asked for servers of the cell's own.
  for (const char* name : {"NO_PROXY", "no_proxy"}) env[name] = "localhost,127.0.0.1,::1";
  if (plan.gateway->bundle.empty()) return;
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
                           "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE"}) {
    env[name] = plan.gateway->bundle;
  }
}

bool replaces_certificates(const Plan& plan) { return plan.gateway && !plan.gateway->bundle.empty(); }

std::string hosts_text(const Plan& plan) {
  if (names_localhost(plan)) return "127.0.0.1 cell\n";
  return "127.0.0.1 localhost cell\n::1 localhost\n";
}

void add_gateway_files(Plan& plan) {
  const auto add = [&](const char* path, std::string text) {
    plan.steps.push_back({.kind = StepKind::kFile,
                          .serves = Guarantee::kNetwork,
                          .a = std::string(path).substr(1),
                          .x = 0444,
                          .data = std::move(text)});
  };
  if (plan.has_network()) add("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n");
  if (!replaces_certificates(plan)) return;
  // Their content is known when the gateway has made its authority.
  add(kBundle, {});
  add(kUsualBundle, {});
}

void add_gateway_sockets(Plan& plan) {
  if (!plan.gateway) return;
  for (std::size_t i = 0; i < plan.gateway->sockets.size(); ++i) {
    plan.steps.push_back({.kind = StepKind::kListenUnix,
                          .serves = Guarantee::kGateway,
                          .a = plan.gateway->sockets[i].path.substr(1),
                          .y = i});
  }
}

void add_gateway_listeners(Plan& plan) {
  if (!plan.has_network()) return;
  plan.steps.push_back({.kind = StepKind::kLocalRoutes, .serves = Guarantee::kNetwork});
  for (const std::uint16_t port : plan.gateway->ports) listen(plan, kPort, port);
  listen(plan, kProxy, plan.gateway->proxy_port);
  listen(plan, kDnsDatagram, kNameserverPort);
  listen(plan, kDnsStream, kNameserverPort);
  plan.steps.push_back({.kind = StepKind::kPackets, .serves = Guarantee::kNetwork});
}

}  // namespace cloche
