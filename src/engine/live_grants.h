// What may be granted to a run that lives: no more than the ceilings that it was started under and the operator's of
// today let a policy ask for.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "egress/message.h"
#include "policy/policy.h"

namespace cloche {

struct Ceiling;

// kInvalidInput: it says nothing that could be granted, whatever the run. Also for who asks, before anybody is asked.
Status check_change(const egress::Change& change);

class LiveGrants {
 public:
  LiveGrants(const Policy& policy, const std::vector<Ceiling>& ceilings);

  // Taking back is always allowed. `today`: the operator's ceiling, read by the caller when it is asked.
  Status check_grant(const egress::Change& change, const std::vector<Ceiling>& today) const;
  // The same, with the operator's ceiling as it lies on the disk now.
  Status check_grant(const egress::Change& change) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// The operator's ceiling: none, or one. What is there and cannot be read or understood is an error.
Result<std::vector<Ceiling>> system_ceiling();

}  // namespace cloche
