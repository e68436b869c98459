#include "gateway/flow.h"

#include <algorithm>
#include <utility>

#include "gateway/shared.h"

namespace cloche::gateway {
namespace {

std::chrono::microseconds micros(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time);
}

}  // namespace

Flow::Flow(Shared& shared, Via via) : shared_(shared), began_(Clock::now()) {
  record.at = micros(began_ - shared.began);
  record.via = via;
  record.verdict = Verdict::kFailed;
  place_ = shared.flows.insert(shared.flows.end(), this);
}

Flow::~Flow() {
  shared_.flows.erase(place_);
  tell("");
}

void Flow::tell(std::string reason) {
  if (std::exchange(told_, true)) return;
  if (record.reason.empty()) record.reason = std::move(reason);
  record.took = micros(Clock::now() - began_);
  shared_.link->send({.kind = egress::Kind::kConnection}, egress::encode(record));
}

void Flow::deny(std::string reason) {
  record.verdict = Verdict::kDenied;
  record.reason = std::move(reason);
}

void Flow::fail(std::string reason) {
  record.verdict = Verdict::kFailed;
  record.reason = std::move(reason);
}

void Flow::allow(std::string reason) {
  record.verdict = Verdict::kAllowed;
  record.reason = std::move(reason);
  shared_.link->send({.kind = egress::Kind::kConnection, .what = 1}, egress::encode(record));
}

void Flow::abort(std::string reason) {
  if (std::exchange(aborted_, true)) return;
  if (!reason.empty()) record.reason += (record.reason.empty() ? "" : "; ") + reason;
  for (Stream* stream : {client_, server_}) {
    if (stream != nullptr) stream->cut();
  }
}

void Shared::hit(std::string_view limit) {
  if (std::exchange(over, true)) return;
  link->send({.kind = egress::Kind::kLimit}, limit);
  for (Flow* flow : flows) flow->abort("ended: " + std::string(limit) + " was reached");
}

void Shared::end_granted(std::string_view granted, std::string_view why) {
  for (Flow* flow : flows) {
    if (std::ranges::find(flow->granted, granted) != flow->granted.end()) flow->abort(std::string(why));
  }
}

void Shared::end_with_secret(std::string_view name, std::string_view why) {
  for (Flow* flow : flows) {
    if (std::ranges::find(flow->secrets, name) != flow->secrets.end()) flow->abort(std::string(why));
  }
}

Task<void> link_in_time(Shared& shared) {
  constexpr Millis kPause{2};
  while (shared.link->is_behind()) co_await shared.loop.until(Clock::now() + kPause);
}

}  // namespace cloche::gateway
