#include "gateway/secret_scan.h"

#include <algorithm>
#include <utility>

#include "gateway/secret_rules.h"

namespace cloche::gateway {

std::string SecretScan::feed(std::string_view bytes) {
  if (stopped()) return {};
  const SecretMatcher& matcher = vault_->placeholders();
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (state_ == SecretMatcher::kStart) at += matcher.skip(bytes.substr(at));
    if (at == bytes.size()) break;
    state_ = matcher.next(state_, bytes[at]);
    ++at;
    if (const auto found = matcher.found(state_); found.length != 0) {
      reason_ = stop_sentence(vault_->entries()[found.tag], where_);
      // What came before it is clean, but a body without its end is worth nothing.
      held_.clear();
      return {};
    }
  }
  held_ += bytes;
  // Of what could be a placeholder's beginning, some may have been let go.
  std::string clean = held_.substr(0, held_.size() - std::min(held_.size(), matcher.depth(state_)));
  held_.erase(0, clean.size());
  return clean;
}

std::string SecretScan::let_go() { return stopped() ? std::string() : std::exchange(held_, {}); }

}  // namespace cloche::gateway
