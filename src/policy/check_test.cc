#include "policy/check.h"

#include <gtest/gtest.h>

#include <limits>

#include "policy/presets.h"

namespace cloche {
namespace {

std::string error_of(const Policy& policy) {
  const Status status = check(policy, "here");
  return status ? std::string("(accepted)") : status.error().text();
}

TEST(PolicyCheck, AcceptsEveryPresetAndTheDefault) {
  EXPECT_EQ(error_of(Policy{}), "(accepted)");
  for (const PresetInfo& info : presets()) EXPECT_EQ(error_of(*preset(info.name)), "(accepted)") << info.name;
}

TEST(PolicyCheck, H9_LowTrustNeverRunsBelowTierOne) {
  Policy policy = *preset("untrusted");
  policy.tier = Tier::kProcess;
  EXPECT_EQ(error_of(policy).find("here: tier: \"process\" does not hold code of trust \"low\"; write tier"), 0u);
  policy.trust = Trust::kMedium;
  EXPECT_EQ(error_of(policy), "(accepted)");
}

TEST(PolicyCheck, H8_BackendNoneNeedsDevelopmentAndItsWord) {
  Policy policy = *preset("dev");
  policy.backend = BackendChoice::kNone;
  EXPECT_NE(error_of(policy).find("add \"no-backend\" to weaken"), std::string::npos);
  policy.weaken.push_back(Weakening::kNoBackend);
  EXPECT_EQ(error_of(policy), "(accepted)");
  policy.development = false;
  EXPECT_NE(error_of(policy).find("for development only"), std::string::npos);
  policy.development = true;
  policy.tier = Tier::kNamespace;
  EXPECT_NE(error_of(policy).find("cannot give tier \"namespace\""), std::string::npos);
  policy.trust = Trust::kLow;
  EXPECT_NE(error_of(policy).find("does not hold code of trust \"low\""), std::string::npos);
}

TEST(PolicyCheck, ABackendOfTierOneCannotGiveAContainer) {
  Policy policy;
  policy.tier = Tier::kContainer;
  EXPECT_EQ(error_of(policy), "(accepted)");
  policy.backend = BackendChoice::kBwrap;
  EXPECT_NE(error_of(policy).find("cannot give tier \"container\""), std::string::npos);
}

TEST(PolicyCheck, X2_HostNetworkNeedsItsWord) {
  Policy policy;
  policy.net = NetMode::kHost;
  EXPECT_NE(error_of(policy).find("add \"host-network\" to weaken"), std::string::npos);
  policy.weaken = {Weakening::kHostNetwork};
  EXPECT_EQ(error_of(policy), "(accepted)");
}

TEST(PolicyCheck, P3_RefusesLimitsSetFromCodeThatAreNoLimits) {
  const auto with = [](auto change) {
    Policy policy;
    change(policy.limits);
    return error_of(policy);
  };
  EXPECT_NE(with([](Limits& l) { l.pids = 0; }).find("limits.pids: 0 is not a limit"), std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.pids = UINT64_MAX; }).find("is too large"), std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.wall = Millis(0); }).find("is not a limit"), std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.wall = Millis(-5); }).find("is not a limit"), std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.memory = Bytes{0}; }).find("is not a limit"), std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.cpus = std::numeric_limits<double>::quiet_NaN(); }).find("is not a limit"),
            std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.cpus = std::numeric_limits<double>::infinity(); }).find("is too large"),
            std::string::npos);
  EXPECT_NE(with([](Limits& l) { l.grace = Millis(301'000); }).find("limits.grace"), std::string::npos);
}

TEST(PolicyCheck, WordsOutOfRangeAreRefused) {
  Policy policy;
  policy.tier = static_cast<Tier>(9);
  EXPECT_NE(error_of(policy).find("tier: \"invalid\" is not known"), std::string::npos);
  policy = Policy{};
  policy.weaken = {Weakening::kHostNetwork, Weakening::kHostNetwork};
  EXPECT_NE(error_of(policy).find("is there twice"), std::string::npos);
}

TEST(PolicyCheck, PathsAreAbsoluteAndDoNotClimb) {
  for (const char* path : {"", "data", "./data", "~user/x", "~x", "/a/../b", "/..", "~/..", "~/a/..", "/a/b/..", "..",
                           "/a\nb", "/a\x7f", "/\xff"}) {
    Policy policy;
    policy.files.read = {path};
    EXPECT_NE(error_of(policy), "(accepted)") << path;
  }
  for (const char* path : {"/data", "~", "~/", "~/a", "/a..b", "/..a", "/a/.../b", "/data/", "/sys/fs"}) {
    Policy policy;
    policy.files.read = {path};
    EXPECT_EQ(error_of(policy), "(accepted)") << path;
  }
}

TEST(PolicyCheck, SystemDirectoriesAreNeverWritable) {
  for (const char* path : {"/", "//", "/.", "/usr", "/usr/", "//usr", "/./usr", "/usr/local", "/proc", "/proc/sys",
                           "/dev", "/dev/shm", "/sys", "/etc", "/etc/cron.d", "/bin", "/lib64", "/boot"}) {
    Policy policy;
    policy.files.write = {path};
    EXPECT_NE(error_of(policy).find("is never writable"), std::string::npos) << path;
  }
  for (const char* path : {"/srv/out", "/usrlocal", "/home/x", "/etcetera", "~/etc"}) {
    Policy policy;
    policy.files.write = {path};
    EXPECT_EQ(error_of(policy), "(accepted)") << path;
  }
}

TEST(PolicyCheck, TheHostsProcAndDevicesAreNeverGranted) {
  for (const char* path : {"/", "/proc", "/proc/1", "/dev", "/dev/sda"}) {
    Policy policy;
    policy.files.read = {path};
    EXPECT_NE(error_of(policy).find("files.read"), std::string::npos) << path;
    policy.files = {};
    policy.files.exec = {path};
    EXPECT_NE(error_of(policy).find("files.exec"), std::string::npos) << path;
  }
}

TEST(PolicyCheck, OnePathHasOneGrant) {
  Policy policy;
  policy.files.read = {"/a", "/b/"};
  policy.files.write = {"//b"};
  EXPECT_NE(error_of(policy).find("files.read: \"/b/\" is in files.write, too"), std::string::npos);
  policy.files.read = {"/b/c"};
  EXPECT_EQ(error_of(policy), "(accepted)");
  policy.files.exec = {"/b"};
  EXPECT_NE(error_of(policy).find("files.exec_writable = true"), std::string::npos);
  policy.files.exec_writable = true;
  EXPECT_EQ(error_of(policy), "(accepted)");
}

TEST(PolicyCheck, N5_DangerousVariablesAreNotPassedByName) {
  for (const char* name : {"LD_PRELOAD", "GLIBC_TUNABLES", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV",
                           "ENV", "GIT_DIR", "GIT_*", "LD_*", "PERL5OPT", "RUBYOPT", "SSH_AUTH_SOCK"}) {
    Policy policy;
    policy.env.pass = {"LANG", name};
    EXPECT_NE(error_of(policy).find("put the value you want in env.set"), std::string::npos) << name;
    policy.env.pass = {};
    if (std::string_view(name).ends_with('*')) continue;
    policy.env.set = {{name, "x"}};
    EXPECT_EQ(error_of(policy), "(accepted)") << name;
  }
}

TEST(PolicyCheck, N5_AWildcardThatPassesTooMuchIsRefused) {
  for (const char* pattern : {"*", "_*", "L*", "A*B", "A_**", "A_*B", "", "A B", "A=B", "A\nB"}) {
    Policy policy;
    policy.env.pass = {pattern};
    EXPECT_NE(error_of(policy).find("env.pass"), std::string::npos) << pattern;
  }
}

}  // namespace
}  // namespace cloche
