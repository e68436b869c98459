#include "observe/explain.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "observe/advice.h"
#include "observe/explain_path.h"

namespace cloche::observe {
namespace {

using filter::Use;

std::optional<Denial> explain_connection(const Sighting& s, const Plan& plan, const HostLook& look) {
  if (s.family == Family::kAbstract) {
    if (s.presence == Presence::kThere) return std::nullopt;
    return denial_of("connect", s.what, s, {{}, "abstract sockets of the host are never in reach"});
  }
  if (s.family == Family::kPath) {
    const auto found = look(s.what, Right::kWrite);
    if (!found || !found->socket || s.presence == Presence::kThere) return std::nullopt;
    return denial_of("connect", s.what, s, advise_socket(found->real, plan.tier));
  }
  // With a gateway each connection is its business, and in its record; with the host's network nothing is denied.
  if (plan.has_network() || plan.net == NetMode::kHost || s.what.empty()) return std::nullopt;
  if (s.what.starts_with("127.") || s.what.starts_with("[::1]") || s.what.starts_with("0.0.0.0:")) {
    return std::nullopt;  // the cell's own: whoever is not there was not denied
  }
  return denial_of("connect", s.what, s, advise_host(s.what));
}

// Of the cell's own loopback, where it has one.
std::optional<Denial> explain_port(const Sighting& s, const Plan& plan) {
  const auto colon = s.what.rfind(':');
  // With a gateway every address and every port is the cell's own.
  if (plan.has_network() || plan.net == NetMode::kHost) return std::nullopt;
  if (s.family != Family::kInet || colon == std::string::npos) return std::nullopt;
  const std::string host = s.what.substr(0, colon);
  const int port = std::atoi(s.what.c_str() + colon + 1);
  const bool own = host.starts_with("127.") || host == "0.0.0.0" || host == "[::]" || host == "[::1]";
  if (!own) return denial_of("bind", s.what, s, {{}, "a cell has no address but its own loopback"});
  constexpr int kFirstFree = 1024;
  if (port == 0 || port >= kFirstFree) return std::nullopt;
  return denial_of("bind", s.what, s, {{}, "ports below 1024 take a capability that no guest has"});
}

std::optional<Denial> explain_one(const Sighting& s, const Plan& plan, const HostLook& look) {
  if (s.refused) {
    const CallAdvice call = advise_call(s, plan);
    return denial_of(call.what, call.detail, s, call.advice);
  }
  if (s.use == Use::kConnect) return explain_connection(s, plan, look);
  if (s.use == Use::kBind && s.family != Family::kPath) return explain_port(s, plan);
  if (s.use == Use::kSignal) {
    if (s.presence != Presence::kMissing) return std::nullopt;
    return denial_of("signal", s.what, s, {{}, "a guest reaches the processes of its own cell only"});
  }
  if (!s.what.starts_with('/')) return std::nullopt;
  return explain_path(s, plan, look);
}

// Files first: they are what a policy is changed for.
int rank(const Denial& denial) {
  constexpr std::string_view kOrder[] = {"read", "write", "exec", "connect", "bind", "socket", "signal", "syscall"};
  return static_cast<int>(std::ranges::find(kOrder, denial.what) - std::begin(kOrder));
}

}  // namespace

std::vector<Denial> explain(const std::vector<Sighting>& seen, const Plan& plan, const HostLook& look) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  std::vector<Denial> out;
  std::uint64_t beyond = 0;
  std::set<std::string> own_names;
  for (const Sighting& s : seen) {
    if (s.use == Use::kBind && s.family == Family::kAbstract) own_names.insert(s.what);
  }
  const auto add = [&](const Sighting& s, std::size_t most) {
    auto denial = explain_one(s, plan, look);
    if (!denial) return;
    const auto [place, is_new] = known.emplace(std::pair(denial->what, denial->detail), out.size());
    if (!is_new) {
      out[place->second].count += denial->count;
    } else if (out.size() < most) {
      out.push_back(std::move(*denial));
    } else {
      known.erase(place);
      beyond += denial->count;
    }
  };
  // Each has its share: a guest cannot hide a refused call behind many files or another call, nor a file behind calls.
  constexpr std::size_t kMostOfACall = 8;
  std::map<std::uint32_t, std::size_t> of_a_call;
  for (const Sighting& s : seen) {
    if (s.refused) add(s, ++of_a_call[s.number] > kMostOfACall ? 0 : kMostDenials * 3 / 4);
  }
  for (const Sighting& s : seen) {
    if (!s.refused && !(s.use == Use::kConnect && own_names.contains(s.what))) add(s, kMostDenials);
  }
  // The newest of a kind first: what a guest failed of is mostly the last thing that it was denied.
  std::ranges::reverse(out);
  std::ranges::stable_sort(out, {}, rank);
  if (beyond != 0) out.push_back({"more", "attempts that are not listed one by one", beyond, {}, {}, {}});
  return out;
}

std::vector<Denial> explain_network(const NetworkUse& use) {
  std::map<std::pair<std::string, std::string>, Denial> found;
  std::vector<std::pair<std::string, std::string>> order;
  const auto add = [&](std::string detail, std::uint64_t count, const Advice& advice) {
    const std::pair key("connect", detail);
    const auto [place, is_new] =
        found.try_emplace(key, Denial{"connect", std::move(detail), 0, {}, advice.allow, advice.never});
    place->second.count += count;
    if (is_new) order.push_back(key);
  };
  for (const Connection& c : use.connections) {
    if (c.verdict != Verdict::kDenied) continue;
    const std::string host = c.name.empty() ? c.address : c.name;
    if (c.via == Via::kSocket) {
      add(host, c.count, {{}, c.reason});
    } else if (c.via == Via::kDns || c.port == 0) {
      add(host, c.count, advise_name(host, c.reason));
    } else {
      const bool bare = c.name.empty() && host.find(':') != std::string::npos && !host.starts_with('[');
      const std::string at = fmt::format("{}:{}", bare ? "[" + host + "]" : host, c.port);
      add(at, c.count, advise_denied_host(at, c.reason));
    }
  }
  for (const Call& c : use.calls) {
    if (c.verdict != Verdict::kDenied) continue;
    add(fmt::format("{} on {}", c.method.empty() ? "a message" : c.method, c.socket), c.count, advise_method(c));
  }
  std::vector<Denial> out;
  for (const auto& key : order) {
    if (out.size() < kMostDenials) out.push_back(std::move(found.at(key)));
  }
  return out;
}

}  // namespace cloche::observe
