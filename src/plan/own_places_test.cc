#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "filter/filter.h"
#include "plan/plan.h"
#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::StepKind;

constexpr const char* kState = "/home/me/.local/state/cloche";

HostFacts host(bool root = false) {
  HostFacts out = root ? samples::root_v1() : samples::v2_session();
  out.arch = filter::native_arch();
  out.own_places = {{kState, kState, true, true}};
  return out;
}

Request request() {
  Request out;
  out.argv = {"/usr/bin/true"};
  out.home = "/home/me";
  return out;
}

Policy reading(std::vector<std::string> paths) {
  Policy policy;
  policy.files.read = std::move(paths);
  return policy;
}

std::vector<Step> steps_on(const Plan& plan, const std::string& path) {
  std::vector<Step> out;
  std::ranges::copy_if(plan.steps, std::back_inserter(out), [&](const Step& s) { return s.b == path; });
  return out;
}

TEST(OwnPlaces, TheStateDirectoryInsideOfAGrantIsHiddenAfterTheLastGrantAndBeforeThePivot) {
  for (const bool root : {false, true}) {
    auto plan = make_plan(reading({"~", "/home/me/.local"}), request(), host(root));
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_THAT(plan->hidden, ElementsAre(kState));
    const auto at = [&](StepKind kind) {
      const auto found = std::ranges::find(plan->steps.rbegin(), plan->steps.rend(), kind, &Step::kind);
      return plan->steps.rend() - found;
    };
    EXPECT_GT(at(StepKind::kHide), at(root ? StepKind::kBindFd : StepKind::kBind));
    EXPECT_LT(at(StepKind::kHide), at(StepKind::kPivot));
    ASSERT_EQ(steps_on(*plan, kState).size(), 1u);
    EXPECT_EQ(steps_on(*plan, kState).front().serves, Guarantee::kFileSystem);
    EXPECT_THAT(describe(steps_on(*plan, kState).front()), HasSubstr(kState));
  }
}

TEST(OwnPlaces, BwrapHidesItInTheSameWay) {
  Policy policy = reading({"~"});
  policy.backend = BackendChoice::kBwrap;
  auto plan = make_plan(policy, request(), host());
  ASSERT_TRUE(plan) << plan.error().text();
  const auto grant = std::ranges::find(plan->bwrap_args, "/home/me");
  const auto hide = std::ranges::find(plan->bwrap_args, kState);
  ASSERT_NE(hide, plan->bwrap_args.end());
  EXPECT_LT(grant, hide);
  EXPECT_EQ(*(hide - 1), "--tmpfs");
  EXPECT_EQ(*(hide + 1), "--remount-ro");
}

TEST(OwnPlaces, WhatLiesBetweenAWritableGrantAndItCannotBeMovedAway) {
  Policy policy;
  policy.files.write = {"~"};
  auto plan = make_plan(policy, request(), host());
  ASSERT_TRUE(plan) << plan.error().text();
  for (const char* folder : {"/home/me/.local", "/home/me/.local/state"}) {
    ASSERT_EQ(steps_on(*plan, folder).size(), 1u) << folder;
    EXPECT_EQ(steps_on(*plan, folder).front().x & wire::kReadOnly, 0u);
  }
  policy.files.read = {"/home/me/.local"};
  plan = make_plan(policy, request(), host());
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(steps_on(*plan, "/home/me/.local").size(), 1u) << "is a mount of its own as a grant";
  EXPECT_THAT(steps_on(*plan, "/home/me/.local/state"), IsEmpty()) << "cannot be moved where nothing can be written";
}

TEST(OwnPlaces, AGrantOfItOrOfSomethingInItIsRefusedOnEveryTier) {
  for (const std::string& path : {std::string(kState), std::string(kState) + "/runs"}) {
    Policy policy = reading({path});
    for (const auto tier : {Tier::kNamespace, Tier::kProcess}) {
      policy.tier = tier;
      policy.trust = Trust::kMedium;
      auto plan = make_plan(policy, request(), host());
      ASSERT_FALSE(plan) << path;
      EXPECT_EQ(plan.error().code, ErrorCode::kRefused);
      EXPECT_THAT(plan.error().message, HasSubstr("state directory"));
    }
  }
  EXPECT_TRUE(make_plan(reading({std::string(kState) + "-other"}), request(), host()));
}

TEST(OwnPlaces, NothingOfItIsPutIn) {
  for (const char* from : {kState, "/home/me/.local/state/cloche/apply.key", "/home/me"}) {
    Request with = request();
    with.puts = {{from, "/work/x"}};
    auto plan = make_plan({}, with, host());
    ASSERT_FALSE(plan) << from;
    EXPECT_EQ(plan.error().code, ErrorCode::kRefused);
  }
}

TEST(OwnPlaces, TierProcessRefusesWhatItCannotHide) {
  Policy policy = reading({"~"});
  policy.tier = Tier::kProcess;
  policy.trust = Trust::kMedium;
  auto plan = make_plan(policy, request(), host());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kRefused);
  EXPECT_THAT(plan.error().hint, HasSubstr("beside it"));
}

TEST(OwnPlaces, OneThatIsNotThereIsHiddenOnlyIfThisRunMakesIt) {
  HostFacts facts = host();
  facts.own_places = {{kState, kState, false, true}, {"/home/me/other", "/home/me/other", false, false}};
  auto plan = make_plan(reading({"~"}), request(), facts);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->hidden, ElementsAre(kState));
}

TEST(OwnPlaces, OneInsideOfAnotherIsHiddenByThat) {
  HostFacts facts = host();
  facts.own_places.push_back({"/home/me/.local/state", "/home/me/.local/state", true, false});
  facts.own_places.push_back({"/home/me/.local/state-2", "/home/me/.local/state-2", true, false});
  auto plan = make_plan(reading({"~"}), request(), facts);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->hidden, ElementsAre("/home/me/.local/state", "/home/me/.local/state-2"));
}

TEST(OwnPlaces, AWorkspaceWithTheOneOfOtherRunsHasItCovered) {
  HostFacts facts = host();
  facts.own_places.front().chosen = false;
  Policy policy;
  policy.workspace.path = {"/home/me"};
  policy.workspace.mode = WorkspaceMode::kCopy;
  auto plan = make_plan(policy, request(), facts);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(plan->workspaces.front().covered, Contains(".local/state/cloche"));
  EXPECT_EQ(steps_on(*plan, kState).size(), 2u) << "before the copy is made, and over the copy";
  facts.own_places.front().chosen = true;
  EXPECT_FALSE(make_plan(policy, request(), facts)) << "this run's own files would come and go in it";
}

TEST(OwnPlaces, ALinkOnTheWayIsNotLeftToAGuestThatWritesThere) {
  HostFacts facts = host();
  facts.own_places = {{"/data/state/cloche", kState, true, true}};
  Policy policy;
  policy.files.write = {"~"};
  auto plan = make_plan(policy, request(), facts);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().hint, HasSubstr("CLOCHE_STATE_DIR"));
  EXPECT_TRUE(make_plan(reading({"~"}), request(), facts));
}

}  // namespace
}  // namespace cloche
