#include "engine/resident.h"

#include <sys/epoll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/own_places.h"
#include "host/probe.h"
#include "keeper/sources.h"
#include "policy/env_names.h"
#include "tiers/tiers.h"

namespace cloche {
namespace {

constexpr std::size_t kAtHand = 1;  // one run at a time; the keeper has more
constexpr std::size_t kMostPlans = 8;
// A probe takes as long as the rest of what is done before a run. What a cell that stands ready does is read back from
// the kernel, whatever the facts say; so they may be as old as that cell.
constexpr std::chrono::seconds kFresh{1};
constexpr std::chrono::seconds kOld{60};
constexpr std::chrono::milliseconds kLong{50};  // a run of which a keeper that thinks of its end should know

// Of a request what a plan depends on.
Request essence(const Policy& policy, const Request& request) {
  // All members are named, so that a new one cannot be forgotten; the whole of the environment is not copied.
  const auto& [id, argv, program, script, env, home, tty, puts, run_directory, keeps_files, cancellable] = request;
  const std::size_t words = script ? argv.size() : std::min<std::size_t>(argv.size(), 1);
  return {.id = "plan",
          .argv = {argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(words)},
          .program = program,
          .script = script,
          .env = select_env(policy.env, env),
          .home = home,
          .tty = tty,
          .puts = puts,
          .run_directory = run_directory,
          .keeps_files = keeps_files,
          .cancellable = cancellable};
}

// What kernel, groups and system are asked for, and our own program.
std::vector<std::string> places_of_facts(const HostFacts& host) {
  std::vector<std::string> out = {"/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64"};
  if (host.init) out.push_back(*host.init);
  if (host.bwrap) out.push_back(*host.bwrap);
  return keeper::real_paths(std::move(out));
}

// But for where the engine itself is, which moves aside where its group has to hold none.
bool is_same_host(HostFacts now, const HostFacts& then) {
  if (then.cgroup.v2_needs_self_move) now.cgroup = then.cgroup;
  return now == then;
}

}  // namespace

Result<std::unique_ptr<ResidentEngine>> ResidentEngine::make(Fd keeper) {
  std::unique_ptr<ResidentEngine> out(new ResidentEngine);
  CLOCHE_TRY_ASSIGN(out->mounts_, sys::MountChanges::open());  // before the probe: what changes during it is told
  HostFacts host = probe_fast();
  out->fact_places_ = places_of_facts(host);
  out->fact_mounts_ = keeper::mounts_around(out->fact_places_);
  out->keeper_ = std::make_shared<keeper::Client>(std::move(keeper));
  out->keeper_->keep_at_hand(kAtHand);
  CLOCHE_TRY_ASSIGN(out->supervisor_, Supervisor::make(std::move(host), starter_with(out->keeper_, false)));
  out->supervisor_->hold_ended();
  CLOCHE_TRY_ASSIGN(out->orders_, out->poller().watch(out->keeper_->descriptor(), EPOLLIN, [self = out.get()](auto) {
    self->keeper_->receive_orders();
    if (!self->keeper_->connected()) self->orders_.reset();
  }));
  return out;
}

bool ResidentEngine::host_is_the_same(Time when) {
  const auto now = Clock::now();
  if (mounts_->any()) {
    const std::uint64_t before = std::exchange(fact_mounts_, keeper::mounts_around(fact_places_));
    if (fact_mounts_ == 0 || fact_mounts_ != before) probed_ = Clock::time_point::min();
  }
  if (now - (when == Time::kIdle ? kFresh : kOld) < probed_) return true;
  const bool is_same = is_same_host(probe_fast(), host());
  // What was mounted for a moment may have been probed.
  probed_ = mounts_->any() ? Clock::time_point::min() : now;
  return is_same;
}

bool ResidentEngine::knows(const Policy& policy) const {
  return std::ranges::any_of(known_, [&](const Known& one) { return one.policy == policy; });
}

std::shared_ptr<const Plan> ResidentEngine::plan_for(const Policy& policy, const Request& request) {
  if (policy.needs_gateway() || !policy.workspace.path.empty() || policy.tier == Tier::kProcess) return nullptr;
  Request wanted = essence(policy, request);
  std::vector<OwnPlace> places = places_to_hide(policy, request);
  const auto known = std::ranges::find_if(known_, [&](const Known& one) {
    return one.policy == policy && one.request == wanted && one.own_places == places;
  });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return known->plan;
  }
  HostFacts facts = host();
  complete_facts(facts, policy, request, places);
  auto made = make_plan(policy, request, facts);
  if (!made || !keeper::can_serve(*made, facts) || made->tty || made->keeps_scratch) return nullptr;
  if (!make_hidden(*made, request.env)) return nullptr;
  auto plan = std::make_shared<const Plan>(std::move(*made));
  // What is to be hidden in a grant may come and go between two runs.
  if (request.script || holds_own_place(*plan, facts)) return plan;
  known_.push_front({policy, std::move(wanted), std::move(places), plan});
  if (known_.size() > kMostPlans) known_.pop_back();
  return plan;
}

Report ResidentEngine::run(const std::shared_ptr<const Plan>& plan, const Policy& policy, const Request& request,
                           RunWiring wiring) {
  wiring.repeats = !request.script;
  if (!request.script) wiring.argv = request.argv;
  auto ended = std::make_shared<std::optional<Report>>();
  supervisor_->add(plan, std::move(wiring), request.id, [ended](Report report) { *ended = std::move(report); });
  auto remark = Clock::now() + kLong;
  while (!*ended) {
    if (Status waited = supervisor_->step(remark); !waited) {
      failed_ = true;  // its cell goes with us
      return refusal(request, policy, waited.error());
    }
    if (*ended || Clock::now() < remark) continue;
    keeper_->tell_attended(keeper::Client::Attended::kGoesOn);
    remark = Clock::time_point::max();
  }
  return std::move(**ended);
}

Status ResidentEngine::wait(Clock::time_point until) {
  return supervisor_->step(std::min(until, keeper_->tidy(Clock::now())));
}

}  // namespace cloche
