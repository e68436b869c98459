// What a run did on its way out: connections and calls, as the gateway saw them. Part of the report, and streamed.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

enum class Verdict : std::uint8_t {
  kAllowed,
  kDenied,  // by a rule, or for want of one
  kFailed,  // allowed, but the other side could not be reached
};
inline constexpr std::size_t kVerdictCount = 3;
std::string_view to_string(Verdict);  // "allowed", "denied", "failed"
std::optional<Verdict> verdict_from(std::string_view name);

// How the guest asked.
enum class Via : std::uint8_t { kDirect, kProxy, kSocks, kDns, kSocket };
inline constexpr std::size_t kViaCount = 5;
std::string_view to_string(Via);  // "direct", "proxy", "socks", "dns", "socket"
std::optional<Via> via_from(std::string_view name);

struct Connection {
  std::chrono::microseconds at{0};  // since the guest started
  Via via{};
  std::string name;     // the host's, or the socket's path; empty: the guest gave an address
  std::string address;  // that was dialled, or that the guest wanted
  std::uint16_t port = 0;
  Verdict verdict{};
  std::string reason;           // the rule that allowed it, or one sentence
  std::uint64_t bytes_in = 0;   // towards the guest
  std::uint64_t bytes_out = 0;  // from it
  std::chrono::microseconds took{0};
  std::uint64_t count = 1;  // the same again and again is told once
  bool operator==(const Connection&) const = default;
};

// One message of a guest to a socket with rules.
struct Call {
  std::chrono::microseconds at{0};
  std::string socket;  // path
  std::string method;
  std::string id;
  Verdict verdict{};
  std::string reason;
  std::uint64_t count = 1;
  bool operator==(const Call&) const = default;
};

// A grant that came or went while the run lived.
struct GrantChange {
  enum class Turn : std::uint8_t { kGranted, kRevoked, kEnded };
  std::chrono::microseconds at{0};
  Turn turn{};
  std::string what;  // "host", "socket", "secret"
  std::string text;  // rule, path or name
  std::string by;    // "uid 1000", "program": that linked the library, "lease": its time was over
  std::optional<std::chrono::milliseconds> lasts = {};  // of a grant for a while
  bool operator==(const GrantChange&) const = default;
};
inline constexpr std::size_t kGrantTurnCount = 3;
std::string_view to_string(GrantChange::Turn);  // "granted", "revoked", "ended"
std::optional<GrantChange::Turn> grant_turn_from(std::string_view name);

// Limits that end a run. net.limits.rate slows it down.
inline constexpr std::array<std::string_view, 3> kNetworkLimits = {"net.limits.bytes_in", "net.limits.bytes_out",
                                                                   "net.limits.connections"};

inline constexpr std::size_t kMaxReportedConnections = 1000;
// Of each verdict, behind the first ones: places that the list does not have.
inline constexpr std::size_t kMaxFurtherPlaces = 500;
inline constexpr std::size_t kMaxReportedCalls = 1000;
inline constexpr std::size_t kMaxReportedChanges = 1000;

struct NetworkUse {
  std::vector<Connection> connections;  // the first of them, then the first of each further place
  std::vector<Call> calls;              // the same
  std::uint64_t connections_total = 0;
  std::uint64_t denied_total = 0;
  std::uint64_t calls_total = 0;
  std::uint64_t calls_denied_total = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::vector<GrantChange> changes = {};     // the first of them
  std::uint64_t connections_lost = 0;        // attempts that are in none of these, nor was an event told
  std::chrono::microseconds rate_waited{0};  // that net.limits.rate held something up
  bool operator==(const NetworkUse&) const = default;
};

}  // namespace cloche
