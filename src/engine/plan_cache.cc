#include "engine/plan_cache.h"

#include <algorithm>

namespace cloche {
namespace {

constexpr std::size_t kMost = 16;
constexpr std::size_t kUsual = 1024;  // arguments; how many are too many is the planner's affair

bool same_environment(const std::vector<std::string>& known, char** now) {
  for (const std::string& entry : known) {
    if (now == nullptr || *now == nullptr || entry != *now++) return false;
  }
  return now == nullptr || *now == nullptr;
}

}  // namespace

std::shared_ptr<const Plan> PlanCache::find(const PolicyHandle& policy, const RunRequest& request,
                                            const std::string& program, char** environment) {
  if (request.argv.size() > kUsual) return nullptr;
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& e) {
    return &e.policy.value() == &policy.value() && e.cancellable == request.cancellable &&
           e.word == request.argv.front() && e.plan->program == program && same_environment(e.environment, environment);
  });
  if (entry == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->plan;
}

void PlanCache::keep(const PolicyHandle& policy, const RunRequest& request, char** environment,
                     std::shared_ptr<const Plan> plan) {
  // Tier 0 and bwrap look at the host anew for each run.
  if (plan->backend != Backend::kNamespace || request.argv.size() > kUsual) return;
  Entry entry{policy, request.argv.front(), request.cancellable, {}, std::move(plan)};
  for (char** at = environment; at != nullptr && *at != nullptr; ++at) entry.environment.emplace_back(*at);
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMost) entries_.pop_back();
}

}  // namespace cloche
