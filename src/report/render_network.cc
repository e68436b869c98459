#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "report/render.h"
#include "report/text.h"

namespace cloche {
namespace {

// A guest chooses names, methods and how long they are.
constexpr std::size_t kTextColumns = 120;

std::string shown(std::string_view text) { return fit(printable(text), kTextColumns); }
// What the guest chose: what stands behind it must not look like a part of it.
std::string named(std::string_view text) { return printable_word(fit(text, kTextColumns)); }

std::string times(std::uint64_t count) { return count == 1 ? "" : fmt::format(", {} times", count); }

std::string sum_line(const NetworkUse& network) {
  std::string out = fmt::format("{} connection{}, {} denied, {} in, {} out", network.connections_total,
                                network.connections_total == 1 ? "" : "s", network.denied_total,
                                human(Bytes{network.bytes_in}), human(Bytes{network.bytes_out}));
  if (network.calls_total != 0) {
    out += fmt::format("; {} call{}, {} denied", network.calls_total, network.calls_total == 1 ? "" : "s",
                       network.calls_denied_total);
  }
  if (network.connections_lost != 0) out += fmt::format("; {} refused and not listed", network.connections_lost);
  if (network.rate_waited.count() != 0) out += "; held up for " + human(network.rate_waited) + " (net.limits.rate)";
  return out;
}

std::string where(const Connection& connection) {
  const std::string& host = connection.name.empty() ? connection.address : connection.name;
  const bool literal = connection.name.empty() && host.find(':') != std::string::npos;
  std::string out = literal ? "[" + shown(host) + "]" : named(host);
  if (connection.port != 0) out += fmt::format(":{}", connection.port);
  return out;
}

std::string line_of(const Connection& connection) {
  std::string out =
      fmt::format("{} {} ({})", to_string(connection.verdict), where(connection), to_string(connection.via));
  if (!connection.reason.empty()) out += ": " + shown(connection.reason);
  if (connection.bytes_in + connection.bytes_out != 0) {
    out += fmt::format(", {} in, {} out", human(Bytes{connection.bytes_in}), human(Bytes{connection.bytes_out}));
  }
  return out + times(connection.count);
}

std::string line_of(const Call& call) {
  std::string out = fmt::format("{} call of {} on {}", to_string(call.verdict), named(call.method), named(call.socket));
  if (!call.reason.empty()) out += ": " + shown(call.reason);
  return out + times(call.count);
}

std::string line_of(const GrantChange& change) {
  const std::string lasts = change.lasts ? " for " + to_text(*change.lasts) : "";
  return fmt::format("{} {} {}{} ({})", to_string(change.turn), shown(change.what), shown(change.text), lasts,
                     shown(change.by));
}

}  // namespace

std::vector<std::string> network_lines(const NetworkUse& network, std::size_t at_most) {
  std::vector<std::string> out{sum_line(network)};
  std::size_t left_out = 0;
  const auto add_one = [&](const auto& one) {
    if (out.size() < at_most) {
      out.push_back(line_of(one));
    } else {
      ++left_out;
    }
  };
  const auto add = [&](const auto& list, auto wanted) {
    for (const auto& one : list) {
      if (wanted(one.verdict)) add_one(one);
    }
  };
  for (const Verdict verdict : {Verdict::kDenied, Verdict::kFailed, Verdict::kAllowed}) {
    const auto wanted = [verdict](Verdict of) { return of == verdict; };
    add(network.connections, wanted);
    add(network.calls, wanted);
  }
  for (const GrantChange& change : network.changes) add_one(change);
  if (left_out != 0) out.push_back(fmt::format("and {} more in the report", left_out));
  return out;
}

}  // namespace cloche
