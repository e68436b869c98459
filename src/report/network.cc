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

}  // namespace cloche
