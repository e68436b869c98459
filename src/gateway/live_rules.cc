#include "gateway/live_rules.h"

#include <algorithm>

namespace cloche::gateway {
namespace {
constexpr std::size_t kMaxRules = 8192;
}

Clock::time_point end_of(const egress::Lasts& lasts, Clock::time_point now) { return lasts ? now + *lasts : kNever; }

Result<LiveRules> LiveRules::make(const std::vector<egress::Rule>& allow, const std::vector<std::string>& deny,
                                  Clock::time_point now) {
  LiveRules rules;
  CLOCHE_TRY_ASSIGN(rules.rules_, proto::parse_rule_set({}, deny));
  for (const egress::Rule& item : allow) {
    CLOCHE_TRY_ASSIGN(proto::NetRule rule, proto::parse_net_rule(item.text));
    rules.items_.push_back({std::move(rule), end_of(item.lasts, now)});
  }
  rules.expire(now);
  return rules;
}

void LiveRules::rebuild() {
  rules_.allow.clear();
  for (const Item& item : items_) rules_.allow.push_back(item.rule);
}

Result<std::string> LiveRules::grant(std::string_view text, const egress::Lasts& lasts, Clock::time_point now) {
  CLOCHE_TRY_ASSIGN(proto::NetRule rule, proto::parse_net_rule(text));
  const auto same = std::ranges::find(items_, rule, &Item::rule);
  if (same != items_.end()) {
    same->end = end_of(lasts, now);
  } else if (items_.size() >= kMaxRules) {
    return fail(ErrorCode::kInvalidInput, "grant", "the run has too many rules already");
  } else {
    items_.push_back({rule, end_of(lasts, now)});
  }
  rebuild();
  return rule.text();
}

Result<std::string> LiveRules::revoke(std::string_view text) {
  CLOCHE_TRY_ASSIGN(const proto::NetRule rule, proto::parse_net_rule(text));
  if (std::erase_if(items_, [&](const Item& item) { return item.rule == rule; }) == 0) {
    return fail(ErrorCode::kNotFound, "revoke", "the run has no rule \"" + rule.text() + "\"");
  }
  rebuild();
  return rule.text();
}

Clock::time_point LiveRules::next_end() const {
  Clock::time_point next = kNever;
  for (const Item& item : items_) next = std::min(next, item.end);
  return next;
}

std::vector<std::string> LiveRules::expire(Clock::time_point now) {
  std::vector<std::string> over;
  for (const Item& item : items_) {
    if (item.end <= now) over.push_back(item.rule.text());
  }
  std::erase_if(items_, [&](const Item& item) { return item.end <= now; });
  rebuild();
  return over;
}

}  // namespace cloche::gateway
