#include "supervise/network_record.h"

#include <limits>
#include <string_view>
#include <vector>

namespace cloche {
namespace {

void count(std::uint64_t& total, std::uint64_t more) {
  total = more > std::numeric_limits<std::uint64_t>::max() - total ? std::numeric_limits<std::uint64_t>::max()
                                                                   : total + more;
}

void add_to(Connection& first, const Connection& again) {
  count(first.count, again.count);
  count(first.bytes_in, again.bytes_in);
  count(first.bytes_out, again.bytes_out);
}

}  // namespace

void NetworkRecord::add(const Connection& connection) {
  count(use_.connections_total, connection.count);
  count(use_.bytes_in, connection.bytes_in);
  count(use_.bytes_out, connection.bytes_out);
  if (connection.verdict == Verdict::kDenied) count(use_.denied_total, connection.count);
  keep(connection);
}

void NetworkRecord::keep(const Connection& connection) {
  const bool denied = connection.verdict == Verdict::kDenied;
  std::vector<Connection>& kept = use_.connections;
  // Refusals are cheap to make: the same ones are one, and all of them leave room for the others.
  const std::tuple<Via, std::uint16_t, std::string_view, std::string_view, std::string_view> what{
      connection.via, connection.port, connection.name, connection.address, connection.reason};
  if (denied) {
    if (const auto known = refused_.find(what); known != refused_.end()) return add_to(kept[known->second], connection);
  }
  // In a full list only a place that it does not have is new: one that was often reached must not hide another.
  const std::tuple<Verdict, std::uint16_t, std::string_view> where{
      connection.verdict, connection.port, connection.name.empty() ? connection.address : connection.name};
  const auto place = places_.find(where);
  const bool full = kept.size() >= kMaxReportedConnections;
  const bool fits = !denied || refused_.size() < kMaxReportedConnections / 2;
  if ((full || !fits) && place != places_.end()) return add_to(kept[place->second], connection);
  if (!fits) return;
  if (full && further_[static_cast<std::size_t>(connection.verdict)]++ >= kMaxFurtherPlaces) return;
  if (denied) refused_.emplace(what, kept.size());
  if (place != places_.end()) {
    place->second = kept.size();
  } else {
    places_.emplace(where, kept.size());
  }
  kept.push_back(connection);
}

void NetworkRecord::add(const Call& call) {
  count(use_.calls_total, call.count);
  if (call.verdict == Verdict::kDenied) count(use_.calls_denied_total, call.count);
  if (use_.calls.size() < kMaxReportedCalls) use_.calls.push_back(call);
}

void NetworkRecord::add(const GrantChange& change) {
  if (use_.changes.size() < kMaxReportedChanges) use_.changes.push_back(change);
}

void NetworkRecord::set_tally(std::uint64_t lost, std::chrono::microseconds rate_waited) {
  use_.connections_lost = lost;
  use_.rate_waited = rate_waited;
}

}  // namespace cloche
