#include "host/probe.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include <cerrno>

#include "host/fake_host.h"
#include "host/programs.h"

namespace cloche {
namespace {

using host::FakeHost;
using testing::HasSubstr;

class FakeMachine : public testing::Test {
 protected:
  FakeMachine() {
    host_.file("/proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n");
    host_.file("/proc/self/uid_map", "0 0 4294967295\n");
    host_.file("/proc/sys/user/max_user_namespaces", "15000\n");
    options_.root = host_.root();
    options_.init_candidates = {"/opt/cloche-init"};
  }
  HostFacts facts() const { return probe(options_); }
  const FakeHost host_;
  ProbeOptions options_;
};

TEST_F(FakeMachine, MaxUserNamespacesZeroIsNamed) {
  host_.file("/proc/sys/user/max_user_namespaces", "0\n");
  EXPECT_FALSE(facts().user_namespaces);
  EXPECT_THAT(facts().user_namespaces_why, HasSubstr("user.max_user_namespaces is 0"));
}

TEST_F(FakeMachine, SettingsForTheUnprivilegedBindOnlyThem) {
  host_.file("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  const HostFacts found = facts();
  if (!found.is_root) {
    EXPECT_FALSE(found.user_namespaces);
    EXPECT_THAT(found.user_namespaces_why, HasSubstr("kernel.unprivileged_userns_clone is 0"));
  } else {
    EXPECT_EQ(found.user_namespaces_why.find("unprivileged_userns_clone"), std::string::npos);
  }
}

TEST_F(FakeMachine, AppArmorRestrictionBindsTheUnconfined) {
  host_.file("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  host_.file("/proc/self/attr/current", "unconfined\n");
  const HostFacts bound = facts();
  const bool named = bound.user_namespaces_why.find("apparmor_restrict") != std::string::npos;
  EXPECT_EQ(named, !bound.is_root);
  host_.file("/proc/self/attr/current", "cloche (unconfined)\n");
  EXPECT_EQ(facts().user_namespaces_why.find("apparmor_restrict"), std::string::npos);
}

TEST_F(FakeMachine, ProcAndIdsComeFromTheFiles) {
  EXPECT_TRUE(facts().proc_mountable);
  EXPECT_EQ(facts().uid_span, 4294967295u);
  host_.file("/proc/self/mountinfo",
             "22 27 0:21 / /proc rw - proc proc rw\n23 22 0:22 / /proc/keys rw - tmpfs tmpfs rw\n");
  EXPECT_FALSE(facts().proc_mountable);
}

TEST_F(FakeMachine, ContainersAreRecognised) {
  EXPECT_FALSE(facts().in_container);
  host_.file("/proc/1/environ", std::string("PATH=/bin\0xcontainer=1\0", 23));
  EXPECT_FALSE(facts().in_container);
  host_.file("/proc/1/environ", std::string("PATH=/bin\0container=lxc\0", 24));
  EXPECT_TRUE(facts().in_container);
  host_.file("/proc/1/environ", "container=lxc");
  EXPECT_TRUE(facts().in_container);
  host_.file("/proc/1/environ", "");
  host_.file("/.dockerenv", "");
  EXPECT_TRUE(facts().in_container);
}

TEST_F(FakeMachine, UsrMergeIsSeen) {
  host_.link("/bin", "usr/bin");
  EXPECT_TRUE(facts().usr_merged);
  host_.directory("/lib");
  EXPECT_FALSE(facts().usr_merged);
}

TEST_F(FakeMachine, InitMustBeARegularFileThatOnlyWeCanWrite) {
  EXPECT_FALSE(facts().init);
  host_.file("/opt/cloche-init", "x", 0755);
  EXPECT_EQ(facts().init, "/opt/cloche-init");
  host_.file("/opt/cloche-init", "x", 0757);
  EXPECT_FALSE(facts().init);
  host_.file("/opt/cloche-init", "x", 0644);
  EXPECT_FALSE(facts().init);
  options_.init_candidates = {"/opt"};
  EXPECT_FALSE(facts().init);
}

TEST_F(FakeMachine, InitOfAnotherUserIsNotTrusted) {
  host_.file("/opt/cloche-init", "x", 0755);
  const std::string path = host_.root() + "/opt/cloche-init";
  EXPECT_TRUE(host::is_trusted_program(path, ::geteuid(), ::getegid()));
  EXPECT_EQ(host::is_trusted_program(path, ::geteuid() + 1, ::getegid()), ::geteuid() == 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 0), 0);
    EXPECT_FALSE(host::is_trusted_program(path, 1000, 1000));
    EXPECT_TRUE(host::is_trusted_program(path, 12345, 1000));
    ASSERT_EQ(::chown(path.c_str(), 0, ::getegid()), 0);
  }
  host_.file("/opt/cloche-init", "x", 0775);
  EXPECT_EQ(host::is_trusted_program(path, ::geteuid(), ::getegid() + 1), ::getegid() == 0);
}

TEST_F(FakeMachine, OverriddenInitWinsAndABadOneIsPassedOver) {
  host_.file("/opt/cloche-init", "x", 0755);
  host_.file("/mine/init", "x", 0755);
  options_.init_override = "/mine/init";
  EXPECT_EQ(facts().init, "/mine/init");
  host_.file("/mine/init", "x", 0777);
  EXPECT_EQ(facts().init, "/opt/cloche-init");
  options_.init_override = "mine/init";
  EXPECT_EQ(facts().init, "/opt/cloche-init");
}

TEST_F(FakeMachine, InitIsFoundBesideTheProgramOrInItsLibexec) {
  options_.init_candidates.clear();
  host_.link("/proc/self/exe", "/app/bin/cloche");
  host_.directory("/app/bin");
  host_.file("/app/libexec/cloche/cloche-init", "x", 0755);
  EXPECT_EQ(facts().init, "/app/bin/../libexec/cloche/cloche-init");
  host_.file("/app/bin/cloche-init", "x", 0755);
  EXPECT_EQ(facts().init, "/app/bin/cloche-init");
}

TEST_F(FakeMachine, BwrapIsFoundInSystemFoldersOnly) {
  host_.file("/home/x/bin/bwrap", "x", 0755);
  EXPECT_FALSE(facts().bwrap);
  host_.file("/usr/local/bin/bwrap", "x", 0755);
  EXPECT_EQ(facts().bwrap, "/usr/local/bin/bwrap");
  host_.file("/usr/bin/bwrap", "x", 0644);
  EXPECT_EQ(facts().bwrap, "/usr/local/bin/bwrap");
}

TEST_F(FakeMachine, AnEmptyMachineGivesFactsAndNoCrash) {
  const FakeHost empty;
  options_.root = empty.root();
  const HostFacts found = facts();
  EXPECT_FALSE(found.user_namespaces);
  EXPECT_FALSE(found.proc_mountable);
  EXPECT_EQ(found.uid_span, 0u);
  EXPECT_EQ(found.cgroup.version, CgroupFacts::Version::kNone);
  EXPECT_FALSE(found.cgroup.why_not.empty());
}

TEST_F(FakeMachine, TasksOfAUserAreItsThreads) {
  host_.file("/proc/10/status", "Name:\ta\nUid:\t1000\t1000\t1000\t1000\nThreads:\t3\n");
  host_.file("/proc/11/status", "Name:\tUid:\t1000\nUid:\t0\t1000\t0\t0\nThreads:\t5\n");
  host_.file("/proc/12/status", "Name:\tb\nUid:\t1000\t0\t0\t0\nThreads:\t1\n");
  host_.file("/proc/13/status", "");
  host_.file("/proc/self/status", "Name:\tb\nUid:\t1000\t0\t0\t0\nThreads:\t1\n");
  EXPECT_EQ(count_user_tasks(1000, host_.root()), 4u);
  EXPECT_EQ(count_user_tasks(1000, host_.root() + "/nowhere"), 0u);
  EXPECT_GE(count_user_tasks(::getuid()), 1u);
}

TEST(ProcListing, C44_WhatProcHoldsBesidesProcessesIsListed) {
  const FakeHost host;
  host.file("/proc/1/status", "");
  host.directory("/proc/sys");
  host.file("/proc/kallsyms", "");
  host.link("/proc/self", "1");
  EXPECT_EQ(list_proc(host.root()), (std::vector<std::string>{"kallsyms", "sys/"}));
  EXPECT_TRUE(list_proc(host.root() + "/nowhere").empty());
}

unsigned open_descriptors() {
  unsigned count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  if (folder != nullptr) ::closedir(folder);
  return count;
}

// Only what must be so on any machine.
TEST(LiveProbe, WhatReallyWorkedIsNeverRuledOutByTheFastProbe) {
  const HostFacts fast = probe_fast();
  const HostFacts full = probe_full();
  if (full.user_namespaces) {
    EXPECT_TRUE(fast.user_namespaces) << fast.user_namespaces_why;
    EXPECT_EQ(full.user_namespaces_why, "");
  } else {
    EXPECT_NE(full.user_namespaces_why, "");
  }
  EXPECT_TRUE(!full.proc_mountable || full.user_namespaces);
  EXPECT_EQ(fast.landlock_abi, full.landlock_abi);
  EXPECT_EQ(fast.cgroup, full.cgroup);
  EXPECT_EQ(fast.uid, ::geteuid());
  EXPECT_GE(fast.cpus, 1u);
  EXPECT_GT(fast.memory, 0u);
  EXPECT_TRUE(kernel_at_least(fast.kernel, 2, 6));
  EXPECT_EQ(fast.set_uid_program, ::getauxval(AT_SECURE) != 0);
}

TEST(LiveProbe, FullProbeLeavesNoChildAndNoDescriptor) {
  const unsigned before = open_descriptors();
  probe_full();
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(LiveProbe, LandlockIsSeenWhereTheKernelListsIt) {
  const auto modules = host::read_text("/sys/kernel/security/lsm");
  if (!modules) GTEST_SKIP() << "fact: securityfs is not readable";
  EXPECT_EQ(probe_fast().landlock_abi >= 1, host::has_word(*modules, "landlock", ",\n"));
}

}  // namespace
}  // namespace cloche
