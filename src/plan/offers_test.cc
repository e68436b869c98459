#include "plan/offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Backend kBackends[] = {Backend::kNone, Backend::kProcess, Backend::kNamespace, Backend::kBwrap};

std::vector<HostFacts> every_host() {
  return {HostFacts{},          samples::stock_user(),      samples::root_v1(),          samples::v2_session(),
          samples::container(), samples::ubuntu_apparmor(), samples::without_landlock(), samples::v1_nothing_writable(),
          samples::old_kernel()};
}

Offer offer_of(Backend backend, const HostFacts& host, Guarantee guarantee) {
  for (const Offer& offer : offers(backend, host)) {
    if (offer.guarantee == guarantee) return offer;
  }
  ADD_FAILURE() << "no offer for " << to_string(guarantee);
  return {};
}

Standing standing(Backend backend, const HostFacts& host, Guarantee guarantee) {
  return offer_of(backend, host, guarantee).standing;
}

TEST(Offers, EveryBackendAnswersEveryGuaranteeInOrder) {
  for (const HostFacts& host : every_host()) {
    for (const Backend backend : kBackends) {
      const auto list = offers(backend, host);
      ASSERT_EQ(list.size(), kGuaranteeCount);
      for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].guarantee, all_guarantees()[i]);
    }
  }
}

TEST(Offers, X2_WhatIsNotHeldSaysWhatToChangeAndWhatIsHeldDoesNot) {
  for (const HostFacts& host : every_host()) {
    for (const Backend backend : kBackends) {
      for (const Offer& offer : offers(backend, host)) {
        EXPECT_FALSE(offer.mechanism.empty()) << to_string(offer.guarantee);
        EXPECT_EQ(offer.hint.empty(), offer.standing == Standing::kHeld) << to_string(offer.guarantee);
      }
    }
  }
}

TEST(Offers, H8_BackendNoneHoldsOnlyTimeAndOutput) {
  for (const Offer& offer : offers(Backend::kNone, samples::root_v1())) {
    const bool watched = offer.guarantee == Guarantee::kWall || offer.guarantee == Guarantee::kOutput;
    EXPECT_EQ(offer.standing, watched ? Standing::kHeld : Standing::kAbsent) << to_string(offer.guarantee);
  }
}

TEST(Offers, RootWithV1HoldsEverythingInNamespaces) {
  for (const Offer& offer : offers(Backend::kNamespace, samples::root_v1())) {
    EXPECT_EQ(offer.standing, Standing::kHeld) << to_string(offer.guarantee) << ": " << offer.mechanism;
  }
}

TEST(Offers, UserWithDelegatedV2HoldsEverythingInNamespaces) {
  for (const Offer& offer : offers(Backend::kNamespace, samples::v2_session())) {
    EXPECT_EQ(offer.standing, Standing::kHeld) << to_string(offer.guarantee) << ": " << offer.mechanism;
  }
  EXPECT_THAT(offer_of(Backend::kNamespace, samples::v2_session(), Guarantee::kTreeKill).mechanism,
              HasSubstr("cgroup.kill"));
}

TEST(Offers, GroupsOfAnOrdinaryUserWeakenItsIdentity) {
  const Offer offer = offer_of(Backend::kNamespace, samples::stock_user(), Guarantee::kIdentity);
  EXPECT_EQ(offer.standing, Standing::kWeakened);
  EXPECT_THAT(offer.hint, HasSubstr("supplementary-groups"));
  HostFacts without = samples::stock_user();
  without.supplementary_groups = 0;
  EXPECT_EQ(standing(Backend::kNamespace, without, Guarantee::kIdentity), Standing::kHeld);
}

TEST(Offers, RootNeedsEnoughIdsForAUidOfItsOwn) {
  HostFacts host = samples::root_v1();
  host.uid_span = 0x71400000ull;
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kIdentity), Standing::kAbsent);
  host.uid_span += 1;
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kIdentity), Standing::kHeld);
}

TEST(Offers, P2_ProcessesAreCountedWithoutCgroups) {
  HostFacts host = samples::v1_nothing_writable();
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kPids), Standing::kHeld);
  EXPECT_EQ(standing(Backend::kProcess, host, Guarantee::kPids), Standing::kWeakened);
  host.nproc_per_namespace = false;
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kPids), Standing::kWeakened);
  HostFacts root = samples::root_v1();
  root.cgroup = {};
  EXPECT_EQ(standing(Backend::kProcess, root, Guarantee::kPids), Standing::kHeld);
}

TEST(Offers, EachMissingControllerWeakensItsOwnLimitOnly) {
  const struct {
    Controller controller;
    Guarantee guarantee;
  } pairs[] = {{Controller::kMemory, Guarantee::kMemory},
               {Controller::kCpu, Guarantee::kCpuShare},
               {Controller::kCpuAcct, Guarantee::kCpuTime}};
  for (const auto& pair : pairs) {
    HostFacts host = samples::root_v1();
    host.cgroup.parent[static_cast<std::size_t>(pair.controller)].reset();
    for (const Offer& offer : offers(Backend::kNamespace, host)) {
      const bool lacks = offer.guarantee == pair.guarantee;
      EXPECT_EQ(offer.standing, lacks ? Standing::kWeakened : Standing::kHeld) << to_string(offer.guarantee);
      if (lacks) {
        EXPECT_THAT(offer.hint, HasSubstr(std::string(to_string(pair.controller))));
      }
    }
  }
}

TEST(Offers, MissingCpuControllerInV2IsNamed) {
  HostFacts host = samples::v2_session();
  host.cgroup.parent[static_cast<std::size_t>(Controller::kCpu)].reset();
  const Offer share = offer_of(Backend::kNamespace, host, Guarantee::kCpuShare);
  EXPECT_EQ(share.standing, Standing::kWeakened);
  EXPECT_THAT(share.hint, HasSubstr("cpu controller"));
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kCpuTime), Standing::kHeld);
}

TEST(Offers, MaskedProcMeansNoProcAndIsStillHeld) {
  HostFacts host = samples::root_v1();
  host.proc_mountable = false;
  const Offer offer = offer_of(Backend::kNamespace, host, Guarantee::kProcView);
  EXPECT_EQ(offer.standing, Standing::kHeld);
  EXPECT_EQ(offer.mechanism, "no /proc at all");
}

TEST(Offers, BwrapCannotCapInodesNorHideKernelSettings) {
  const HostFacts host = samples::root_v1();
  EXPECT_EQ(standing(Backend::kBwrap, host, Guarantee::kDisk), Standing::kWeakened);
  EXPECT_EQ(standing(Backend::kBwrap, host, Guarantee::kProcView), Standing::kHeld);
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kDisk), Standing::kHeld);
}

TEST(Offers, X3_BwrapDoesNotClaimDevicesThatItBindsUnchecked) {
  for (const HostFacts& host : every_host()) {
    const Offer offer = offer_of(Backend::kBwrap, host, Guarantee::kDevices);
    EXPECT_EQ(offer.standing, Standing::kWeakened) << "as attacks/31 and 32 say of it";
    EXPECT_NE(offer.hint, "");
    EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kDevices), Standing::kHeld);
  }
}

TEST(Offers, TierZeroNeverClaimsWhatNeedsANamespace) {
  for (const Guarantee guarantee :
       {Guarantee::kProcesses, Guarantee::kFileSystem, Guarantee::kHostname, Guarantee::kDevices, Guarantee::kDisk}) {
    for (const HostFacts& host : every_host()) {
      EXPECT_NE(standing(Backend::kProcess, host, guarantee), Standing::kHeld) << to_string(guarantee);
    }
  }
}

TEST(Offers, TierZeroTreeKillNeedsACgroupOrScopedSignals) {
  HostFacts host = samples::v1_nothing_writable();
  EXPECT_EQ(standing(Backend::kProcess, host, Guarantee::kTreeKill), Standing::kHeld);
  host.landlock_abi = 5;
  EXPECT_EQ(standing(Backend::kProcess, host, Guarantee::kTreeKill), Standing::kWeakened);
  HostFacts root = samples::root_v1();
  root.landlock_abi = 0;
  EXPECT_EQ(standing(Backend::kProcess, root, Guarantee::kTreeKill), Standing::kHeld);
}

TEST(Offers, WithoutLandlockFileAccessIsAbsent) {
  const HostFacts host = samples::without_landlock();
  const Offer offer = offer_of(Backend::kNamespace, host, Guarantee::kFileAccess);
  EXPECT_EQ(offer.standing, Standing::kAbsent);
  EXPECT_THAT(offer.hint, HasSubstr("lsm="));
  EXPECT_EQ(standing(Backend::kProcess, host, Guarantee::kFileSystem), Standing::kAbsent);
  EXPECT_THAT(offer_of(Backend::kNamespace, samples::old_kernel(), Guarantee::kFileAccess).hint, HasSubstr("5.13"));
}

TEST(Offers, WithoutSeccompTheFilterIsAbsentAndTierZeroHasTheHostsNetwork) {
  HostFacts host = samples::root_v1();
  host.seccomp_filter = false;
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kSystemCalls), Standing::kAbsent);
  EXPECT_EQ(standing(Backend::kProcess, host, Guarantee::kNetwork), Standing::kAbsent);
  EXPECT_EQ(standing(Backend::kNamespace, host, Guarantee::kNetwork), Standing::kHeld);
}

TEST(Offers, X2_EachLackHasItsOwnHint) {
  const auto memory_hint = [](const HostFacts& host) {
    return offer_of(Backend::kNamespace, host, Guarantee::kMemory).hint;
  };
  HostFacts no_cgroups = samples::stock_user();
  no_cgroups.cgroup.why_not = "no cgroup file system is mounted";
  HostFacts bad_name = samples::stock_user();
  bad_name.cgroup.why_not = "CLOCHE_CGROUP is not a relative name such as team/x";
  const std::string v1 = memory_hint(samples::v1_nothing_writable());
  const std::string v2 = memory_hint(samples::stock_user());
  EXPECT_THAT(v1, HasSubstr("/sys/fs/cgroup/$c/cloche-1000"));
  EXPECT_THAT(v2, HasSubstr("Delegate=yes"));
  EXPECT_THAT(memory_hint(no_cgroups), HasSubstr("mount -t cgroup2"));
  EXPECT_THAT(memory_hint(bad_name), HasSubstr("CLOCHE_CGROUP"));
  const std::set<std::string> hints = {v1, v2, memory_hint(no_cgroups), memory_hint(bad_name)};
  EXPECT_EQ(hints.size(), 4u);
}

TEST(Obstacle, X2_EachCauseNamesItselfAndItsRemedy) {
  HostFacts no_init = samples::stock_user();
  no_init.init.reset();
  HostFacts few_files = samples::stock_user();
  few_files.open_files = 127;
  HostFacts no_bwrap = samples::stock_user();
  no_bwrap.bwrap.reset();
  HostFacts root_who_may_not_trace = samples::stock_user();
  root_who_may_not_trace.is_root = true;
  root_who_may_not_trace.may_trace = false;
  HostFacts set_uid = samples::stock_user();
  set_uid.set_uid_program = true;
  const struct {
    Backend backend;
    HostFacts host;
    std::string what;
    std::string hint;
  } cases[] = {
      {Backend::kNamespace, no_init, "cloche-init", "CLOCHE_INIT"},
      {Backend::kBwrap, no_bwrap, "bwrap", "apt install bubblewrap"},
      {Backend::kBwrap, root_who_may_not_trace, "CAP_SYS_PTRACE", "use backend native"},
      {Backend::kProcess, few_files, "127 files", "ulimit -n"},
      {Backend::kNone, set_uid, "set-uid", "set-uid"},
      {Backend::kNamespace, samples::without_user_namespaces("kernel.unprivileged_userns_clone is 0"),
       "kernel.unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1"},
      {Backend::kNamespace, samples::without_user_namespaces("user.max_user_namespaces is 0"),
       "user.max_user_namespaces", "user.max_user_namespaces="},
      {Backend::kNamespace, samples::ubuntu_apparmor(), "apparmor", "kernel.apparmor_restrict_unprivileged_userns=0"},
      {Backend::kNamespace, samples::container(), "system-call filter", "--security-opt seccomp=unconfined"},
      {Backend::kNamespace, samples::without_user_namespaces(""), "user namespaces", "CONFIG_USER_NS"},
      {Backend::kNamespace, samples::old_kernel(), "mount API", "5.12"},
  };
  std::set<std::string> hints;
  for (const auto& c : cases) {
    const auto found = obstacle(c.backend, c.host);
    ASSERT_TRUE(found) << c.what;
    EXPECT_THAT(found->what, HasSubstr(c.what));
    EXPECT_THAT(found->hint, HasSubstr(c.hint));
    hints.insert(found->hint);
  }
  EXPECT_EQ(hints.size(), std::size(cases));
}

TEST(Obstacle, NewKernelWithoutMountApiBlamesTheFilterAroundIt) {
  HostFacts host = samples::stock_user();
  host.mount_api = false;
  const auto found = obstacle(Backend::kNamespace, host);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->hint, HasSubstr("seccomp=unconfined"));
  EXPECT_THAT(found->hint, Not(HasSubstr("5.12")));
}

TEST(Obstacle, TierZeroStartsWithoutNamespaces) {
  for (const HostFacts& host : {samples::container(), samples::ubuntu_apparmor(), samples::old_kernel()}) {
    EXPECT_FALSE(obstacle(Backend::kProcess, host));
    EXPECT_TRUE(obstacle(Backend::kNamespace, host));
  }
}

TEST(Obstacle, SetUidIsRefusedByEveryBackend) {
  HostFacts host = samples::root_v1();
  host.set_uid_program = true;
  for (const Backend backend : kBackends) EXPECT_TRUE(obstacle(backend, host));
}

TEST(Obstacle, WholeHostHasNone) {
  for (const Backend backend : kBackends) EXPECT_FALSE(obstacle(backend, samples::root_v1()));
}

TEST(HostFacts, KernelReleasesCompareByNumber) {
  EXPECT_TRUE(kernel_at_least("5.14.0-1-amd64", 5, 14));
  EXPECT_TRUE(kernel_at_least("6.1", 5, 14));
  EXPECT_FALSE(kernel_at_least("5.9.1", 5, 14));
  EXPECT_FALSE(kernel_at_least("4.19", 5, 14));
  for (const char* bad : {"", "unknown", "6", "6.", ".6", "99999999999.1"}) EXPECT_FALSE(kernel_at_least(bad, 0, 0));
}

}  // namespace
}  // namespace cloche
