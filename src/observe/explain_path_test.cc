#include "observe/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/explain_path.h"
#include "observe/test_support.h"

namespace cloche::observe {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Explain, X4_AReadOfWhatTheCellDoesNotShow) {
  const auto denials = explained(path(Use::kOpen, "/home/me/notes/id"), Host().has("/home/me/notes/id"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0], (Denial{"read", "/home/me/notes/id", 2, "prog", "files.read = [\"/home/me/notes/id\"]", ""}));
}

TEST(Explain, X4_WhatIsNowhereWasNotDenied) {
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/none"), Host()).empty());
  EXPECT_TRUE(explained(path(Use::kExecute, "/usr/bin/none"), Host()).empty());
}

TEST(Explain, X4_WhatIsGrantedWasNotDenied) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/out/x").has("/usr/bin/ls");
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/data/x", Presence::kThere), host).empty());
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/data/x", Presence::kUnknown), host).empty());
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/out/x", Presence::kThere, true), host).empty());
  EXPECT_TRUE(explained(path(Use::kMake, "/home/me/out/new"), host).empty());
  EXPECT_TRUE(explained(path(Use::kExecute, "/usr/bin/ls", Presence::kThere), host).empty());
}

TEST(Explain, X4_AWriteToWhatIsReadOnly) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  auto denials = explained(path(Use::kOpen, "/home/me/data/x", Presence::kThere, true), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].what, "write");
  EXPECT_EQ(denials[0].allow, "files.write = [\"/home/me/data/x\"]");
  denials = explained(path(Use::kMake, "/home/me/data/new"), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].detail, "/home/me/data/new");
  EXPECT_EQ(denials[0].allow, "files.write = [\"/home/me/data\"]  # and take it out of files.read (--read)")
      << "a new file needs its directory";
}

TEST(Explain, X4_AFileOfTheHostInAPlaceThatTheCellHasOfItsOwn) {
  const auto denials = explained(path(Use::kOpen, "/work/input.csv"), Host().has("/work/input.csv"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "files.read = [\"/work/input.csv\"]");
}

TEST(Explain, X4_ALinkOutOfAGrantIsNamedByItsTarget) {
  const Host host = Host().has("/home/me/data/link", "/home/me/other/file");
  const auto denials = explained(path(Use::kOpen, "/home/me/data/link"), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].detail, "/home/me/data/link");
  EXPECT_EQ(denials[0].allow, "files.read = [\"/home/me/other/file\"]");
}

TEST(Explain, X4_ALinkThatTheGuestDoesNotSeeIsNoLine) {
  const Host host = Host().has("/home/me/link", "/home/me/other/file");
  const auto denials = explained(path(Use::kOpen, "/home/me/link"), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("files.read = [\"/home/me/other/file\"]"), std::string::npos) << denials[0].never;
}

TEST(Explain, X4_ALinkIsGrantedWithItsDirectory) {
  const Host host = Host()
                        .has("/opt/x/link", "/opt/x/real/f")
                        .has("/opt/x/away", "/srv/y/f")
                        .has("/opt/x/usr", "/usr/lib/f")
                        .has("/opt/x/tool", "/srv/y/tool");
  const auto line = [&](Use use, const char* what, bool changes = false) {
    const auto denials = explained(path(use, what, Presence::kMissing, changes), host);
    return denials.size() == 1 ? denials[0].allow + denials[0].never : "?";
  };
  EXPECT_EQ(line(Use::kOpen, "/opt/x/link"), "files.read = [\"/opt/x\"]");
  EXPECT_EQ(line(Use::kOpen, "/opt/x/link", true), "files.write = [\"/opt/x\"]");
  EXPECT_EQ(line(Use::kOpen, "/opt/x/away"), "files.read = [\"/opt/x\", \"/srv/y/f\"]");
  EXPECT_EQ(line(Use::kOpen, "/opt/x/usr"), "files.read = [\"/opt/x\"]") << "the rest is there";
  EXPECT_EQ(line(Use::kExecute, "/opt/x/tool"), "files.exec = [\"/opt/x\", \"/srv/y/tool\"]");
  EXPECT_EQ(line(Use::kOpen, "/opt/x/away", true),
            "it takes files.read = [\"/opt/x\"] for the symbolic link and files.write = [\"/srv/y/f\"]");
}

TEST(Explain, X4_LinksInPlacesThatTheCellHasOfItsOwn) {
  Plan plan = sample();
  plan.reach.push_back({"/etc", landlock::kRead});
  plan.reach.push_back({"/tmp", landlock::kReadWrite});
  const Host host =
      Host().has("/etc/os-release", "/usr/lib/os-release").has("/tmp/D/link", "/tmp/D/f").has("/etc/o/l", "/usr/l");
  auto denials = explained(path(Use::kOpen, "/etc/os-release"), host, plan);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "") << "of an /etc of the cell's own no link is seen";
  EXPECT_EQ(denials[0].never, "it is a symbolic link to \"/usr/lib/os-release\", which is in the cell: use that name");
  denials = explained(path(Use::kOpen, "/tmp/D/link"), host, plan);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "files.read = [\"/tmp/D\"]");
  denials = explained(path(Use::kOpen, "/etc/o/l"), host, plan);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "files.read = [\"/etc/o\"]");
  plan.tier = Tier::kProcess;
  denials = explained(path(Use::kOpen, "/tmp/D/link", Presence::kUnknown), host, plan);
  EXPECT_TRUE(denials.empty()) << "it has the host's";
}

// The cell's own /tmp is not the host's, whatever the guest may do in it.
TEST(Explain, X4_ALinkIntoAPlaceThatTheCellHasOfItsOwnNeedsBoth) {
  Plan plan = sample();
  plan.reach.push_back({"/tmp", landlock::kReadWrite});
  Host host = Host().has("/tmp/A/link", "/tmp/B/f").has("/opt/x/link", "/tmp/B/f").has("/tmp/B/f");
  const auto line = [&](const char* name, Presence presence) {
    const auto denials = explained(path(Use::kOpen, name, presence), host, plan);
    return denials.size() == 1 ? denials[0].allow : "?";
  };
  EXPECT_EQ(line("/tmp/A/link", Presence::kMissing), "files.read = [\"/tmp/A\", \"/tmp/B/f\"]");
  EXPECT_EQ(line("/opt/x/link", Presence::kUnknown), "files.read = [\"/opt/x\", \"/tmp/B/f\"]");
}

TEST(Explain, X4_RemovalAndRenamingNeedTheDirectory) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  for (const Use use : {Use::kRemove, Use::kMake}) {
    const auto denials = explained(path(use, "/home/me/data/x", Presence::kThere), host);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_THAT(denials[0].allow, testing::StartsWith("files.write = [\"/home/me/data\"]  # "));
  }
}

TEST(Explain, X4_TheNearestMountDecides) {
  Plan plan = sample();
  plan.reach.push_back({"/work/in", landlock::kRead});
  const Host host = Host().has("/work/in/x");
  EXPECT_EQ(explained(path(Use::kOpen, "/work/in/x", Presence::kThere, true), host, plan).size(), 1u);
  plan.tier = Tier::kProcess;  // Landlock adds up
  EXPECT_TRUE(explained(path(Use::kOpen, "/work/in/x", Presence::kThere, true), host, plan).empty());
}

TEST(Explain, X4_WhatTheGuestMadeOrRemovedItselfWasNotDenied) {
  Plan plan = sample();
  plan.grants = {"/home/me/out"};
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/out/n"), Host().has("/home/me/out/n"), plan).empty());
  plan.grants.clear();
  plan.workspaces = {{"/home/me/out", "w", false, {}}};
  EXPECT_TRUE(explained(path(Use::kOpen, "/home/me/out/n"), Host().has("/home/me/out/n"), plan).empty());
}

TEST(Explain, X4_ExecOfWhatMayOnlyBeRead) {
  const Host host = Host().has("/home/me/data/tool");
  const auto denials = explained(path(Use::kExecute, "/home/me/data/tool", Presence::kThere), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].what, "exec");
  EXPECT_EQ(denials[0].allow, "files.exec = [\"/home/me/data/tool\"]");
}

TEST(Explain, X4_ExecOfWhatTheGuestMadeItself) {
  Plan plan = sample();
  plan.reach.push_back({"/dev/shm", landlock::kReadWrite});
  plan.workspaces = {{"/home/me/out", "w", false, {}}};
  for (const char* made : {"/work/x", "/home/me/out/x"}) {
    const auto denials = explained(path(Use::kExecute, made, Presence::kThere), Host(), plan);
    ASSERT_EQ(denials.size(), 1u) << made;
    EXPECT_EQ(denials[0], (Denial{"exec", made, 2, "prog", "files.exec_writable = true", ""}));
  }
  const auto shared = explained(path(Use::kExecute, "/dev/shm/x", Presence::kThere), Host(), plan);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].allow, "") << "which is never executable";
  EXPECT_TRUE(explained(path(Use::kExecute, "/work/x"), Host(), plan).empty()) << "it is not there";
  EXPECT_TRUE(explained(path(Use::kExecute, "/work/x", Presence::kUnknown), Host(), plan).empty());
  Sighting folder = path(Use::kExecute, "/work", Presence::kThere);
  folder.directory = true;
  EXPECT_TRUE(explained(folder, Host(), plan).empty()) << "no policy makes a program of a directory";
}

TEST(Explain, X4_ChangesOfWhatTheCellsOwnPlacesDoNotShow) {
  const Host host = Host().has("/work/D/a").has("/work/D", {}, true, true).has("/work/b").has("/work", {}, true, true);
  const auto line = [&](Sighting s) {
    const auto denials = explained(s, host);
    return denials.empty() ? std::string() : denials[0].allow;
  };
  Sighting s = path(Use::kOpen, "/work/D/a", Presence::kMissing, true);
  EXPECT_EQ(line(s), "files.write = [\"/work/D/a\"]") << "opened to be changed";
  s.makes = true;
  EXPECT_EQ(line(s), "") << "made anew in a directory of its own";
  s.adrift = true;
  EXPECT_EQ(line(s), "files.write = [\"/work/D/a\"]") << "it has no such directory";
  s.what = "/work/D/new";
  EXPECT_EQ(line(s), "files.write = [\"/work/D\"]");
  s = path(Use::kMake, "/work/D/new");
  EXPECT_EQ(line(s), "");
  s.adrift = true;
  EXPECT_EQ(line(s), "files.write = [\"/work/D\"]");
  EXPECT_EQ(line(path(Use::kRemove, "/work/D/a")), "files.write = [\"/work/D\"]");
  EXPECT_EQ(line(path(Use::kChange, "/work/D/a")), "files.write = [\"/work/D/a\"]");
  EXPECT_EQ(line(path(Use::kMark, "/work/D/a")), "files.write = [\"/work/D/a\"]");
  EXPECT_EQ(explained(path(Use::kRemove, "/work/b"), host).size(), 1u) << "though nobody grants all of /work";
  EXPECT_TRUE(explained(path(Use::kRemove, "/work/none"), host).empty());
  EXPECT_TRUE(explained(path(Use::kRemove, "/home/me/data/none"), host).empty()) << "nowhere";
}

TEST(Explain, X4_AGrantOfOneFileCannotBeRemoved) {
  Plan plan = sample();
  plan.grants = {"/work/D/a"};
  plan.reach.push_back({"/work/D/a", landlock::kRead});
  const Host host = Host().has("/work/D/a").has("/work/D", {}, true, true);
  for (const Use use : {Use::kRemove, Use::kMake}) {
    const auto denials = explained(path(use, "/work/D/a", Presence::kThere), host, plan);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].allow, "");
    EXPECT_NE(denials[0].never.find("files.write = [\"/work/D\"]"), std::string::npos) << denials[0].never;
    EXPECT_FALSE(is_granted(path(use, "/work/D/a", Presence::kThere), plan));
  }
}

TEST(Explain, X4_WhatIsThereAlreadyIsNotDeniedToBeMade) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  for (const Presence presence : {Presence::kThere, Presence::kUnknown}) {
    for (const Use use : {Use::kMake, Use::kOpen}) {
      Sighting s = path(use, "/home/me/data/x", presence, use == Use::kOpen);
      s.makes = s.changes;
      s.anew = true;
      EXPECT_TRUE(explained(s, host).empty());
    }
  }
  Sighting s = path(Use::kMake, "/home/me/data/new");
  s.anew = true;
  EXPECT_EQ(explained(s, host).size(), 1u);
}

TEST(Explain, X4_LandlockJudgesNoModes) {
  const Host host = Host().has("/home/me/data/x");
  Plan plan = sample();
  EXPECT_EQ(explained(path(Use::kMark, "/home/me/data/x", Presence::kThere), host, plan).size(), 1u);
  plan.tier = Tier::kProcess;
  EXPECT_TRUE(explained(path(Use::kMark, "/home/me/data/x", Presence::kUnknown), host, plan).empty());
  EXPECT_EQ(explained(path(Use::kChange, "/home/me/data/x", Presence::kUnknown), host, plan).size(), 1u);
}

TEST(Explain, X4_ALinkOfTheGuestsOwnIsJudgedByWhereItLeads) {
  Sighting s = path(Use::kOpen, "/work/l");
  s.real = "/root/x";
  const auto denials = explained(s, Host().has("/root/x"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].detail, "/work/l");
  EXPECT_EQ(denials[0].allow, "files.read = [\"/root/x\"]");
}

TEST(Explain, X4_AFileThatIsMappedToBeExecuted) {
  Plan plan = sample();
  const Host host = Host().has("/home/me/data/lib.so").has("/usr/lib/libc.so").has("/home/me/out/lib.so");
  auto denials = explained(path(Use::kMap, "/home/me/data/lib.so", Presence::kThere), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0],
            (Denial{"exec", "/home/me/data/lib.so", 2, "prog", "files.exec = [\"/home/me/data/lib.so\"]", ""}));
  EXPECT_TRUE(explained(path(Use::kMap, "/usr/lib/libc.so", Presence::kThere), host).empty());
  EXPECT_TRUE(is_granted(path(Use::kMap, "/usr/lib/libc.so", Presence::kThere), plan));
  denials = explained(path(Use::kMap, "/work/own.so", Presence::kThere), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "files.exec_writable = true") << "the guest made it";
  EXPECT_TRUE(explained(path(Use::kMap, "/nowhere", Presence::kThere), host).empty());
  plan.tier = Tier::kProcess;
  EXPECT_TRUE(explained(path(Use::kMap, "/home/me/data/lib.so", Presence::kThere), host, plan).empty())
      << "Landlock does not judge it";
}

// Outside, too, a library is mapped by those who may only read it; and a device is never granted to be executed.
TEST(Explain, X4_WhatIsMappedNeedNotBeAProgramButAFile) {
  std::vector<Right> asked;
  const auto look = [&](bool regular) {
    return [&asked, regular](const std::string& name, Right right) -> std::optional<HostPath> {
      asked.push_back(right);
      return HostPath{name, false, false, right == Right::kRead, regular};
    };
  };
  const Sighting seen = path(Use::kMap, "/home/me/data/lib.so", Presence::kThere);
  const auto denials = explain({seen}, sample(), look(true));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "files.exec = [\"/home/me/data/lib.so\"]");
  EXPECT_EQ(asked, std::vector{Right::kRead}) << "nor has it an interpreter";
  EXPECT_TRUE(explain({seen}, sample(), look(false)).empty());
}

TEST(Explain, X4_NothingAllowsWhatThePolicyNeverGrants) {
  auto denials = explained(path(Use::kOpen, "/usr/bin/x", Presence::kThere, true), Host().has("/usr/bin/x"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("never writable"), std::string::npos);
  denials = explained(path(Use::kOpen, "/proc/self/mounts"), Host().has("/proc/self/mounts", "/proc/77/mounts"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_EQ(denials[0].never, kOwnProc) << "the host's is another one";
  denials = explained(path(Use::kOpen, "/proc/meminfo"), Host().has("/proc/meminfo"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].never, kOwnProc);
  denials = explained(path(Use::kOpen, "/proc/kcore"), Host().has("/proc/kcore", {}, false));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_THAT(denials[0].never, HasSubstr("outside of a cell either"));
}

TEST(Explain, X4_NorWhatTheUserMayNotDoEither) {
  const auto denials = explained(path(Use::kOpen, "/etc/shadow"), Host().has("/etc/shadow", {}, false));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("outside of a cell either"), std::string::npos);
}

// Root's guest on tier "process", and by bwrap, has a user of its own and owns nothing.
TEST(Explain, X4_AModeThatKeepsOutAGuestWithAUserOfItsOwn) {
  Plan plan = on_the_host();
  plan.own_host_uid = true;
  const Host host = Host()
                        .has("/srv/secret")
                        .closes("/srv/secret", "/srv/secret")
                        .has("/root/x")
                        .closes("/root/x", "/root")
                        .has("/home/me/data/x")
                        .closes("/home/me/data/x", "/home/me/data/x")
                        .has("/home/me/data/y");
  const auto told = [&](const std::string& name, Presence presence) {
    const auto denials = explained(path(Use::kOpen, name, presence), host, plan);
    return denials.size() == 1 ? denials[0].allow + denials[0].never : std::string();
  };
  const std::string way = " keeps it out: write tier = \"namespace\"";
  EXPECT_THAT(told("/srv/secret", Presence::kUnknown),
              EndsWith("the mode of \"/srv/secret\"" + way + " and files.read = [\"/srv/secret\"]"));
  EXPECT_THAT(told("/root/x", Presence::kUnknown),
              EndsWith("the mode of \"/root\"" + way + " and files.read = [\"/root/x\"]"));
  EXPECT_THAT(told("/home/me/data/x", Presence::kUnknown), EndsWith("data/x\"" + way)) << "granted already";
  EXPECT_EQ(told("/home/me/data/y", Presence::kUnknown), "");
  plan.tier = Tier::kNamespace;
  plan.backend = Backend::kBwrap;
  EXPECT_FALSE(is_granted(path(Use::kOpen, "/home/me/data/x", Presence::kThere), plan)) << "or nobody would ask";
  EXPECT_THAT(told("/home/me/data/x", Presence::kThere), EndsWith("write backend = \"native\""));
  EXPECT_EQ(told("/root/x", Presence::kMissing), "files.read = [\"/root/x\"]") << "the way to it is made anew";
  plan.backend = Backend::kNamespace;
  EXPECT_EQ(told("/srv/secret", Presence::kMissing), "files.read = [\"/srv/secret\"]") << "which maps owners";
  EXPECT_EQ(told("/home/me/data/x", Presence::kThere), "");
}

TEST(Explain, X4_NoOtherCellIsAdvisedForWhatNoLineGrants) {
  Plan plan = on_the_host();
  plan.own_host_uid = true;
  const Host host = Host()
                        .has("/usr/lib/x")
                        .closes("/usr/lib/x", "/usr/lib/x")
                        .has("/etc/link", "/srv/a/real")
                        .closes("/etc/link", "/srv/a/real");
  const auto told = [&](const Sighting& s) { return explained(s, host, plan).at(0).never; };
  const std::string system = told(path(Use::kOpen, "/usr/lib/x", Presence::kUnknown, true));
  EXPECT_THAT(system, AllOf(HasSubstr("never writable"), Not(HasSubstr("tier"))));
  EXPECT_THAT(told(path(Use::kOpen, "/etc/link", Presence::kUnknown)),
              EndsWith("write tier = \"namespace\"; there no grant leads through a symbolic link: name it "
                       "\"/srv/a/real\" and grant files.read = [\"/srv/a/real\"]"));
}

TEST(Explain, X4_NoLineIsAdvisedThatTheBackendRefuses) {
  const Host host = Host().has("/opt/x/f").has("/usr", {}, true, true).has("/srv", {}, true, true);
  const auto told = [&](const Sighting& s, Plan plan) {
    plan.own_host_uid = true;
    return explained(s, host, plan).at(0);
  };
  const Sighting write = path(Use::kOpen, "/opt/x/f", Presence::kMissing, true);
  EXPECT_EQ(told(write, sample()).allow, "files.write = [\"/opt/x/f\"]");
  EXPECT_EQ(told(write, by_bwrap()).allow, "");
  EXPECT_NE(told(write, by_bwrap()).never.find("use backend native"), std::string::npos);
  EXPECT_EQ(explained(write, host, by_bwrap()).at(0).allow, "files.write = [\"/opt/x/f\"]") << "of an ordinary user";
  Sighting wide = path(Use::kMake, "/srv/new", Presence::kUnknown);
  EXPECT_NE(told(wide, sample()).never.find("or use a workspace"), std::string::npos);
  EXPECT_NE(told(wide, by_bwrap()).never.find("write backend = \"native\""), std::string::npos);
  EXPECT_NE(told(wide, on_the_host()).never.find("write tier = \"namespace\""), std::string::npos);
  EXPECT_TRUE(explained(wide, host, on_the_host()).at(0).never.ends_with("and grant that")) << "no workspace";
  for (const Plan& plan : {sample(), by_bwrap(), on_the_host()}) {
    const Denial system = told(path(Use::kMake, "/usr/new", Presence::kUnknown), plan);
    EXPECT_NE(system.never.find("\"/usr\" is never writable"), std::string::npos) << system.never;
  }
}

TEST(Explain, X4_NoLineAllowsAChangeOfOwners) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/out/x");
  for (const char* name : {"/home/me/data/x", "/home/me/out/x", "/work/own"}) {
    Sighting s = path(Use::kMark, name, Presence::kThere);
    s.owner = true;
    EXPECT_FALSE(is_granted(s, sample())) << name;
    const auto denials = explained(s, host);
    ASSERT_EQ(denials.size(), 1u) << name;
    EXPECT_EQ(denials[0], (Denial{"write", name, 2, "prog", "", std::string(kNoOwners)}));
    EXPECT_TRUE(explained(s, host, on_the_host()).empty()) << "Landlock does not judge it";
  }
}

TEST(Explain, X4_WhoAsksHowNamesAreFoundWantsTheNetwork) {
  Plan plan = sample();
  const Host host = Host().has("/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf");
  const Sighting s = path(Use::kOpen, "/etc/resolv.conf");
  ASSERT_EQ(explained(s, host, plan).size(), 1u);
  EXPECT_EQ(explained(s, host, plan)[0].allow, "");
  EXPECT_TRUE(explained(s, host, plan)[0].never.starts_with("name the host: net.allow = [\"HOST:PORT\"]"));
  plan.net = NetMode::kHost;
  EXPECT_NE(explained(s, host, plan)[0].never.find("symbolic link"), std::string::npos)
      << "then it is a file like others";
}

TEST(Explain, X4_NoLineGrantsAHomeToBeRead) {
  const Host host =
      Host().has("/home/me", {}, true, true).has("/opt", {}, true, true).has("/home/me/x", {}, true, true);
  for (const char* name : {"/home/me", "/opt"}) {
    const auto denials = explained(path(Use::kOpen, name), host);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].allow, "") << name;
    EXPECT_NE(denials[0].never.find("would grant all of"), std::string::npos);
  }
  EXPECT_EQ(explained(path(Use::kOpen, "/home/me/x"), host)[0].allow, "files.read = [\"/home/me/x\"]");
  EXPECT_EQ(explained(path(Use::kOpen, "/list"), Host().has("/list"))[0].allow, "files.read = [\"/list\"]") << "a file";
}

TEST(Explain, X4_HostileNamesStayInsideOfTheirQuotes) {
  const std::string name = "/home/me/\"]\nnet.allow = [\"evil:1";
  const auto denials = explained(path(Use::kOpen, name), Host().has(name));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "") << "no policy can name it";
  EXPECT_NE(denials[0].never, "");
  const std::string plain = "/home/me/\"] ' \\";
  EXPECT_EQ(explained(path(Use::kOpen, plain), Host().has(plain)).at(0).allow,
            "files.read = [\"/home/me/\\\"] ' \\\\\"]");
}

TEST(Explain, X4_ASecondLineForTheSamePathIsToldToo) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  Sighting write = path(Use::kOpen, "/home/me/data/x", Presence::kThere, true);
  Sighting change = path(Use::kChange, "/home/me/data/x", Presence::kThere);
  change.program = "other";
  const Sighting removal = path(Use::kRemove, "/home/me/data/x", Presence::kThere);
  const auto denials = explain({write, change, removal}, sample(), host.look());
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_THAT(denials[0].allow, testing::StartsWith("files.write = [\"/home/me/data\"]  # "));
  EXPECT_EQ(denials[1].allow, "files.write = [\"/home/me/data/x\"]");
  EXPECT_EQ(denials[1].count, 4u);
  EXPECT_EQ(denials[1].program, "prog, other");
}

TEST(Explain, X6_WhatAnOverlayCannotChangeForItsGroupIsToldWithTheCopy) {
  Plan plan = sample();
  plan.workspaces.emplace_back().path = "/home/me/tree";
  plan.reach.push_back({"/home/me/tree", landlock::kReadWrite});
  Sighting s = path(Use::kOpen, "/home/me/tree/deep/file", Presence::kThere, true);
  EXPECT_TRUE(is_granted(s, plan));
  s.needs_copy = true;
  EXPECT_FALSE(is_granted(s, plan));
  for (const Presence presence : {Presence::kThere, Presence::kUnknown}) {
    s.presence = presence;
    const auto denials = explained(s, Host(), plan);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].what + " " + denials[0].detail, "write /home/me/tree/deep/file");
    EXPECT_EQ(denials[0].allow, "workspace.mode = \"copy\"");
  }
}

}  // namespace
}  // namespace cloche::observe
