#include <algorithm>

#include <fmt/format.h>

#include "learn/collect.h"

namespace cloche::learn {
namespace {

std::string host_and_port(const Connection& c) {
  const std::string host = c.name.empty() ? c.address : c.name;
  const bool bare = c.name.empty() && host.find(':') != std::string::npos && !host.starts_with('[');
  return fmt::format("{}:{}", bare ? "[" + host + "]" : host, c.port);
}

}  // namespace

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
        once(out.wanted, Wanted{"connect " + harmless(c.name), c.reason});
    } else if (c.verdict == Verdict::kDenied) {
      const bool asks = c.port == 0 || c.via == Via::kDns;
      const std::string whom = harmless(asks ? (c.name.empty() ? c.address : c.name) : host_and_port(c));
      once(out.wanted, Wanted{(asks ? "look up " : "connect ") + whom,
                              fmt::format("--allow-net {}{} lets it through", whom, asks ? ":PORT" : "")});
    } else if (c.port != 0 && c.via != Via::kDns) {
      once(out.items, Item{Kind::kHost, host_and_port(c)});
    }
  }
  return out;
}

}  // namespace cloche::learn
