// Rules that come and go while the run lives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "egress/settings.h"
#include "gateway/loop.h"
#include "proto/rule_set.h"

namespace cloche::gateway {

// When something that lasts so long, from now on, is over; kNever for what lasts as long as the run.
Clock::time_point end_of(const egress::Lasts& lasts, Clock::time_point now);

class LiveRules {
 public:
  static Result<LiveRules> make(const std::vector<egress::Rule>& allow, const std::vector<std::string>& deny,
                                Clock::time_point now);

  // What holds now.
  const proto::RuleSet& now() const { return rules_; }

  // Adds the rule, or gives it a new end; its text in one form.
  Result<std::string> grant(std::string_view text, const egress::Lasts& lasts, Clock::time_point now);
  Result<std::string> revoke(std::string_view text);
  Clock::time_point next_end() const;
  // Takes out what is over; the texts of it.
  std::vector<std::string> expire(Clock::time_point now);

 private:
  struct Item {
    proto::NetRule rule;
    Clock::time_point end;
  };
  void rebuild();

  std::vector<Item> items_;
  proto::RuleSet rules_;
};

}  // namespace cloche::gateway
