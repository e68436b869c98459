#include "report/network.h"

namespace cloche {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return "allowed";
    case Verdict::kDenied:
      return "denied";
    case Verdict::kFailed:
      return "failed";
  }
  return "failed";
}

std::string_view to_string(Via via) {
  switch (via) {
    case Via::kDirect:
      return "direct";
    case Via::kProxy:
      return "proxy";
    case Via::kSocks:
      return "socks";
    case Via::kDns:
      return "dns";
    case Via::kSocket:
      return "socket";
  }
  return "direct";
}

std::string_view to_string(GrantChange::Turn turn) {
  switch (turn) {
    case GrantChange::Turn::kGranted:
      return "granted";
    case GrantChange::Turn::kRevoked:
      return "revoked";
    case GrantChange::Turn::kEnded:
      return "ended";
  }
  return "ended";
}

std::optional<GrantChange::Turn> grant_turn_from(std::string_view name) {
  for (std::size_t i = 0; i < kGrantTurnCount; ++i) {
    if (to_string(static_cast<GrantChange::Turn>(i)) == name) return static_cast<GrantChange::Turn>(i);
  }
  return std::nullopt;
}

std::optional<Verdict> verdict_from(std::string_view name) {
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    if (to_string(static_cast<Verdict>(i)) == name) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

std::optional<Via> via_from(std::string_view name) {
  for (std::size_t i = 0; i < kViaCount; ++i) {
    if (to_string(static_cast<Via>(i)) == name) return static_cast<Via>(i);
  }
  return std::nullopt;
}

}  // namespace cloche
