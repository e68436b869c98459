// The judge, guarantee by guarantee: one inspection that satisfies all of them, and for each the ways to break just
// that one. What the judge cannot contradict is listed, so that the list cannot grow unseen.
#include "supervise/read_back.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kHostUid = 1895829961;

Plan plan_for(HostFacts host) {
  host.arch = AUDIT_ARCH_X86_64;
  Policy policy;
  policy.limits.cpu_time = Millis(10'000);
  Request request;
  request.argv = {"/usr/bin/true"};
  auto plan = make_plan(policy, request, host);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : Plan{};
}

Inspection good() {
  Inspection seen;
  seen.status = parse_status(
      "Name:\tcloche-init\n"
      "Uid:\t1895829961\t1895829961\t1895829961\t1895829961\n"
      "Groups:\t \n"
      "NSpid:\t4242\t2\n"
      "NSsid:\t4242\t2\n"
      "CapInh:\t0000000000000000\n"
      "CapPrm:\t0000000000000000\n"
      "CapEff:\t0000000000000000\n"
      "CapBnd:\t0000000000000000\n"
      "CapAmb:\t0000000000000000\n"
      "NoNewPrivs:\t1\n"
      "Seccomp:\t2\n"
      "Seccomp_filters:\t1\n"
      "Cpus_allowed_list:\t0\n");
  seen.limits = parse_limits(
      "Max cpu time              11                   11                   seconds   \n"
      "Max file size             268435456            268435456            bytes     \n"
      "Max data size             536870912            536870912            bytes     \n"
      "Max core file size        1                    1                    bytes     \n"
      "Max processes             528                  528                  processes \n"
      "Max open files            256                  256                  files     \n");
  seen.mounts = parse_mountinfo(
      "1 0 0:51 / / ro,nosuid,nodev - tmpfs none rw,size=1024k,nr_inodes=256\n"
      "2 1 8:1 /usr /usr ro,nosuid,nodev - ext4 /dev/vda rw\n"
      "3 1 0:52 /work /work rw,nosuid,nodev,noexec - tmpfs none rw,size=262144k,nr_inodes=16384\n"
      "4 1 0:6 /null /dev/null rw,nosuid,noexec - devtmpfs udev rw\n"
      "5 1 0:53 / /proc ro,nosuid,nodev,noexec - proc proc rw,subset=pid\n");
  seen.cgroups = parse_cgroup("8:pids:/cloche/x\n4:memory:/cloche/x\n");
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    seen.namespaces[name] = std::string(name) + ":[4026532001]";
  }
  seen.cgroup_files = {{"pids.max", "513"},
                       {"memory.limit_in_bytes", "536870912"},
                       {"cpu.cfs_quota_us", "100000"},
                       {"cpuacct.usage", "1234"}};
  seen.uid_map = "1000 1895829961 1";
  seen.probe = wire::kProbeLandlockHeld | wire::kProbeFilterHeld | wire::kProbeKeyringFresh;
  seen.host_uid = kHostUid;
  return seen;
}

MountReading& mount(Inspection& seen, const std::string& point) {
  return *std::ranges::find(seen.mounts, point, &MountReading::point);
}

void forget(Plan& plan, Guarantee g) {
  std::erase_if(plan.guarantees, [&](const ReceiptLine& line) { return line.guarantee == g; });
}

struct Break {
  Guarantee guarantee;
  const char* how;
  std::function<void(Plan&, Inspection&)> apply;
};

std::vector<Break> breaks() {
  using G = Guarantee;
  const auto status = [](G g, const char* key, const char* value) {
    return Break{g, key, [=](Plan&, Inspection& s) { s.status[key] = value; }};
  };
  const auto no_namespace = [](G g, const char* name) {
    return Break{g, name, [=](Plan&, Inspection& s) { s.namespaces.erase(name); }};
  };
  const auto probe = [](G g, std::uint32_t bit) {
    return Break{g, "probe", [=](Plan&, Inspection& s) { s.probe &= ~bit; }};
  };
  const auto limit = [](G g, const char* name, const char* soft, const char* hard) {
    return Break{g, hard, [=](Plan&, Inspection& s) { s.limits[name] = {soft, hard}; }};
  };
  const auto cgroup = [](G g, const char* file, const char* value) {
    return Break{g, value, [=](Plan&, Inspection& s) { s.cgroup_files[file] = value; }};
  };
  const auto workspace = [](const char* how, const char* mounts) {
    return Break{G::kWorkspace, how, [=](Plan& p, Inspection& s) {
                   p.workspaces = {{.path = "/srv/a", .scratch = "workspace-0", .covered = {}}};
                   p.guarantees.push_back({G::kWorkspace, Standing::kHeld, "overlayfs", {}});
                   for (MountReading& m : parse_mountinfo(mounts)) s.mounts.push_back(std::move(m));
                 }};
  };
  const auto hidden = [](const char* how, const char* mounts) {
    return Break{G::kFileSystem, how, [=](Plan& p, Inspection& s) {
                   p.hidden = {"/home/me/state"};
                   for (MountReading& m : parse_mountinfo(mounts)) s.mounts.push_back(std::move(m));
                 }};
  };
  std::vector<Break> out{
      hidden("nothing lies over it", "8 1 8:1 /home/me /home/me ro,nosuid,nodev - ext4 /dev/vda rw\n"),
      hidden("the host's own tmpfs",
             "8 1 8:1 /home/me /home/me ro,nosuid,nodev - ext4 /dev/vda rw\n"
             "9 8 0:61 / /home/me/state ro,nosuid,nodev - tmpfs none rw,size=65536k\n"),
      hidden("a guest could fill it",
             "8 1 8:1 /home/me /home/me ro,nosuid,nodev - ext4 /dev/vda rw\n"
             "9 8 0:61 / /home/me/state rw,nosuid,nodev - tmpfs none rw,size=4k\n"),
      hidden("covered again",
             "8 1 8:1 /home/me /home/me ro,nosuid,nodev - ext4 /dev/vda rw\n"
             "9 8 0:61 / /home/me/state ro,nosuid,nodev - tmpfs none rw,size=4k,nr_inodes=1\n"
             "10 9 8:1 /x /home/me/state ro,nosuid,nodev - ext4 /dev/vda rw\n"),
      workspace("no mount", ""),
      workspace("the host's tree itself", "8 1 8:1 /srv/a /srv/a rw,nosuid,nodev - ext4 /dev/vda rw\n"),
      workspace("nothing takes the changes",
                "8 1 8:1 /srv/a /srv/a ro,nosuid,nodev - ext4 /dev/vda rw\n"
                "9 8 0:60 / /srv/a rw,nosuid,nodev - overlay none rw,lowerdir=/a,userxattr\n"),
      workspace("writable below",
                "8 1 8:1 /srv/a /srv/a rw,nosuid,nodev - ext4 /dev/vda rw\n"
                "9 8 0:60 / /srv/a rw,nosuid,nodev - overlay none rw,lowerdir=/a,upperdir=/b,workdir=/c,userxattr\n"),
      workspace("covered again",
                "8 1 8:1 /srv/a /srv/a ro,nosuid,nodev - ext4 /dev/vda rw\n"
                "9 8 0:60 / /srv/a rw,nosuid,nodev - overlay none rw,lowerdir=/a,upperdir=/b,workdir=/c,userxattr\n"
                "10 9 8:1 /srv/a /srv/a rw,nosuid,nodev - ext4 /dev/vda rw\n"),
      status(G::kSession, "NSsid", "77\t1"),
      {G::kSession, "not reported", [](Plan&, Inspection& s) { s.status.erase("NSsid"); }},
      no_namespace(G::kTreeKill, "pid"),
      {G::kProcesses, "pid",
       [](Plan& p, Inspection& s) {
         forget(p, G::kTreeKill);  // stands on the same namespace and comes first
         s.namespaces.erase("pid");
       }},
      status(G::kIdentity, "Uid", "0\t0\t0\t0"),
      status(G::kIdentity, "Uid", "1895829961\t0\t1895829961\t1895829961"),
      status(G::kIdentity, "Groups", "0 27"),
      {G::kIdentity, "two entries", [](Plan&, Inspection& s) { s.uid_map = "0 0 4294967295"; }},
      {G::kIdentity, "no map", [](Plan&, Inspection& s) { s.uid_map.clear(); }},
      {G::kIdentity, "the engine's own uid",
       [](Plan&, Inspection& s) {
         s.host_uid = 0;
         s.status["Uid"] = "0\t0\t0\t0";
         s.uid_map = "1000 0 1";
       }},
      status(G::kNoNewPrivs, "NoNewPrivs", "0"),
      {G::kNoNewPrivs, "not reported", [](Plan&, Inspection& s) { s.status.erase("NoNewPrivs"); }},
      probe(G::kKeyring, wire::kProbeKeyringFresh),
      no_namespace(G::kFileSystem, "mnt"),
      {G::kFileSystem, "root writable", [](Plan&, Inspection& s) { mount(s, "/").options = "rw,nosuid,nodev"; }},
      {G::kFileSystem, "root on disk", [](Plan&, Inspection& s) { mount(s, "/").type = "ext4"; }},
      {G::kFileSystem, "suid", [](Plan&, Inspection& s) { mount(s, "/usr").options = "ro,nodev"; }},
      {G::kFileSystem, "dev", [](Plan&, Inspection& s) { mount(s, "/work").options = "rw,nosuid"; }},
      {G::kFileSystem, "no mounts", [](Plan&, Inspection& s) { s.mounts.clear(); }},
      probe(G::kFileAccess, wire::kProbeLandlockHeld),
      {G::kProcView, "whole procfs", [](Plan&, Inspection& s) { mount(s, "/proc").super_options = "rw"; }},
      {G::kProcView, "writable", [](Plan&, Inspection& s) { mount(s, "/proc").options = "rw,nosuid,nodev"; }},
      {G::kDevices, "no /dev/null", [](Plan&, Inspection& s) { mount(s, "/dev/null").point = "/dev/zero"; }},
      no_namespace(G::kNetwork, "net"),
      no_namespace(G::kIpc, "ipc"),
      no_namespace(G::kHostname, "uts"),
      status(G::kSystemCalls, "Seccomp", "0"),
      status(G::kSystemCalls, "Seccomp", "1"),
      probe(G::kSystemCalls, wire::kProbeFilterHeld),
      limit(G::kCoreDumps, "Max core file size", "1", "unlimited"),
      limit(G::kCoreDumps, "Max core file size", "4096", "4096"),
      {G::kCoreDumps, "not reported", [](Plan&, Inspection& s) { s.limits.erase("Max core file size"); }},
      cgroup(G::kCpuShare, "cpu.cfs_quota_us", "-1"),
      cgroup(G::kCpuShare, "cpu.cfs_quota_us", "200000"),
      cgroup(G::kMemory, "memory.limit_in_bytes", "9223372036854771712"),
      cgroup(G::kMemory, "memory.limit_in_bytes", "max"),
      cgroup(G::kMemory, "memory.limit_in_bytes", ""),
      cgroup(G::kPids, "pids.max", "max"),
      cgroup(G::kPids, "pids.max", "100000"),
      limit(G::kOpenFiles, "Max open files", "256", "1024"),
      limit(G::kOpenFiles, "Max open files", "1024", "1024"),
      limit(G::kOpenFiles, "Max open files", "99999999999999999999999", "99999999999999999999999"),
      {G::kDisk, "on disk", [](Plan&, Inspection& s) { mount(s, "/work").type = "ext4"; }},
      {G::kGateway, "not looked at",
       [](Plan& p, Inspection& s) {
         p.guarantees.push_back({G::kGateway, Standing::kHeld, "a process of its own", {}});
         s.gateway.clear();
       }},
      {G::kTraffic, "not asked",
       [](Plan& p, Inspection&) {
         p.gateway.emplace().limits.rate = Bytes{1};
         p.guarantees.push_back({G::kTraffic, Standing::kHeld, "a meter", {}});
       }},
      {G::kTraffic, "another limit",
       [](Plan& p, Inspection& s) {
         p.gateway.emplace().limits.connections = 5;
         p.guarantees.push_back({G::kTraffic, Standing::kHeld, "a meter", {}});
         s.gateway_limits = {.bytes_in = {}, .bytes_out = {}, .connections = 6, .rate = {}};
       }},
      {G::kDisk, "unbounded", [](Plan&, Inspection& s) { mount(s, "/work").super_options = "rw"; }},
  };
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    out.push_back(status(G::kCapabilities, set, "0000000000000400"));
    out.push_back({G::kCapabilities, set, [=](Plan&, Inspection& s) { s.status.erase(set); }});
  }
  return out;
}

TEST(Judge, X1_ASoundCellGetsAReceiptWithEvidenceOnEveryLine) {
  const Plan plan = plan_for(samples::root_v1());
  auto receipt = judge(plan, good());
  ASSERT_TRUE(receipt) << receipt.error().text();
  ASSERT_EQ(receipt->size(), plan.guarantees.size());
  for (const ReceiptLine& line : *receipt) {
    EXPECT_FALSE(line.evidence.empty()) << to_string(line.guarantee);
    EXPECT_EQ(line.standing, Standing::kHeld) << to_string(line.guarantee);
  }
}

TEST(Judge, X1_63_EachBrokenGuaranteeIsFoundAndNamed) {
  for (const Break& broken : breaks()) {
    Plan plan = plan_for(samples::root_v1());
    Inspection seen = good();
    broken.apply(plan, seen);
    auto receipt = judge(plan, seen);
    ASSERT_FALSE(receipt) << to_string(broken.guarantee) << " was broken (" << broken.how << ") and passed";
    EXPECT_EQ(receipt.error().step, to_string(broken.guarantee)) << broken.how << ": " << receipt.error().text();
    EXPECT_FALSE(receipt.error().hint.empty());
  }
}

TEST(Judge, X6_WhatIsHiddenIsNamedInTheReceiptAndHoldsAlsoWhereTheViewIsWeakened) {
  Plan plan = plan_for(samples::root_v1());
  plan.hidden = {"/home/me/state"};
  Inspection seen = good();
  for (MountReading& m :
       parse_mountinfo("8 1 8:1 /home/me /home/me ro,nosuid,nodev - ext4 /dev/vda rw\n"
                       "9 8 0:61 / /home/me/state ro,nosuid,nodev - tmpfs none rw,size=4k,nr_inodes=1\n")) {
    seen.mounts.push_back(std::move(m));
  }
  auto receipt = judge(plan, seen);
  ASSERT_TRUE(receipt) << receipt.error().text();
  const auto line = std::ranges::find(*receipt, Guarantee::kFileSystem, &ReceiptLine::guarantee);
  EXPECT_NE(line->evidence.find("hidden: /home/me/state"), std::string::npos) << line->evidence;
  std::ranges::find(plan.guarantees, Guarantee::kFileSystem, &ReceiptLine::guarantee)->standing = Standing::kWeakened;
  EXPECT_TRUE(judge(plan, seen));
  seen.mounts.pop_back();
  EXPECT_FALSE(judge(plan, seen)) << "as bwrap's is";
}

TEST(Judge, X6_AWorkspaceThatTakesItsChangesHolds) {
  Plan plan = plan_for(samples::root_v1());
  plan.workspaces = {{.path = "/srv/a", .scratch = "workspace-0", .covered = {}},
                     {.path = "/srv/b", .scratch = "workspace-1", .copied = true, .covered = {}}};
  plan.guarantees.push_back({Guarantee::kWorkspace, Standing::kHeld, "overlayfs", {}});
  Inspection seen = good();
  for (MountReading& m : parse_mountinfo(
           "8 1 8:1 /srv/a /srv/a ro,nosuid,nodev - ext4 /dev/vda rw\n"
           "9 8 0:60 / /srv/a rw,nosuid,nodev - overlay none rw,lowerdir=/a,upperdir=/b,workdir=/c,userxattr\n"
           "10 1 8:1 /srv/b /srv/b ro,nosuid,nodev - ext4 /dev/vda rw\n"
           "11 10 0:52 /w /srv/b rw,nosuid,nodev - tmpfs none rw,size=262144k,nr_inodes=16384\n")) {
    seen.mounts.push_back(std::move(m));
  }
  auto receipt = judge(plan, seen);
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_NE(receipt->back().evidence.find("overlay on /srv/a"), std::string::npos);
  EXPECT_NE(receipt->back().evidence.find("copy on /srv/b"), std::string::npos);
}

TEST(Judge, X1_63_OnlyTheListedGuaranteesAreTakenOnTrust) {
  // Nothing in /proc of the guest-to-be contradicts these: the engine builds them itself, or init has already failed.
  std::set<Guarantee> on_trust{Guarantee::kEnvironment, Guarantee::kDescriptors, Guarantee::kEngineDeath,
                               Guarantee::kWall,        Guarantee::kOutput,      Guarantee::kCpuTime};
  for (const Break& broken : breaks()) EXPECT_FALSE(on_trust.contains(broken.guarantee));
  for (const Break& broken : breaks()) on_trust.insert(broken.guarantee);
  EXPECT_EQ(on_trust.size(), kGuaranteeCount);
}

// The same mounts in any order: who covers whom is said by the parents alone.
void expect_in_any_order(const std::string& mountinfo, const char* refused) {
  Inspection seen = good();
  seen.mounts = parse_mountinfo(mountinfo);
  std::ranges::sort(seen.mounts, {}, &MountReading::id);
  do {
    auto receipt = judge(plan_for(samples::root_v1()), seen);
    ASSERT_EQ(receipt.has_value(), refused == nullptr) << (receipt ? "" : receipt.error().text());
    if (receipt) continue;
    ASSERT_EQ(receipt.error().step, refused) << receipt.error().text();
  } while (std::ranges::next_permutation(seen.mounts, {}, &MountReading::id).found);
}

constexpr const char* kRoot = "1 0 0:51 / / ro,nosuid,nodev - tmpfs none rw,size=1024k,nr_inodes=256\n";
constexpr const char* kWork =
    "3 1 0:52 /work /work rw,nosuid,nodev,noexec - tmpfs none rw,size=262144k,nr_inodes=16384\n";
constexpr const char* kNull = "4 1 0:6 /null /dev/null rw,nosuid,noexec - devtmpfs udev rw\n";
constexpr const char* kProc = "5 1 0:53 / /proc ro,nosuid,nodev,noexec - proc proc rw,subset=pid\n";

TEST(Judge, X1_63_TheMountOnTopCounts) {
  const std::string cell = std::string(kRoot) + kWork + kNull;
  expect_in_any_order(cell + kProc, nullptr);
  expect_in_any_order(cell + kProc + "6 5 0:54 / /proc rw,nosuid,nodev - proc proc rw\n", "proc-view");
  expect_in_any_order(cell + "5 1 0:53 / /proc rw,nosuid,nodev - proc proc rw\n" +
                          "6 5 0:54 / /proc ro,nosuid,nodev - proc proc rw,subset=pid\n",
                      nullptr);
  expect_in_any_order(cell + kProc + "6 3 8:1 /x /work rw,nosuid,nodev - ext4 /dev/vda rw\n", "disk");
}

TEST(Judge, X1_63_AMaskBelowAnotherMountIsNone) {
  const std::string cell = std::string(kRoot) + kWork + kNull + "5 1 0:53 / /proc rw,nosuid,nodev - proc proc rw\n";
  const std::string mask = "6 5 0:54 / /proc/sys ro,nosuid,nodev - tmpfs none rw\n";
  expect_in_any_order(cell + mask, nullptr);
  // A second procfs over the first: the mask lies on the one that nobody sees.
  expect_in_any_order(cell + mask + "7 5 0:55 / /proc rw,nosuid,nodev - proc proc rw\n", "proc-view");
  // The scratch is covered further up.
  expect_in_any_order(std::string(kRoot) + kNull + kProc +
                          "3 1 0:52 /work /work/a rw,nosuid,nodev - tmpfs none rw,size=4k,nr_inodes=16\n"
                          "8 1 8:1 / /work rw,nosuid,nodev - ext4 /dev/vda rw\n",
                      "disk");
}

TEST(Judge, AWeakenedGuaranteeIsReadBackAndDoesNotStopTheRun) {
  Plan plan = plan_for(samples::root_v1());
  std::ranges::find(plan.guarantees, Guarantee::kMemory, &ReceiptLine::guarantee)->standing = Standing::kWeakened;
  Inspection seen = good();
  seen.cgroup_files["memory.limit_in_bytes"] = "9223372036854771712";
  auto receipt = judge(plan, seen);
  ASSERT_TRUE(receipt);
  const auto line = std::ranges::find(*receipt, Guarantee::kMemory, &ReceiptLine::guarantee);
  EXPECT_THAT(line->evidence, HasSubstr("9223372036854771712"));
  EXPECT_EQ(line->standing, Standing::kWeakened);
}

TEST(Judge, X1_63_WeakenedFileAccessStillNeedsLandlock) {
  Plan plan = plan_for(samples::root_v1());
  std::ranges::find(plan.guarantees, Guarantee::kFileAccess, &ReceiptLine::guarantee)->standing = Standing::kWeakened;
  Inspection seen = good();
  EXPECT_TRUE(judge(plan, seen));
  seen.probe &= ~wire::kProbeLandlockHeld;
  EXPECT_FALSE(judge(plan, seen));
}

TEST(Judge, WhatIsAbsentIsNeitherReadNorClaimed) {
  Plan plan = plan_for(samples::root_v1());
  std::ranges::find(plan.guarantees, Guarantee::kNetwork, &ReceiptLine::guarantee)->standing = Standing::kAbsent;
  Inspection seen = good();
  seen.namespaces.erase("net");
  auto receipt = judge(plan, seen);
  ASSERT_TRUE(receipt);
  const auto line = std::ranges::find(*receipt, Guarantee::kNetwork, &ReceiptLine::guarantee);
  EXPECT_EQ(line->evidence, "");
}

TEST(Judge, AnEmptyInspectionNeverPasses) {
  for (const HostFacts& host : {samples::root_v1(), samples::v2_session()}) {
    EXPECT_FALSE(judge(plan_for(host), Inspection{}));
  }
}

TEST(Inspect, ReadsALivingProcessAndFailsOnOneThatIsNot) {
  auto text = transcribe(::getpid(), own_namespaces());
  ASSERT_TRUE(text);
  auto seen = std::optional(understand(*text));

  EXPECT_TRUE(seen->status.contains("NoNewPrivs"));
  EXPECT_TRUE(seen->limits.contains("Max open files"));
  EXPECT_FALSE(seen->mounts.empty());
  EXPECT_TRUE(seen->namespaces.empty()) << "our own namespaces do not differ from our own";
  EXPECT_EQ(seen->uid_map.find('\n'), std::string::npos);
  EXPECT_EQ(seen->uid_map.find("  "), std::string::npos);
  EXPECT_FALSE(transcribe(0x7fffffff, {}));
}

}  // namespace
}  // namespace cloche
