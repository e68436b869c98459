#include "engine/way_out_start.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "egress/placeholder.h"
#include "engine/secrets.h"
#include "launch/gateway.h"
#include "supervise/gateway_check.h"
#include "supervise/way_out_sockets.h"
#include "sys/file.h"
#include "sys/local_socket.h"

namespace cloche {
namespace {

constexpr std::size_t kTextLimit = std::size_t{1} << 20;
constexpr std::size_t kBundleLimit = std::size_t{4} << 20;
// Where distributions keep the certificates that everybody trusts.
constexpr const char* kBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// Wipes what it holds, on every way out.
class Holding {
 public:
  explicit Holding(egress::Settings settings) : settings_(std::move(settings)) {}
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  ~Holding() { wipe_values(settings_); }
  egress::Settings& operator*() { return settings_; }
  egress::Settings* operator->() { return &settings_; }

 private:
  egress::Settings settings_;
};

egress::SecretPlace place_of(SecretGrant::Place place) {
  switch (place) {
    case SecretGrant::Place::kHeader:
      return egress::SecretPlace::kHeader;
    case SecretGrant::Place::kQuery:
      return egress::SecretPlace::kQuery;
    case SecretGrant::Place::kBasic:
      break;
  }
  return egress::SecretPlace::kBasic;
}

// A host without the file has nothing to say.
Result<std::string> read_if_there(const std::string& path, std::size_t limit) {
  auto text = sys::read_file(path, limit);
  if (!text && (text.error().errno_value == ENOENT || text.error().errno_value == ENOTDIR)) return std::string();
  return text;
}

// As other programs do it, the caller's SSL_CERT_FILE comes first.
Result<std::string> read_bundle(const std::map<std::string, std::string>& env) {
  if (const auto own = env.find("SSL_CERT_FILE"); own != env.end() && !own->second.empty()) {
    return sys::read_file(own->second, kBundleLimit);
  }
  for (const char* path : kBundles) {
    CLOCHE_TRY_ASSIGN(std::string text, read_if_there(path, kBundleLimit));
    if (!text.empty()) return text;
  }
  return fail(ErrorCode::kRefused, "gateway", "this host has no certificates to check servers with",
              "install ca-certificates, or name a bundle with SSL_CERT_FILE");
}

Result<HostTexts> read_texts(const PlannedGateway& gateway, const std::map<std::string, std::string>& env) {
  HostTexts out;
  CLOCHE_TRY_ASSIGN(out.resolv_conf, read_if_there("/etc/resolv.conf", kTextLimit));
  CLOCHE_TRY_ASSIGN(out.hosts, read_if_there("/etc/hosts", kTextLimit));
  if (!gateway.secrets.empty()) {
    CLOCHE_TRY_ASSIGN(out.ca_bundle, read_bundle(env));
  }
  return out;
}

Status add_secrets(egress::Settings& settings, const PlannedGateway& gateway,
                   const std::map<std::string, std::string>& env, int cancel) {
  std::vector<std::string> taken;
  settings.secrets.reserve(gateway.secrets.size());
  for (const SecretGrant& grant : gateway.secrets) {
    egress::Secret& secret = settings.secrets.emplace_back();
    secret.name = grant.name;
    secret.hosts = grant.hosts;
    secret.place = place_of(grant.place);
    secret.field = grant.field;
    secret.lasts = grant.lasts;
    CLOCHE_TRY_ASSIGN(secret.value, read_secret(grant, env, cancel));
    CLOCHE_TRY_ASSIGN(secret.placeholder, egress::make_placeholder(grant.name, secret.value, taken));
    taken.push_back(secret.placeholder);
  }
  return {};
}

// A value that the guest gets by another variable is none of a secret.
Status check_variables(const egress::Settings& settings, const Plan& plan) {
  for (const egress::Secret& secret : settings.secrets) {
    for (const auto& [name, value] : plan.env) {
      if (value.find(secret.value) == std::string::npos) continue;
      return fail(ErrorCode::kRefused, "secret " + secret.name,
                  "its value is also in the variable " + shown_text(name) + ", which the policy gives to the guest",
                  "take the variable out of env.pass or env.set");
    }
  }
  return {};
}

Result<std::vector<Fd>> open_sockets(const PlannedGateway& gateway) {
  std::vector<Fd> out;
  for (const PlannedSocket& socket : gateway.sockets) {
    auto place = sys::open_without_symlinks(socket.path);
    struct stat st{};
    const bool there = place && ::fstat(place->get(), &st) == 0;
    if (!there || !S_ISSOCK(st.st_mode)) {
      return std::unexpected(Error{ErrorCode::kRefused, "socket " + socket.path, place ? 0 : place.error().errno_value,
                                   !place ? place.error().message : "it is no socket",
                                   "name a socket that exists when the run starts, by its real path"});
    }
    if (sys::takes_datagrams(place->get())) {
      return fail(ErrorCode::kRefused, "socket " + socket.path, "it takes datagrams, and only streams can be granted",
                  "name a socket that was made with SOCK_STREAM or SOCK_SEQPACKET");
    }
    out.push_back(std::move(*place));
  }
  return out;
}

std::string relative(std::string_view path) {
  const std::size_t at = path.find_first_not_of('/');
  return at == std::string_view::npos ? std::string() : std::string(path.substr(at));
}

}  // namespace

egress::Settings settings_for(const PlannedGateway& gateway, HostTexts texts) {
  egress::Settings out;
  for (const NetGrant& grant : gateway.allow) out.allow.push_back({grant.rule, grant.lasts});
  out.deny = gateway.deny;
  const auto count = [](const std::optional<Bytes>& bytes) {
    return bytes ? std::optional<std::uint64_t>(bytes->count) : std::nullopt;
  };
  out.limits = {count(gateway.limits.bytes_in), count(gateway.limits.bytes_out), gateway.limits.connections,
                count(gateway.limits.rate)};
  for (const PlannedSocket& planned : gateway.sockets) {
    egress::Socket& socket = out.sockets.emplace_back();
    socket.path = planned.path;
    socket.lasts = planned.lasts;
    socket.has_rules = planned.rule.has_value();
    if (!planned.rule) continue;
    socket.methods = planned.rule->methods;
    socket.context = planned.rule->context;
  }
  out.proxy_port = gateway.proxy_port;
  out.ends_tls = !gateway.secrets.empty();
  out.resolv_conf = std::move(texts.resolv_conf);
  out.hosts = std::move(texts.hosts);
  out.ca_bundle = std::move(texts.ca_bundle);
  return out;
}

void fill_in(Plan& plan, const egress::Settings& settings, const std::string& authority) {
  for (const egress::Secret& secret : settings.secrets) {
    for (auto& [name, value] : plan.env) {
      if (name == secret.name) value = secret.placeholder;
    }
  }
  if (!plan.gateway || plan.gateway->bundle.empty()) return;
  const std::string own = relative(plan.gateway->bundle);
  std::string bundle = settings.ca_bundle;
  if (!bundle.empty() && bundle.back() != '\n') bundle += '\n';
  bundle += authority;
  std::uint64_t more = 0;
  for (Step& step : plan.steps) {
    const bool known = step.a == own || step.a == relative(kBundles[0]);
    if (step.kind != wire::StepKind::kFile || !known || !step.data.empty()) continue;
    step.data = bundle;
    constexpr std::uint64_t kPage = 4096;
    more += (bundle.size() / kPage + 1) * kPage;
  }
  const auto root = std::ranges::find(plan.steps, wire::StepKind::kNewRoot, &Step::kind);
  if (root != plan.steps.end()) root->x += more;
}

Result<WayOutParts> start_way_out(Plan& plan, const HostFacts& host, const std::map<std::string, std::string>& env,
                                  int cancel) {
  const PlannedGateway& gateway = *plan.gateway;
  WayOutParts out;
  CLOCHE_TRY_ASSIGN(out.sockets, open_sockets(gateway));
  CLOCHE_TRY_ASSIGN(HostTexts texts, read_texts(gateway, env));
  Holding settings(settings_for(gateway, std::move(texts)));
  CLOCHE_TRY(add_secrets(*settings, gateway, env, cancel));
  CLOCHE_TRY(check_variables(*settings, plan));
  const GatewayIdentity identity{plan.own_host_uid, host.uid, host.gid};
  CLOCHE_TRY_ASSIGN(out.gateway, start_gateway(gateway_beside(host.init.value_or("")), identity, *settings));
  CLOCHE_TRY(check_gateway(out.gateway));
  fill_in(plan, *settings, out.gateway.authority);
  return out;
}

}  // namespace cloche
