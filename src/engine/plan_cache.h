// Plans of runs that differ from an earlier one in their arguments only. A plan follows from policy, request and host;
// what it is made from is compared, so that a cached one is the one that would be made.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "cloche/cloche.h"
#include "plan/plan.h"

namespace cloche {

class PlanCache {
 public:
  // For a program, not a script, with the environment of this moment. The arguments are those of another run.
  std::shared_ptr<const Plan> find(const PolicyHandle& policy, const RunRequest& request, const std::string& program,
                                   char** environment);
  void keep(const PolicyHandle& policy, const RunRequest& request, char** environment,
            std::shared_ptr<const Plan> plan);

 private:
  struct Entry {
    PolicyHandle policy;  // kept, so that its address stays its own
    std::string word;     // argv[0]
    bool cancellable;
    std::vector<std::string> environment;
    std::shared_ptr<const Plan> plan;
  };
  std::list<Entry> entries_;  // the one used last is the first
};

}  // namespace cloche
