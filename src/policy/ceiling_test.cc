#include "policy/ceiling.h"

#include <gtest/gtest.h>

#include "policy/presets.h"

namespace cloche {
namespace {

Ceiling ceiling_of(const std::string& body) {
  auto ceiling = parse_ceiling("version = 1\n" + body, "ceiling.toml");
  EXPECT_TRUE(ceiling) << ceiling.error().text();
  return ceiling ? *ceiling : Ceiling{};
}

std::string verdict(const Policy& policy, const std::string& body) {
  const Status status = enforce(policy, ceiling_of(body));
  if (status) return "(allowed)";
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  return status.error().text();
}

TEST(Ceiling, APolicyUnderItPasses) {
  EXPECT_EQ(verdict(*preset("untrusted"),
                    "tier = \"namespace\"\ntrust = \"low\"\nbackend = [\"auto\"]\n"
                    "weaken = [\"supplementary-groups\"]\n[limits]\nwall = \"60s\"\npids = 64\n"
                    "memory = \"512M\"\ncpus = 1\nmode = \"require\"\n"
                    "[files]\nread = []\nexec_writable = false\n[net]\nmode = \"none\"\n"),
            "(allowed)");
  EXPECT_EQ(verdict(*preset("untrusted"), ""), "(allowed)");
}

TEST(Ceiling, X5_AnExcessIsRefusedByNameAndNeverLowered) {
  EXPECT_EQ(verdict(*preset("untrusted"), "[limits]\nmemory = \"256M\""),
            "ceiling: limits.memory: the policy asks for \"512M\" and \"ceiling.toml\" allows at most \"256M\"; change "
            "limits.memory in the policy, or ask the operator to change the ceiling");
}

TEST(Ceiling, EveryLimitIsBounded) {
  for (const char* line : {"wall = \"59s\"", "grace = \"1s\"", "cpu_time = \"29s\"", "cpus = 0.5", "memory = \"511M\"",
                           "pids = 63", "files = 255", "output = \"7M\"", "disk = \"255M\"", "inodes = 16383"}) {
    const std::string text = verdict(*preset("untrusted"), std::string("[limits]\n") + line);
    EXPECT_NE(text.find("allows at most"), std::string::npos) << line << text;
  }
  EXPECT_NE(verdict(*preset("dev"), "development = true\n[limits]\nmode = \"require\"").find("limits.mode"),
            std::string::npos);
}

TEST(Ceiling, AnAbsentLimitExceedsABoundOne) {
  EXPECT_NE(verdict(*preset("adapter"), "[limits]\nwall = \"1h\"").find("limits.wall: the policy sets none"),
            std::string::npos);
  EXPECT_NE(verdict(*preset("adapter"), "[limits]\ncpu_time = \"1h\"").find("limits.cpu_time: the policy sets none"),
            std::string::npos);
}

TEST(Ceiling, TierIsALeastAndTrustAMost) {
  EXPECT_NE(verdict(*preset("untrusted"), "tier = \"container\"").find("no less than \"container\""),
            std::string::npos);
  EXPECT_EQ(verdict(*preset("untrusted"), "tier = \"process\""), "(allowed)");
  EXPECT_NE(verdict(*preset("adapter"), "trust = \"low\"").find("trust: the policy asks for \"medium\""),
            std::string::npos);
}

TEST(Ceiling, H8_DevelopmentAndNoBackendNeedTheOperatorsWord) {
  EXPECT_NE(verdict(*preset("dev"), "").find("development: the policy asks for true"), std::string::npos);
  EXPECT_EQ(verdict(*preset("dev"), "development = true"), "(allowed)");
  Policy none = *preset("dev");
  none.backend = BackendChoice::kNone;
  EXPECT_NE(verdict(none, "development = true").find("backend: the policy asks for \"none\""), std::string::npos);
  EXPECT_EQ(verdict(none, "development = true\nbackend = [\"none\"]"), "(allowed)");
  Policy host;
  host.net = NetMode::kHost;
  EXPECT_NE(verdict(host, "").find("net.mode"), std::string::npos);
  EXPECT_EQ(verdict(host, "[net]\nmode = \"host\""), "(allowed)");
  EXPECT_FALSE(enforce(*preset("dev"), Ceiling{}));
}

TEST(Ceiling, AutoIsNotAWayAroundTheBackendList) {
  EXPECT_NE(verdict(Policy{}, "backend = [\"native\"]").find("backend: the policy asks for \"auto\""),
            std::string::npos);
  EXPECT_EQ(verdict(Policy{}, "backend = [\"native\", \"bwrap\"]"), "(allowed)");
}

TEST(Ceiling, WeakeningsAreAllowedByWord) {
  EXPECT_NE(verdict(*preset("untrusted"), "weaken = []").find("weaken: the policy asks for \"supplementary-groups\""),
            std::string::npos);
}

TEST(Ceiling, GrantsLieUnderAPrefixByComponent) {
  Policy policy;
  policy.files.read = {"/data/x", "/data"};
  EXPECT_EQ(verdict(policy, "[files]\nread = [\"/data\"]"), "(allowed)");
  EXPECT_EQ(verdict(policy, "[files]\nread = [\"/data/\"]"), "(allowed)");
  EXPECT_EQ(verdict(policy, "[files]\nread = [\"/\"]"), "(allowed)");
  EXPECT_NE(verdict(policy, "[files]\nread = []").find("files.read"), std::string::npos);
  EXPECT_NE(verdict(policy, "[files]\nread = [\"/data/x\"]").find("asks for \"/data\""), std::string::npos);
  policy.files.read = {"/database"};
  EXPECT_NE(verdict(policy, "[files]\nread = [\"/data\"]").find("only what lies under [\"/data\"]"), std::string::npos);
  policy.files.read = {"~/x"};
  EXPECT_NE(verdict(policy, "[files]\nread = [\"/home\"]"), "(allowed)");
  EXPECT_EQ(verdict(policy, "[files]\nread = [\"~\"]"), "(allowed)");
  policy.files = {};
  policy.files.write = {"/data"};
  EXPECT_NE(verdict(policy, "[files]\nwrite = [\"/data/x\"]"), "(allowed)");
  policy.files = {};
  policy.files.exec = {"/data"};
  EXPECT_NE(verdict(policy, "[files]\nexec = [\"/opt\"]"), "(allowed)");
  policy.files = {};
  policy.files.exec_writable = true;
  EXPECT_NE(verdict(policy, "[files]\nexec_writable = false"), "(allowed)");
}

TEST(Ceiling, X5_WhatCanBeReadByAnotherNameLiesUnderTheCeilingOverReading) {
  Policy write;
  write.files.write = {"/srv/secrets"};
  Policy exec;
  exec.files.exec = {"/srv/secrets"};
  Policy workspace;
  workspace.workspace.path = {"/srv/secrets"};
  const std::pair<const Policy*, std::string> grants[] = {
      {&write, "files.write"}, {&exec, "files.exec"}, {&workspace, "workspace.path"}};
  for (const auto& [policy, key] : grants) {
    const std::string refusal = verdict(*policy, "[files]\nread = [\"/data\"]");
    EXPECT_NE(refusal.find(key + ": the policy asks for \"/srv/secrets\""), std::string::npos) << refusal;
    EXPECT_NE(verdict(*policy, "[files]\nread = []"), "(allowed)") << key;
    EXPECT_EQ(verdict(*policy, "[files]\nread = [\"/srv\"]"), "(allowed)") << key;
    EXPECT_EQ(verdict(*policy, ""), "(allowed)") << key;
    // A bound of its own is the operator's word.
    const std::string section = key.substr(0, key.find('.'));
    const std::string own = key.substr(key.find('.') + 1);
    const std::string head = section == "files" ? "" : "[" + section + "]\n";
    EXPECT_EQ(verdict(*policy, "[files]\nread = [\"/data\"]\n" + head + own + " = [\"/srv\"]"), "(allowed)") << key;
  }
}

TEST(Ceiling, PassedVariablesMatchAPattern) {
  Policy policy;
  policy.env.pass = {"LC_*", "LC_ALL", "LANG"};
  EXPECT_EQ(verdict(policy, "[env]\npass = [\"LC_*\", \"LANG\"]"), "(allowed)");
  EXPECT_NE(verdict(policy, "[env]\npass = [\"LC_ALL\", \"LANG\"]").find("asks for \"LC_*\""), std::string::npos);
}

TEST(Ceiling, MistakesInTheFileAreErrorsWithAPlace) {
  EXPECT_EQ(parse_ceiling("version = 1\n[limits]\npids = 0\n", "c.toml").error().text(),
            "c.toml:3:8: limits.pids: 0 is not a limit; give a whole number from 1 to 4194304");
  EXPECT_FALSE(parse_ceiling("[limits]\npids = 3\n", "c.toml"));
  EXPECT_FALSE(parse_ceiling("version = 1\nextends = \"dev\"\n", "c.toml"));
  EXPECT_FALSE(parse_ceiling("version = 1\ncwd = \"/x\"\n", "c.toml"));
  EXPECT_FALSE(parse_ceiling("version = 1\nbackend = \"native\"\n", "c.toml"));
  EXPECT_FALSE(parse_ceiling("version = 1\n[files]\nread = [\"../x\"]\n", "c.toml"));
  EXPECT_NE(parse_ceiling("version = 1\npidz = 1\n", "c.toml").error().text().find("limits.pids"), std::string::npos);
}

}  // namespace
}  // namespace cloche
