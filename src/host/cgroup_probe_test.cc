#include "host/cgroup_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_host.h"

namespace cloche::host {
namespace {

using testing::HasSubstr;
using Version = CgroupFacts::Version;

constexpr std::string_view kV2Mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view kV1Mounts =
    "32 31 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /cg/freezer rw - cgroup cgroup rw,freezer\n"
    "35 31 0:32 / /cg/pids rw - cgroup cgroup rw,pids\n"
    "36 31 0:33 / /cg/systemd rw - cgroup cgroup rw,name=systemd\n";
constexpr std::string_view kV1Self =
    "9:name=systemd:/u\n8:pids:/u\n7:freezer:/u\n6:memory:/u/m\n5:cpu,cpuacct:/u\n0::/\n";

enum class Owner { kUs, kOthers };

// One directory of a version 2 tree as the kernel would fill it.
void v2_directory(const FakeHost& host, const std::string& path, Owner owner, std::string_view controllers,
                  std::string_view enabled, std::string_view processes) {
  const mode_t mode = owner == Owner::kUs ? 0644 : 0444;
  host.file(path + "/cgroup.controllers", controllers, 0444);
  host.file(path + "/cgroup.subtree_control", enabled, mode);
  host.file(path + "/cgroup.procs", processes, mode);
  host.file(path + "/cgroup.kill", "", mode);
  host.file(path + "/cgroup.type", "domain\n", mode);
}

void finish(const FakeHost& host, const std::string& path, Owner owner) {
  host.directory(path, owner == Owner::kUs ? 0755 : 0555);
}

void v2_root(const FakeHost& host, Owner owner, std::string_view controllers = "cpuset cpu io memory pids\n") {
  v2_directory(host, "/sys/fs/cgroup", owner, controllers, "memory pids\n", "1\n2\n");
  ::unlink((host.root() + "/sys/fs/cgroup/cgroup.kill").c_str());
  ::unlink((host.root() + "/sys/fs/cgroup/cgroup.type").c_str());
}

void v1_tree(const FakeHost& host, Owner owner) {
  for (const char* path : {"/cg/cpu,cpuacct/u", "/cg/memory/u/m", "/cg/freezer/u", "/cg/pids/u"}) {
    host.directory(path, owner == Owner::kUs ? 0755 : 0555);
  }
}

TEST(CgroupProbe, V2RootUsesTheTopEvenThoughItHoldsProcesses) {
  const FakeHost host;
  v2_root(host, Owner::kUs);
  v2_directory(host, "/sys/fs/cgroup/user.slice/s.scope", Owner::kUs, "memory pids\n", "", "4242\n7\n");
  const CgroupProbe probe = host.probe("0::/user.slice/s.scope\n", kV2Mount);
  EXPECT_EQ(probe.facts.version, Version::kV2);
  for (const Controller c : {Controller::kPids, Controller::kMemory, Controller::kCpu}) {
    EXPECT_EQ(probe.facts.at(c), "/sys/fs/cgroup/cloche");
  }
  EXPECT_FALSE(probe.facts.at(Controller::kCpuAcct));
  EXPECT_FALSE(probe.facts.v2_needs_self_move);
  EXPECT_TRUE(probe.at_root);
  EXPECT_EQ(probe.facts.why_not, "");
}

class UserSession : public testing::Test {
 protected:
  UserSession() {
    v2_root(host_, Owner::kOthers);
    v2_directory(host_, "/sys/fs/cgroup/u.slice", Owner::kOthers, "cpu memory pids\n", "cpu memory pids\n", "");
    v2_directory(host_, service_, Owner::kUs, "cpu memory pids\n", "memory pids\n", "");
    v2_directory(host_, service_ + "/app.slice", Owner::kUs, "memory pids\n", "memory pids\n", "");
    v2_directory(host_, service_ + "/app.slice/x.scope", Owner::kUs, "memory pids\n", "", "4242\n9\n");
    lock();
  }
  void lock() {
    finish(host_, "/sys/fs/cgroup/u.slice", Owner::kOthers);
    finish(host_, "/sys/fs/cgroup", Owner::kOthers);
  }
  CgroupProbe probe(std::string named = {}) {
    return host_.probe("0::/u.slice/user@1000.service/app.slice/x.scope\n", kV2Mount, std::move(named));
  }
  const FakeHost host_;
  const std::string service_ = "/sys/fs/cgroup/u.slice/user@1000.service";
};

TEST_F(UserSession, UsesTheHighestDirectoryOfOurs) {
  const CgroupProbe found = probe();
  EXPECT_EQ(found.facts.version, Version::kV2);
  EXPECT_EQ(found.facts.at(Controller::kPids), service_ + "/cloche");
  EXPECT_EQ(found.facts.at(Controller::kCpu), service_ + "/cloche");
  EXPECT_TRUE(found.kill_file);
  EXPECT_FALSE(found.at_root);
}

TEST_F(UserSession, NeedsWriteAccessToTheAncestorsProcessList) {
  host_.file(service_ + "/cgroup.procs", "", 0444);
  const CgroupProbe found = probe();
  // app.slice remains, with what it has: cpu was never enabled for it.
  EXPECT_EQ(found.facts.at(Controller::kPids), service_ + "/app.slice/cloche");
  EXPECT_FALSE(found.facts.at(Controller::kCpu));
  EXPECT_THAT(found.facts.why_not, HasSubstr("cpu was not given"));
}

TEST_F(UserSession, ProcessesInADirectoryKeepControllersFromItsChildren) {
  host_.file(service_ + "/cgroup.procs", "77\n");
  const CgroupProbe found = probe();
  EXPECT_EQ(found.facts.at(Controller::kPids), service_ + "/cloche");  // memory and pids are enabled already
  EXPECT_FALSE(found.facts.at(Controller::kCpu));
}

TEST_F(UserSession, SkipsADirectoryWhereAnotherUsersFolderIsInTheWay) {
  host_.directory(service_ + "/cloche", 0555);
  EXPECT_EQ(probe().facts.at(Controller::kPids), service_ + "/app.slice/cloche");
}

TEST_F(UserSession, NamedDirectoryHoldsTheLeavesWhateverItsName) {
  for (const std::string name : {"/team/x", "/team/cloche"}) {
    v2_directory(host_, service_ + name, Owner::kUs, "cpu memory pids\n", "", "");
    const CgroupProbe found = probe("u.slice/user@1000.service" + name);
    EXPECT_EQ(found.facts.at(Controller::kMemory), service_ + name + "/cloche");
  }
}

TEST_F(UserSession, NamedDirectoryThatIsMissingIsNotReplacedInSilence) {
  const CgroupProbe found = probe("nowhere");
  EXPECT_EQ(found.facts.version, Version::kNone);
  EXPECT_THAT(found.facts.why_not, HasSubstr("CLOCHE_CGROUP"));
}

TEST(CgroupProbe, ScopeWithSelfOnlyNeedsAMoveOfOurOwn) {
  const FakeHost host;
  v2_root(host, Owner::kOthers);
  v2_directory(host, "/sys/fs/cgroup/run.scope", Owner::kUs, "cpu memory pids\n", "", "4242\n");
  finish(host, "/sys/fs/cgroup", Owner::kOthers);
  const CgroupProbe probe = host.probe("0::/run.scope\n", kV2Mount);
  EXPECT_EQ(probe.facts.version, Version::kV2);
  EXPECT_TRUE(probe.facts.v2_needs_self_move);
  EXPECT_EQ(probe.facts.at(Controller::kCpu), "/sys/fs/cgroup/run.scope/cloche");
}

TEST(CgroupProbe, ScopeWithOthersIsNotUsable) {
  for (const char* processes : {"4242\n4243\n", "42424\n", "0\n", "4242"}) {
    const FakeHost host;
    v2_root(host, Owner::kOthers);
    v2_directory(host, "/sys/fs/cgroup/run.scope", Owner::kUs, "cpu memory pids\n", "", processes);
    finish(host, "/sys/fs/cgroup", Owner::kOthers);
    const CgroupProbe probe = host.probe("0::/run.scope\n", kV2Mount);
    EXPECT_EQ(probe.facts.version, Version::kNone) << processes;
    EXPECT_THAT(probe.facts.why_not, HasSubstr("holds other processes"));
  }
}

TEST(CgroupProbe, NothingWritableInV2SaysSo) {
  const FakeHost host;
  v2_root(host, Owner::kOthers);
  v2_directory(host, "/sys/fs/cgroup/a", Owner::kOthers, "cpu memory pids\n", "", "4242\n");
  finish(host, "/sys/fs/cgroup/a", Owner::kOthers);
  finish(host, "/sys/fs/cgroup", Owner::kOthers);
  const CgroupProbe probe = host.probe("0::/a\n", kV2Mount);
  EXPECT_EQ(probe.facts.version, Version::kNone);
  EXPECT_THAT(probe.facts.why_not,
              HasSubstr("cgroup v2: no directory from /sys/fs/cgroup/a upwards is writable by uid 1000"));
}

TEST(CgroupProbe, ContainerPathIsRelativeToTheMountsRoot) {
  const FakeHost host;
  v2_directory(host, "/sys/fs/cgroup", Owner::kUs, "cpu memory pids\n", "cpu memory pids\n", "");
  v2_directory(host, "/sys/fs/cgroup/in", Owner::kUs, "cpu memory pids\n", "", "1\n");
  const char* mount = "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  EXPECT_EQ(host.probe("0::/docker/abc/in\n", mount).facts.at(Controller::kPids), "/sys/fs/cgroup/cloche");
  EXPECT_EQ(host.probe("0::/docker/abcd\n", mount).facts.version, Version::kNone);
  EXPECT_EQ(host.probe("0::/../other\n", mount).facts.version, Version::kNone);
  EXPECT_EQ(host.probe("0::/\n", "30 23 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n").facts.version,
            Version::kNone);
}

TEST(CgroupProbe, PathsThatClimbOrOnlyLookAlikeAreNotFollowed) {
  const FakeHost host;
  host.directory("/cg/pids");
  host.directory("/cg/x");
  host.directory("/cg/pidsx");
  const char* whole = "1 2 0:1 / /cg/pids rw - cgroup none rw,pids\n";
  EXPECT_FALSE(host.probe("1:pids:/../x\n", whole).facts.at(Controller::kPids));
  EXPECT_FALSE(host.probe("1:pids:/a/..\n", whole).facts.at(Controller::kPids));
  const char* part = "1 2 0:1 /job /cg/pids rw - cgroup none rw,pids\n";
  EXPECT_EQ(host.probe("1:pids:/job\n", part).facts.at(Controller::kPids), "/cg/pids/cloche");
  EXPECT_FALSE(host.probe("1:pids:/jobx\n", part).facts.at(Controller::kPids));
}

TEST(CgroupProbe, V1UsesOurOwnDirectoryPerControllerAlsoInCombinedMounts) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  const CgroupFacts facts = host.probe(kV1Self, kV1Mounts).facts;
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.at(Controller::kPids), "/cg/pids/u/cloche");
  EXPECT_EQ(facts.at(Controller::kMemory), "/cg/memory/u/m/cloche");
  EXPECT_EQ(facts.at(Controller::kCpu), "/cg/cpu,cpuacct/u/cloche");
  EXPECT_EQ(facts.at(Controller::kCpuAcct), "/cg/cpu,cpuacct/u/cloche");
  EXPECT_EQ(facts.why_not, "");
}

TEST(CgroupProbe, V1CpuIsNotFoundInACpusetMount) {
  const FakeHost host;
  host.directory("/cg/cpuset");
  const CgroupFacts facts = host.probe("3:cpuset:/\n", "1 2 0:1 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n").facts;
  EXPECT_EQ(facts.version, Version::kNone);
}

TEST(CgroupProbe, V1UsesADirectoryDelegatedByTheAdministrator) {
  const FakeHost host;
  v1_tree(host, Owner::kOthers);
  host.directory("/cg/pids/cloche-1000");
  host.directory("/cg/memory/cloche-1001");
  const CgroupFacts facts = host.probe(kV1Self, kV1Mounts).facts;
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.at(Controller::kPids), "/cg/pids/cloche-1000");
  EXPECT_FALSE(facts.at(Controller::kMemory));
  EXPECT_THAT(facts.why_not, HasSubstr("/cg/memory/u/m is not writable by uid 1000"));
}

TEST(CgroupProbe, V1NamedDirectoryHoldsTheLeaves) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  host.directory("/cg/pids/team/x");
  const CgroupFacts facts = host.probe(kV1Self, kV1Mounts, "team/x").facts;
  EXPECT_EQ(facts.at(Controller::kPids), "/cg/pids/team/x/cloche");
  EXPECT_FALSE(facts.at(Controller::kMemory));  // named, so that our own is no substitute
  EXPECT_THAT(facts.why_not, HasSubstr("CLOCHE_CGROUP names /cg/memory/team/x"));
}

TEST(CgroupProbe, NamesThatClimbAreRefused) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  for (const char* name : {"..", "a/../..", "/abs", "a//b", "a/", ".", "a/./b"}) {
    EXPECT_FALSE(is_good_cgroup_name(name)) << name;
    EXPECT_EQ(host.probe(kV1Self, kV1Mounts, name).facts.version, Version::kNone) << name;
  }
  EXPECT_FALSE(is_good_cgroup_name(std::string(201, 'a')));
  EXPECT_TRUE(is_good_cgroup_name("team/x"));
}

TEST(CgroupProbe, HybridHostUsesV1) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  v2_directory(host, "/cg/unified", Owner::kUs, "", "", "");
  const std::string mounts = "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n" + std::string(kV1Mounts);
  const CgroupFacts facts = host.probe(kV1Self, mounts).facts;
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.at(Controller::kPids), "/cg/pids/u/cloche");
}

TEST(CgroupProbe, NothingMountedSaysSo) {
  const FakeHost host;
  const CgroupFacts facts = host.probe("", "").facts;
  EXPECT_EQ(facts.version, Version::kNone);
  EXPECT_EQ(facts.why_not, "no cgroup file system is mounted");
}

TEST(CgroupProbe, MissingFilesAndDirectoriesAreNotUsable) {
  const FakeHost host;
  EXPECT_EQ(host.probe("0::/x\n", kV2Mount).facts.version, Version::kNone);
  EXPECT_EQ(host.probe(kV1Self, kV1Mounts).facts.version, Version::kNone);
  EXPECT_EQ(host.probe("", kV1Mounts).facts.version, Version::kNone);
}

TEST(CgroupProbe, EscapedMountPointsAreFound) {
  const FakeHost host;
  host.directory("/c g/pids");
  const CgroupFacts facts = host.probe("1:pids:/\n", "1 2 0:1 / /c\\040g/pids rw - cgroup none rw,pids\n").facts;
  EXPECT_EQ(facts.at(Controller::kPids), "/c g/pids/cloche");
}

TEST(CgroupProbe, GarbageAndHugeLinesAreLeftOut) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  const std::string huge(1 << 20, 'A');
  const std::string slashes(1 << 16, '/');
  const std::string self =
      huge + "\n:::\n\n8\n8:pids\n-1:pids:/\n0::" + slashes + "\n7:x:" + huge + "\n" + std::string(kV1Self);
  const std::string mounts = huge + "\n1 2\n - - - \n1 2 0:1 / / rw - \n30 23 0:26 / /sys" + slashes +
                             " rw - cgroup2 c rw\n" + std::string("\0\0\n", 3) + std::string(kV1Mounts);
  const CgroupFacts facts = host.probe(self, mounts).facts;
  EXPECT_EQ(facts.version, Version::kV1);
  EXPECT_EQ(facts.at(Controller::kPids), "/cg/pids/u/cloche");
}

TEST(CgroupProbe, EveryTruncationIsSurvived) {
  const FakeHost host;
  v1_tree(host, Owner::kUs);
  v2_root(host, Owner::kUs);
  const std::string self = std::string(kV1Self) + "0::/a/b\n";
  const std::string mounts = std::string(kV2Mount) + std::string(kV1Mounts);
  for (std::size_t cut = 0; cut <= mounts.size(); ++cut) host.probe(self, mounts.substr(0, cut));
  for (std::size_t cut = 0; cut <= self.size(); ++cut) host.probe(self.substr(0, cut), mounts);
  unsigned state = 1;
  for (int round = 0; round < 500; ++round) {
    std::string broken = mounts;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525u + 1013904223u;
      broken[(state >> 8) % broken.size()] = static_cast<char>(state >> 24);
    }
    host.probe(self, broken);
  }
}

}  // namespace
}  // namespace cloche::host
