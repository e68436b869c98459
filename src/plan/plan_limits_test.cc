// Limits in a plan: what is asked for, what a host can give, and what happens where the two differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <fstream>
#include <iterator>

#include <algorithm>
#include <optional>

#include "filter/filter.h"
#include "plan/plan.h"
#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::StepKind;

HostFacts with_arch(HostFacts host) {
  host.arch = filter::native_arch();
  return host;
}
HostFacts user_host() { return with_arch(samples::v2_session()); }

HostFacts without(Controller controller) {
  HostFacts host = user_host();
  host.cgroup.parent[static_cast<std::size_t>(controller)] = std::nullopt;
  return host;
}

Request program() {
  Request request;
  request.argv = {"/usr/bin/true"};
  return request;
}

Plan must_plan(const Policy& policy, const Request& request, const HostFacts& host) {
  auto plan = make_plan(policy, request, host);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : Plan{};
}

std::optional<std::uint64_t> rlimit(const Plan& plan, int resource) {
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kRlimit && step.x == static_cast<std::uint64_t>(resource)) return step.y;
  }
  return std::nullopt;
}

std::string cgroup_value(const Plan& plan, const std::string& file) {
  for (const CgroupSetting& setting : plan.cgroup) {
    if (setting.file == file) return setting.value;
  }
  return "none";
}

Standing standing(const Plan& plan, Guarantee g) {
  const auto line = std::ranges::find(plan.guarantees, g, &ReceiptLine::guarantee);
  if (line == plan.guarantees.end()) ADD_FAILURE() << "no line for " << to_string(g);
  return line == plan.guarantees.end() ? Standing::kAbsent : line->standing;
}

TEST(PlanLimits, N2_AnExplicitWallWins) {
  Policy policy;
  policy.limits.wall = Millis(1'234);
  Request request = program();
  EXPECT_EQ(must_plan(policy, request, user_host()).wall, Millis(1'234));
  request.cancellable = true;
  EXPECT_EQ(must_plan(policy, request, user_host()).wall, Millis(1'234));
}

TEST(PlanLimits, N2_WithoutAWallACancellableRunHasNoneAndAnyOther300Seconds) {
  Request request = program();
  EXPECT_EQ(must_plan({}, request, user_host()).wall, Millis(300'000));
  request.cancellable = true;
  EXPECT_EQ(must_plan({}, request, user_host()).wall, std::nullopt);
}

TEST(PlanLimits, P1_TheCgroupLimitIs512UnlessSet) {
  // Init is counted, too.
  EXPECT_EQ(cgroup_value(must_plan({}, program(), user_host()), "pids.max"), "513");
  EXPECT_EQ(cgroup_value(must_plan({}, program(), with_arch(samples::root_v1())), "pids.max"), "513");
  Policy policy;
  policy.limits.pids = 7;
  EXPECT_EQ(cgroup_value(must_plan(policy, program(), user_host()), "pids.max"), "8");
}

TEST(PlanLimits, P2_RlimitNprocIsAlwaysThereAsASecondLayer) {
  Policy process;
  process.tier = Tier::kProcess;
  process.trust = Trust::kMedium;
  Policy bwrap;
  bwrap.backend = BackendChoice::kBwrap;
  for (Policy policy : {Policy{}, process, bwrap}) {
    policy.limits.pids = 40;
    policy.limits.mode = LimitsMode::kBestEffort;
    for (const HostFacts& host :
         {with_arch(samples::root_v1()), with_arch(samples::v1_nothing_writable()), user_host()}) {
      const auto limit = rlimit(must_plan(policy, program(), host), RLIMIT_NPROC);
      ASSERT_TRUE(limit);
      EXPECT_GE(*limit, 41u);
      EXPECT_LE(*limit, 40u + 16u + host.user_tasks);
    }
  }
}

TEST(PlanLimits, N8_EveryLimitOfThePolicyReachesTheKernel) {
  Policy policy;
  policy.limits.memory = mebibytes(64);
  policy.limits.cpus = 0.5;
  policy.limits.files = 99;
  policy.limits.disk = mebibytes(3);
  policy.limits.inodes = 77;
  policy.limits.cpu_time = Millis(1'500);
  const Plan v2 = must_plan(policy, program(), user_host());
  EXPECT_EQ(cgroup_value(v2, "memory.max"), "67108864");
  EXPECT_EQ(cgroup_value(v2, "memory.swap.max"), "0");
  EXPECT_EQ(cgroup_value(v2, "memory.oom.group"), "1");
  EXPECT_EQ(cgroup_value(v2, "cpu.max"), "50000 100000");
  EXPECT_EQ(rlimit(v2, RLIMIT_NOFILE), 99u);
  EXPECT_EQ(rlimit(v2, RLIMIT_FSIZE), 3u << 20);
  EXPECT_EQ(rlimit(v2, RLIMIT_CORE), 1u);
  EXPECT_TRUE(rlimit(v2, RLIMIT_MEMLOCK));
  EXPECT_TRUE(rlimit(v2, RLIMIT_AS));
  EXPECT_EQ(rlimit(v2, RLIMIT_CPU), 3u);  // whole seconds, and one more: the supervisor's word comes first
  const auto scratch = std::ranges::find(v2.steps, StepKind::kScratch, &Step::kind);
  ASSERT_NE(scratch, v2.steps.end());
  EXPECT_EQ(scratch->x, 3u << 20);
  EXPECT_EQ(scratch->y, 77u);
  const Plan v1 = must_plan(policy, program(), with_arch(samples::root_v1()));
  EXPECT_EQ(cgroup_value(v1, "memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(cgroup_value(v1, "cpu.cfs_quota_us"), "50000");
}

// Only the file system says that it was full, so it has to be reached first; where there is none, a file is bounded.
TEST(PlanLimits, N8_OneFileIsBoundedBehindAFileSystemThatHoldsTheLimit) {
  constexpr std::uint64_t kLimit = 3U << 20;
  Policy policy;
  policy.limits.disk = mebibytes(3);
  policy.workspace.path = {"/srv/project"};
  policy.workspace.mode = WorkspaceMode::kCopy;
  HostFacts host = with_arch(samples::root_v1());
  WorkspaceFacts& facts = host.workspaces.emplace_back();
  facts.path = "/srv/project";
  facts.bytes = 1000;
  EXPECT_EQ(rlimit(must_plan(policy, program(), host), RLIMIT_FSIZE), kLimit + 1000);
  policy.workspace.scratch = WorkspaceScratch::kDisk;
  EXPECT_EQ(rlimit(must_plan(policy, program(), host), RLIMIT_FSIZE), kLimit) << "watched";
  policy.workspace.scratch = WorkspaceScratch::kMemory;
  policy.files.write = {"/srv/other"};
  EXPECT_EQ(rlimit(must_plan(policy, program(), host), RLIMIT_FSIZE), kLimit) << "watched, too";
}

// A host and a policy that agree but for one limit.
struct Lack {
  Guarantee guarantee;
  HostFacts host;
  Policy policy;
};

std::vector<Lack> lacks() {
  HostFacts no_pids = without(Controller::kPids);
  no_pids.nproc_per_namespace = false;
  Policy half;
  half.limits.cpus = 0.5;
  Policy timed;
  timed.limits.cpu_time = Millis(1'000);
  return {{Guarantee::kPids, no_pids, {}},
          {Guarantee::kMemory, without(Controller::kMemory), {}},
          {Guarantee::kCpuShare, without(Controller::kCpu), half},
          {Guarantee::kCpuTime, with_arch(samples::v1_nothing_writable()), timed}};
}

TEST(PlanLimits, X2_ALimitThatTheHostCannotGiveIsRefusedWithAHint) {
  for (const Lack& lack : lacks()) {
    auto refused = make_plan(lack.policy, program(), lack.host);
    ASSERT_FALSE(refused) << to_string(lack.guarantee);
    EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
    EXPECT_EQ(refused.error().step, to_string(lack.guarantee));
    EXPECT_THAT(refused.error().hint, HasSubstr("best-effort"));
    EXPECT_FALSE(refused.error().hint.starts_with("; ")) << refused.error().hint;
  }
}

TEST(PlanLimits, X2_BestEffortNamesEachLimitThatIsWeaker) {
  for (Lack lack : lacks()) {
    lack.policy.limits.mode = LimitsMode::kBestEffort;
    const Plan plan = must_plan(lack.policy, program(), lack.host);
    EXPECT_THAT(plan.weakenings, Contains(HasSubstr(std::string(to_string(lack.guarantee)) + ": ")));
    EXPECT_NE(standing(plan, lack.guarantee), Standing::kHeld);
  }
}

TEST(PlanLimits, X2_BestEffortExcusesLimitsOnly) {
  Policy policy;
  policy.limits.mode = LimitsMode::kBestEffort;
  auto refused = make_plan(policy, program(), with_arch(samples::without_landlock()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().step, "file-access");
  HostFacts no_filter = user_host();
  no_filter.seccomp_filter = false;
  EXPECT_FALSE(make_plan(policy, program(), no_filter));
  for (const HostFacts& host : {samples::container(), samples::ubuntu_apparmor(), samples::old_kernel()}) {
    auto stopped = make_plan(policy, program(), host);
    ASSERT_FALSE(stopped);
    EXPECT_FALSE(stopped.error().hint.empty());
  }
}

TEST(PlanLimits, WholeCpusAreHeldByAffinityAndPartsOfOneAreNot) {
  Policy policy;
  policy.limits.cpus = 2.0;
  const Plan whole = must_plan(policy, program(), without(Controller::kCpu));
  EXPECT_EQ(standing(whole, Guarantee::kCpuShare), Standing::kHeld);
  const auto affinity = std::ranges::find(whole.steps, StepKind::kAffinity, &Step::kind);
  ASSERT_NE(affinity, whole.steps.end());
  EXPECT_EQ(affinity->x, 2u);
  policy.limits.cpus = 1.5;
  EXPECT_FALSE(make_plan(policy, program(), without(Controller::kCpu)));
}

TEST(PlanLimits, GroupsAreKeptOnlyWhereThePolicySpellsItOut) {
  HostFacts host = user_host();
  host.supplementary_groups = 3;
  auto refused = make_plan({}, program(), host);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().step, "identity");
  Policy policy;
  policy.weaken = {Weakening::kSupplementaryGroups};
  const Plan plan = must_plan(policy, program(), host);
  EXPECT_EQ(standing(plan, Guarantee::kIdentity), Standing::kWeakened);
  EXPECT_THAT(plan.weakenings, Contains(HasSubstr("identity: ")));
}

TEST(PlanLimits, TheHostsNetworkIsListedAsAWeakening) {
  Policy policy;
  policy.net = NetMode::kHost;
  policy.weaken = {Weakening::kHostNetwork};
  const Plan plan = must_plan(policy, program(), user_host());
  EXPECT_EQ(standing(plan, Guarantee::kNetwork), Standing::kAbsent);
  EXPECT_THAT(plan.weakenings, Contains(HasSubstr("network: ")));
  EXPECT_THAT(must_plan({}, program(), user_host()).weakenings, IsEmpty());
}

TEST(PlanLimits, WhatIsNotAskedForIsNotPromised) {
  Request request = program();
  request.cancellable = true;
  for (const ReceiptLine& line : must_plan({}, request, user_host()).guarantees) {
    EXPECT_NE(line.guarantee, Guarantee::kWall);
    EXPECT_NE(line.guarantee, Guarantee::kCpuTime);
  }
}

TEST(PlanLimits, P6_TheLayersOfEveryLimitAreDocumented) {
  std::ifstream file(CLOCHE_SOURCE_DIR "/docs/limits.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* word :
       {"limits.wall", "limits.grace", "limits.cpu_time", "limits.cpus", "limits.memory", "limits.pids", "limits.files",
        "limits.output", "limits.disk", "limits.inodes", "pids.max", "RLIMIT_NPROC", "memory.max",
        "memory.limit_in_bytes", "RLIMIT_AS", "cpu.max", "cpu.cfs_quota_us"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace cloche
