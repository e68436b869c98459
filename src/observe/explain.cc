#include "observe/explain.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "observe/advice.h"
#include "observe/below.h"
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
    if (found->datagrams) {
      return denial_of("connect", s.what, s, {{}, "it takes datagrams, and only streams can be granted"});
    }
    return denial_of("connect", s.what, s, advise_socket(s.what, found->real, look.secrets()));
  }
  // With a gateway each connection is its business, and in its record; with the host's network nothing is denied.
  if (plan.has_network() || plan.net == NetMode::kHost || s.what.empty()) return std::nullopt;
  if (s.what.starts_with("127.") || s.what.starts_with("[::1]") || s.what.starts_with("0.0.0.0:")) {
    return std::nullopt;  // the cell's own: whoever is not there was not denied
  }
  if (s.datagram) return denial_of("connect", s.what, s, {{}, "datagrams do not leave a cell; net.allow is for TCP"});
  return denial_of("connect", s.what, s, advise_host(s.what));
}

// Of the cell's own loopback, where it has one.
std::optional<Denial> explain_port(const Sighting& s, const Plan& plan) {
  const auto colon = s.what.rfind(':');
  if (plan.net == NetMode::kHost) return std::nullopt;
  if (s.family != Family::kInet || colon == std::string::npos) return std::nullopt;
  const std::string host = s.what.substr(0, colon);
  const int port = std::atoi(s.what.c_str() + colon + 1);
  const bool own = host.starts_with("127.") || host == "0.0.0.0" || host == "[::]" || host == "[::1]";
  // With a gateway every port is the cell's own, and every address but those of IPv6, which routes do not make local.
  const bool foreign = host.starts_with('[') && !host.starts_with("[::ffff:");
  if (plan.has_network() && (own || !foreign)) return std::nullopt;
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
  constexpr std::string_view kOrder[] = {"read",   "write",  "exec",    "connect", "bind",
                                         "socket", "signal", "syscall", "more"};
  return static_cast<int>(std::ranges::find(kOrder, denial.what) - std::begin(kOrder));
}

// The host is asked for so many names only: those that were looked at come last, and those that were read before them.
// What is granted and may yet be kept back by a mode comes after all of them.
std::vector<std::size_t> most_telling_first(const std::vector<Sighting>& seen, const Plan& plan) {
  const auto kind = [&](std::size_t at) {
    const Sighting& s = seen[at];
    const bool named = !s.refused && s.use != Use::kConnect && s.what.starts_with('/');
    if (named && plan.own_host_uid && is_within_rights(s, plan)) return 3;
    if (s.use == Use::kLook || s.use == Use::kEnter) return 2;
    return s.use == Use::kOpen && !s.changes ? 1 : 0;
  };
  std::vector<std::size_t> out(seen.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::stable_sort(out, {}, kind);
  return out;
}

// Denials by when they were first seen; those of the same advice are one.
class List {
 public:
  void add(Denial denial, std::size_t at) {
    const auto [place, is_new] =
        known_.emplace(std::tuple(denial.what, denial.detail, denial.allow, denial.never), entries_.size());
    if (is_new) {
      entries_.emplace_back(at, std::move(denial));
    } else {
      auto& [first, known] = entries_[place->second];
      first = std::min(first, at);
      known.count += denial.count;
      add_programs(known.program, denial.program);
    }
  }
  void pass_over(const Denial& denial) { beyond_ += denial.count; }
  std::size_t size() const { return entries_.size(); }

  // Of each kind the first and the last stay: what a guest began with, and what it may have failed of. Many of one kind
  // take what others leave, and no more.
  void trim(std::size_t most) {
    std::ranges::sort(entries_, {}, &Entry::first);
    if (entries_.size() <= most) return;
    std::map<std::string, std::vector<Entry>> kinds;
    for (Entry& entry : entries_) kinds[entry.second.what].push_back(std::move(entry));
    std::vector<std::vector<Entry>*> fewest_first;
    for (auto& [what, entries] : kinds) fewest_first.push_back(&entries);
    std::ranges::sort(fewest_first, {}, [](const std::vector<Entry>* entries) { return entries->size(); });
    entries_.clear();
    for (std::size_t i = 0; i < fewest_first.size(); ++i) {
      std::vector<Entry>& entries = *fewest_first[i];
      const std::size_t share = std::min(entries.size(), (most - entries_.size()) / (fewest_first.size() - i));
      const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(share / 2);
      const auto end = begin + static_cast<std::ptrdiff_t>(entries.size() - share);
      for (auto entry = begin; entry != end; ++entry) pass_over(entry->second);
      entries.erase(begin, end);
      std::ranges::move(entries, std::back_inserter(entries_));
    }
    std::ranges::sort(entries_, {}, &Entry::first);
  }

  // The newest first, and how many there are beyond them.
  static std::vector<Denial> merged(List one, List other) {
    std::ranges::move(other.entries_, std::back_inserter(one.entries_));
    std::ranges::stable_sort(one.entries_, std::greater(), &Entry::first);
    std::vector<Denial> out;
    for (Entry& entry : one.entries_) out.push_back(std::move(entry.second));
    const std::uint64_t beyond = one.beyond_ + other.beyond_;
    if (beyond != 0) out.push_back({"more", "attempts that are not listed one by one", beyond, {}, {}, {}});
    return out;
  }

 private:
  using Entry = std::pair<std::size_t, Denial>;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known_;
  std::vector<Entry> entries_;
  std::uint64_t beyond_ = 0;
};

}  // namespace

const Secrets& HostLook::secrets() const {
  static const Secrets kOfNobody;
  return kept_ ? kept_() : kOfNobody;
}

void add_programs(std::string& list, std::string_view more) {
  constexpr std::ptrdiff_t kMost = 4;
  while (!more.empty()) {
    const std::size_t end = std::min(more.find(", "), more.size());
    const std::string name(more.substr(0, end));
    more.remove_prefix(std::min(end + 2, more.size()));
    if (list.empty()) list = name;
    if (list.ends_with("…") || (", " + list + ", ").contains(", " + name + ", ")) continue;
    list += std::ranges::count(list, ',') + 1 < kMost ? ", " + name : ", …";
  }
}

std::vector<Denial> explain(const std::vector<Sighting>& seen, const Plan& plan, const HostLook& look) {
  List calls;
  List others;
  std::set<std::string> own_names;
  for (const Sighting& s : seen) {
    if (s.use == Use::kBind && s.family == Family::kAbstract) own_names.insert(s.what);
  }
  constexpr std::size_t kMostOfACall = 8;
  std::map<std::uint32_t, std::size_t> of_a_call;
  for (const std::size_t at : most_telling_first(seen, plan)) {
    const Sighting& s = seen[at];
    if (s.use == Use::kConnect && !s.refused && own_names.contains(s.what)) continue;
    auto denial = explain_one(s, plan, look);
    if (denial) keep_to_backend(*denial, plan);
    if (denial && s.refused && ++of_a_call[s.number] > kMostOfACall) {
      calls.pass_over(*denial);
    } else if (denial) {
      (s.refused ? calls : others).add(std::move(*denial), at);
    }
    if (auto needed = s.refused ? std::nullopt : explain_interpreter(s, plan, look)) {
      keep_to_backend(*needed, plan);
      others.add(std::move(*needed), at);
    }
  }
  // Each has its share: a guest cannot hide a refused call behind many files or another call, nor a file behind calls.
  calls.trim(kMostDenials * 3 / 4);
  others.trim(kMostDenials - calls.size());
  std::vector<Denial> out = List::merged(std::move(calls), std::move(others));
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

namespace {

// "sh, curl" to "sh or curl".
std::string one_of(std::string programs) {
  constexpr std::string_view kComma = ", ";
  constexpr std::string_view kOr = " or ";
  for (std::size_t at = 0; (at = programs.find(kComma, at)) != std::string::npos; at += kOr.size()) {
    programs.replace(at, kComma.size(), kOr);
  }
  return programs;
}

}  // namespace

std::vector<Denial> explain_network(const NetworkUse& use, const std::string& ran) {
  const std::string program = one_of(ran);
  std::map<std::pair<std::string, std::string>, Denial> found;
  std::vector<std::pair<std::string, std::string>> order;
  const auto add = [&](std::string detail, std::uint64_t count, const Advice& advice) {
    const std::pair key("connect", detail);
    const auto [place, is_new] =
        found.try_emplace(key, Denial{"connect", std::move(detail), 0, program, advice.allow, advice.never});
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
