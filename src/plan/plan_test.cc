#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "filter/filter.h"
#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using wire::StepKind;

HostFacts with_arch(HostFacts host) {
  host.arch = filter::native_arch();
  return host;
}
HostFacts root_host() { return with_arch(samples::root_v1()); }
HostFacts user_host() { return with_arch(samples::v2_session()); }

Request program(std::vector<std::string> argv = {"/usr/bin/true"}) {
  Request request;
  request.argv = std::move(argv);
  request.home = "/home/me";
  return request;
}

Plan must_plan(const Policy& policy, const Request& request, const HostFacts& host) {
  auto plan = make_plan(policy, request, host);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : Plan{};
}

Policy process_policy() {
  Policy policy;
  policy.tier = Tier::kProcess;
  policy.trust = Trust::kMedium;
  return policy;
}

Policy bwrap_policy() {
  Policy policy;
  policy.backend = BackendChoice::kBwrap;
  return policy;
}

Policy unconfined_policy() {
  Policy policy;
  policy.backend = BackendChoice::kNone;
  policy.development = true;
  policy.weaken = {Weakening::kNoBackend};
  return policy;
}

// Position of the first or the last step of a kind; -1 if there is none.
int first(const Plan& plan, StepKind kind) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}
int last(const Plan& plan, StepKind kind) {
  for (std::size_t i = plan.steps.size(); i-- > 0;) {
    if (plan.steps[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}
std::vector<Step> all(const Plan& plan, StepKind kind) {
  std::vector<Step> out;
  std::ranges::copy_if(plan.steps, std::back_inserter(out), [&](const Step& s) { return s.kind == kind; });
  return out;
}

std::vector<Plan> confined_plans() {
  std::vector<Plan> out;
  for (const HostFacts& host : {root_host(), user_host()}) {
    for (const Policy& policy : {Policy{}, process_policy(), bwrap_policy()}) {
      out.push_back(must_plan(policy, program(), host));
    }
  }
  return out;
}

TEST(PlanOrder, IdentityComesBeforeEveryMount) {
  const Plan plan = must_plan({}, program(), root_host());
  const int identity = first(plan, StepKind::kIdentity);
  ASSERT_GE(identity, 0);
  for (const StepKind kind : {StepKind::kNewRoot, StepKind::kScratch, StepKind::kBind, StepKind::kScratchDir,
                              StepKind::kDevice, StepKind::kProc, StepKind::kFile, StepKind::kDir}) {
    if (first(plan, kind) >= 0) {
      EXPECT_LT(identity, first(plan, kind)) << describe(plan.steps[static_cast<std::size_t>(first(plan, kind))]);
    }
  }
}

TEST(PlanOrder, ParentDeathComesAfterTheLastChangeOfCredentials) {
  for (const Plan& plan : confined_plans()) {
    ASSERT_GE(first(plan, StepKind::kParentDeath), 0);
    EXPECT_GT(first(plan, StepKind::kParentDeath), last(plan, StepKind::kIdentity));
  }
}

TEST(PlanOrder, TheViewIsCompleteBeforeThePivotAndLandlockComesAfterIt) {
  Policy policy;
  policy.files.read = {"/srv/data"};
  for (const HostFacts& host : {root_host(), user_host()}) {
    const Plan plan = must_plan(policy, program(), host);
    const int pivot = first(plan, StepKind::kPivot);
    ASSERT_GE(pivot, 0);
    for (const StepKind kind :
         {StepKind::kNewRoot, StepKind::kScratch, StepKind::kDir, StepKind::kSymlink, StepKind::kFile, StepKind::kBind,
          StepKind::kBindFd, StepKind::kScratchDir, StepKind::kDevice, StepKind::kProc, StepKind::kPts}) {
      EXPECT_LT(last(plan, kind), pivot);
    }
    EXPECT_LT(pivot, first(plan, StepKind::kRootReadOnly));
    EXPECT_LT(pivot, first(plan, StepKind::kLandlock));
    EXPECT_LT(pivot, first(plan, StepKind::kLandlockRule));
  }
}

TEST(PlanOrder, LandlockRulesStandBetweenItsStartAndItsRestriction) {
  for (const Plan& plan : confined_plans()) {
    EXPECT_EQ(all(plan, StepKind::kLandlock).size(), 1u);
    EXPECT_EQ(all(plan, StepKind::kLandlockRestrict).size(), 1u);
    EXPECT_LT(first(plan, StepKind::kNoNewPrivs), first(plan, StepKind::kLandlock));
    EXPECT_LT(first(plan, StepKind::kLandlock), first(plan, StepKind::kLandlockRule));
    EXPECT_LT(last(plan, StepKind::kLandlockRule), first(plan, StepKind::kLandlockRestrict));
  }
}

TEST(PlanOrder, TheFilterIsTheLastStepBeforeExec) {
  for (const Plan& plan : confined_plans()) {
    ASSERT_GE(plan.steps.size(), 2u);
    EXPECT_EQ(plan.steps.back().kind, StepKind::kExec);
    EXPECT_EQ(plan.steps[plan.steps.size() - 2].kind, StepKind::kFilter);
    ASSERT_EQ(all(plan, StepKind::kFilter).size(), 1u);
    EXPECT_FALSE(all(plan, StepKind::kFilter).front().data.empty());
    EXPECT_GE(first(plan, StepKind::kNoNewPrivs), 0);
    EXPECT_LT(first(plan, StepKind::kNoNewPrivs), first(plan, StepKind::kFilter));
  }
}

TEST(PlanOrder, CapabilitiesAndLimitsAreSettledBeforeTheGuestExists) {
  for (const Plan& plan : confined_plans()) {
    const int guest = first(plan, StepKind::kGuestSession);
    ASSERT_GE(guest, 0);
    ASSERT_GE(first(plan, StepKind::kRlimit), 0);
    EXPECT_LT(last(plan, StepKind::kRlimit), guest);
    // The guest-to-be pins itself, and before the filter forbids it.
    EXPECT_LT(last(plan, StepKind::kAffinity), first(plan, StepKind::kFilter));
    EXPECT_LT(last(plan, StepKind::kKeyring), guest);
    EXPECT_LT(last(plan, StepKind::kDropCapabilities), guest);
    if (plan.tier == Tier::kNamespace || plan.own_host_uid) {
      EXPECT_GE(first(plan, StepKind::kDropCapabilities), 0);
    }
    // Init performs its own steps before it makes the guest, whatever their place in the list: so their place must
    // not promise anything else.
    for (std::size_t i = static_cast<std::size_t>(guest); i < plan.steps.size(); ++i) {
      EXPECT_GE(plan.steps[i].kind, StepKind::kGuestSession) << describe(plan.steps[i]);
    }
  }
}

TEST(Plan, C44_TheMasksOverProcArePartOfTheBwrapPlan) {
  HostFacts host = user_host();
  host.proc_entries = {"cpuinfo", "kallsyms", "sys/"};
  const std::vector<std::string> args = must_plan(bwrap_policy(), program(), host).bwrap_args;
  const auto follows = [&](std::vector<std::string> words) { return std::ranges::search(args, words).begin(); };
  const auto proc = follows({"--proc", "/proc"});
  const auto folder = follows({"--tmpfs", "/proc/sys", "--remount-ro", "/proc/sys"});
  const auto file = follows({"--ro-bind", "/dev/null", "/proc/kallsyms"});
  ASSERT_TRUE(proc != args.end() && folder != args.end() && file != args.end());
  EXPECT_LT(proc, std::min(folder, file)) << "a mask must lie on the procfs and not below it";
  EXPECT_EQ(std::ranges::find(args, "/proc/cpuinfo"), args.end()) << "runtimes read it";
  host.proc_mountable = false;
  EXPECT_THAT(must_plan(bwrap_policy(), program(), host).bwrap_args, Not(Contains("/proc/sys")));
}

// The supervisor's own share, and what a namespace or bwrap gives by existing.
bool served_without_a_step(Guarantee g, const Plan& plan) {
  const bool namespaced = plan.tier == Tier::kNamespace;
  const auto unshared = [&](std::uint64_t flag, const char* bwrap_word) {
    return (plan.namespaces & flag) != 0 || std::ranges::find(plan.bwrap_args, bwrap_word) != plan.bwrap_args.end();
  };
  switch (g) {
    case Guarantee::kWall:
    case Guarantee::kOutput:
      return true;
    case Guarantee::kEnvironment:
      return !plan.env.empty();
    case Guarantee::kTreeKill:
    case Guarantee::kProcesses:
      return namespaced && unshared(CLONE_NEWPID, "--unshare-pid");
    case Guarantee::kNetwork:
      return namespaced ? unshared(CLONE_NEWNET, "--unshare-net") : first(plan, StepKind::kFilter) >= 0;
    case Guarantee::kIpc:
      return namespaced ? unshared(CLONE_NEWIPC, "--unshare-ipc") : first(plan, StepKind::kFilter) >= 0;
    case Guarantee::kHostname:
      return namespaced && unshared(CLONE_NEWUTS, "--unshare-uts");
    case Guarantee::kIdentity:
      return unshared(CLONE_NEWUSER, "--unshare-user") || !plan.own_host_uid;
    case Guarantee::kFileSystem:
    case Guarantee::kDevices:
      return plan.backend == Backend::kBwrap && !plan.bwrap_args.empty();
    case Guarantee::kProcView:
      return plan.backend == Backend::kBwrap || first(plan, StepKind::kLandlockRestrict) >= 0;
    case Guarantee::kCpuTime:  // version 2 counts it in every group
      return !plan.cgroup.empty();
    default:
      return false;
  }
}

TEST(Plan, X1_EveryHeldGuaranteeIsServedByAStepACgroupOrTheSupervisor) {
  for (const HostFacts& host : {root_host(), user_host()}) {
    Policy with_workspace;
    with_workspace.workspace.path = {"/srv/project"};
    for (Policy policy : {Policy{}, with_workspace, process_policy(), bwrap_policy()}) {
      policy.limits.cpu_time = Millis(10'000);
      const Plan plan = must_plan(policy, program(), host);
      EXPECT_EQ(plan.guarantees.size(), kGuaranteeCount - (policy.workspace.path.empty() ? 3 : 2));
      for (const ReceiptLine& line : plan.guarantees) {
        if (line.standing != Standing::kHeld) continue;
        const bool by_step = std::ranges::any_of(plan.steps, [&](const Step& s) { return s.serves == line.guarantee; });
        const bool by_cgroup =
            std::ranges::any_of(plan.cgroup, [&](const CgroupSetting& s) { return s.serves == line.guarantee; });
        EXPECT_TRUE(by_step || by_cgroup || served_without_a_step(line.guarantee, plan))
            << to_string(line.guarantee) << " on " << to_string(plan.backend);
      }
    }
  }
}

TEST(Plan, IsAPureFunctionOfItsInputs) {
  Policy policy;
  policy.files.read = {"~/sdk", "/srv"};
  Request request = program();
  request.env = {{"LANG", "de_DE.UTF-8"}};
  for (const HostFacts& host : {root_host(), user_host()}) {
    EXPECT_EQ(must_plan(policy, request, host), must_plan(policy, request, host));
  }
  EXPECT_NE(must_plan(policy, request, root_host()), must_plan(policy, request, user_host()));
}

TEST(Plan, GrantsAreSortedSoThatTheShorterPathComesFirst) {
  Policy policy;
  policy.files.read = {"/srv/data/deep/er"};
  policy.files.exec = {"/srv/data"};
  policy.files.write = {"/srv/data/deep"};
  std::vector<std::string> bound;
  for (const Step& step : all(must_plan(policy, program(), user_host()), StepKind::kBind)) {
    if (step.b.starts_with("/srv")) bound.push_back(step.b);
  }
  EXPECT_THAT(bound, ElementsAre("/srv/data", "/srv/data/deep", "/srv/data/deep/er"));
  std::vector<std::string> cloned;
  for (const Step& step : all(must_plan(policy, program(), root_host()), StepKind::kBindFd)) cloned.push_back(step.b);
  EXPECT_THAT(cloned, ElementsAre("/srv/data", "/srv/data/deep", "/srv/data/deep/er"));
}

TEST(Plan, ARootEngineClonesGrantsAndAnOrdinaryUserBindsThem) {
  Policy policy;
  policy.files.read = {"~/sdk"};
  policy.files.write = {"/srv/output"};
  const Plan root = must_plan(policy, program(), root_host());
  EXPECT_THAT(root.host_mounts, ElementsAre(HostMount{"/srv/output", true}, HostMount{"/home/me/sdk", false}));
  const auto cloned = all(root, StepKind::kBindFd);
  ASSERT_EQ(cloned.size(), 2u);
  for (const Step& step : cloned) EXPECT_EQ(root.host_mounts.at(step.y).path, step.b);
  EXPECT_EQ(cloned[0].x & wire::kReadOnly, 0u);
  EXPECT_NE(cloned[1].x & wire::kReadOnly, 0u);

  const Plan user = must_plan(policy, program(), user_host());
  EXPECT_THAT(user.host_mounts, IsEmpty());
  EXPECT_THAT(all(user, StepKind::kBindFd), IsEmpty());
  EXPECT_TRUE(std::ranges::any_of(all(user, StepKind::kBind), [](const Step& s) { return s.b == "/home/me/sdk"; }));
}

TEST(Plan, R2_AScriptGoesInByContent) {
  Request request = program({"--flag"});
  request.script = Script{"x.py", "/usr/bin/python3", {"-I"}, "print('hello')\n"};
  for (const Policy& policy : {Policy{}, process_policy()}) {
    const Plan plan = must_plan(policy, request, user_host());
    const auto files = all(plan, StepKind::kFile);
    const auto script = std::ranges::find(files, "cell/x.py", &Step::a);
    ASSERT_NE(script, files.end());
    EXPECT_EQ(script->data, "print('hello')\n");
    EXPECT_EQ(plan.program, "/usr/bin/python3");
    ASSERT_EQ(plan.argv.size(), 4u);
    EXPECT_EQ(plan.argv[1], "-I");
    EXPECT_TRUE(plan.argv[2].ends_with("/cell/x.py")) << plan.argv[2];
    EXPECT_EQ(plan.argv[3], "--flag");
  }
  const Plan bwrap = must_plan(bwrap_policy(), request, user_host());
  EXPECT_THAT(bwrap.bwrap_data, Contains("print('hello')\n"));
}

TEST(Plan, N5_TheEnvironmentNeverCarriesDangerousNames) {
  Policy policy;
  policy.env.pass = {"*", "LD_PRELOAD", "PYTHONPATH", "GOOD"};
  Request request = program();
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV",
                           "GIT_SSH_COMMAND", "GLIBC_TUNABLES"}) {
    request.env[name] = "evil";
  }
  request.env["GOOD"] = "yes";
  const Plan plan = must_plan(policy, request, user_host());
  EXPECT_THAT(plan.env, Contains(Pair("GOOD", "yes")));
  for (const auto& [name, value] : plan.env) EXPECT_NE(value, "evil") << name;
  policy.env.pass = {};
  for (const auto& [name, value] : must_plan(policy, request, user_host()).env) EXPECT_NE(name, "GOOD");
}

TEST(Plan, ATerminalNeedsTierOne) {
  Request request = program();
  request.tty = true;
  const Plan plan = must_plan({}, request, user_host());
  EXPECT_TRUE(plan.tty);
  EXPECT_FALSE(all(plan, StepKind::kPts).empty());
  EXPECT_EQ(all(plan, StepKind::kGuestSession).front().x, 1u);
  EXPECT_TRUE(all(must_plan({}, program(), user_host()), StepKind::kPts).empty());
  for (const Policy& policy : {process_policy(), unconfined_policy()}) {
    auto refused = make_plan(policy, request, user_host());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

TEST(Plan, H9_LowTrustNeverRunsBelowTierOne) {
  Policy policy;
  policy.tier = Tier::kProcess;
  policy.trust = Trust::kLow;
  auto refused = make_plan(policy, program(), root_host());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_THAT(refused.error().hint, HasSubstr("namespace"));
  policy.trust = Trust::kMedium;
  EXPECT_EQ(must_plan(policy, program(), root_host()).tier, Tier::kProcess);
}

TEST(Plan, H8_NoBackendNeedsDevelopmentAndTheWordAndIsListedAsAWeakening) {
  for (const auto& take_away : std::vector<std::function<void(Policy&)>>{
           [](Policy& p) { p.development = false; }, [](Policy& p) { p.weaken.clear(); },
           [](Policy& p) { p.weaken = {Weakening::kHostNetwork}; }}) {
    Policy policy = unconfined_policy();
    take_away(policy);
    auto refused = make_plan(policy, program(), user_host());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
    EXPECT_THAT(refused.error().hint, HasSubstr("no-backend"));
  }
  const Plan plan = must_plan(unconfined_policy(), program(), user_host());
  EXPECT_EQ(plan.backend, Backend::kNone);
  for (const Guarantee g : {Guarantee::kFileSystem, Guarantee::kNetwork, Guarantee::kSystemCalls, Guarantee::kMemory}) {
    EXPECT_THAT(plan.weakenings, Contains(HasSubstr(std::string(to_string(g)) + ": ")));
  }
}

TEST(Plan, X2_TheContainerAndMicroVmTiersAreRefusedWithAHint) {
  for (const Tier tier : {Tier::kContainer, Tier::kMicroVm}) {
    Policy policy;
    policy.tier = tier;
    auto refused = make_plan(policy, program(), root_host());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
    EXPECT_THAT(refused.error().message, HasSubstr(std::string(to_string(tier))));
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

TEST(Plan, AProgramThatIsNoAbsolutePathIsRefused) {
  for (const char* name : {"", "true", "./true"}) EXPECT_FALSE(make_plan({}, program({name}), user_host()));
  EXPECT_FALSE(make_plan({}, program({}), user_host()));
}

}  // namespace
}  // namespace cloche
