#include "supervise/network_record.h"

#include <limits>
#include <string_view>

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

void add_to(Call& first, const Call& again) { count(first.count, again.count); }

}  // namespace

void NetworkRecord::add(const Connection& connection) {
  count(use_.connections_total, connection.count);
  count(use_.bytes_in, connection.bytes_in);
  count(use_.bytes_out, connection.bytes_out);
  if (connection.verdict == Verdict::kDenied) count(use_.denied_total, connection.count);
  const std::string_view name = connection.name;
  const std::string_view address = connection.address;
  const std::string_view reason = connection.reason;
  Connection* line = connections_.keep(use_.connections, kMaxReportedConnections, connection,
                                       std::tuple{connection.via, connection.port, name, address, reason},
                                       std::tuple{connection.verdict, connection.port, name.empty() ? address : name});
  if (line != nullptr) add_to(*line, connection);
}

void NetworkRecord::add(const Call& call) {
  count(use_.calls_total, call.count);
  if (call.verdict == Verdict::kDenied) count(use_.calls_denied_total, call.count);
  const std::string_view socket = call.socket;
  const std::string_view method = call.method;
  const std::string_view reason = call.reason;
  Call* line = calls_.keep(use_.calls, kMaxReportedCalls, call, std::tuple{socket, method, reason},
                           std::tuple{call.verdict, socket, method});
  if (line != nullptr) add_to(*line, call);
}

void NetworkRecord::add(const GrantChange& change) {
  if (use_.changes.size() < kMaxReportedChanges) use_.changes.push_back(change);
}

void NetworkRecord::set_tally(std::uint64_t lost, std::chrono::microseconds rate_waited) {
  use_.connections_lost = lost;
  use_.rate_waited = rate_waited;
}

}  // namespace cloche
