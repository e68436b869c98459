#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/glyph.h"
#include "learn/collect.h"
#include "policy/secret_places.h"

namespace cloche::learn {
namespace {

using filter::Use;
using observe::Family;
using observe::Sighting;

std::string host_and_port(const Connection& c) {
  const std::string host = c.name.empty() ? c.address : c.name;
  const bool bare = c.name.empty() && host.find(':') != std::string::npos && !host.starts_with('[');
  return fmt::format("{}:{}", bare ? "[" + host + "]" : host, c.port);
}

// Anything but a missing rule is a reason of its own, and no rule would help.
std::string way_to_host(const std::string& whom, const std::string& reason) {
  if (std::string kept = reason_to_keep_from(whom); !kept.empty()) return kept;
  const bool no_rule = reason.empty() || reason.find(" is not in net.allow") != std::string::npos;
  return no_rule ? fmt::format("--allow-net {} lets it through", whom) : shown_policy_line(reason);
}

std::string port_of(const std::string& address) { return address.substr(address.rfind(':') + 1); }

bool is_on_loopback(const Sighting& s) {
  constexpr std::string_view kNames = "53";  // whoever looks up a name asks for it; names are told by themselves
  if (s.refused || s.family != Family::kInet || s.datagram || port_of(s.what) == kNames) return false;
  return s.what.starts_with("127.") || s.what.starts_with("[::1]:");
}

}  // namespace

std::vector<Wanted> collect_loopback(const std::vector<Sighting>& seen, const NetworkUse* heard) {
  std::set<std::string> known;  // ports
  for (const Sighting& s : seen) {
    if (s.use == Use::kBind && s.family == Family::kInet) known.insert(port_of(s.what));
  }
  if (known.contains("0")) return {};
  for (std::size_t i = 0; heard != nullptr && i < heard->connections.size(); ++i) {
    known.insert(std::to_string(heard->connections[i].port));
  }
  std::vector<Wanted> out;
  std::set<std::string> told;
  for (const Sighting& s : seen) {
    if (s.use != Use::kConnect || !is_on_loopback(s) || known.contains(port_of(s.what))) continue;
    const std::string whom = harmless(s.what);
    if (!told.insert(whom).second) continue;
    out.push_back({"connect " + whom,
                   fmt::format("nobody in the cell listens there; --allow-net {} leads to the host's own", whom)});
  }
  return out;
}

Collected collect_network(const NetworkUse& use) {
  Collected out;
  const auto once = [](auto& list, auto item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(std::move(item));
  };
  for (const Connection& c : use.connections) {
    if (c.via == Via::kSocket) {
      if (c.verdict != Verdict::kDenied)
        once(out.items, Item{Kind::kSocket, c.name});
      else
        once(out.wanted, Wanted{"connect " + harmless(c.name), shown_policy_line(c.reason)});
    } else if (c.verdict == Verdict::kDenied) {
      const bool asks = c.port == 0 || c.via == Via::kDns;
      const std::string whom = harmless(asks ? (c.name.empty() ? c.address : c.name) : host_and_port(c));
      once(out.wanted,
           Wanted{(asks ? "look up " : "connect ") + whom, way_to_host(asks ? whom + ":PORT" : whom, c.reason)});
    } else if (c.port != 0 && c.via != Via::kDns) {
      once(out.items, Item{Kind::kHost, host_and_port(c)});
    }
  }
  return out;
}

}  // namespace cloche::learn
