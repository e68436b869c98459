#include "observe/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "filter/filter.h"
#include "observe/advice.h"
#include "observe/below.h"
#include "plan/landlock.h"

namespace cloche::observe {
namespace {

using filter::Use;

// A cell that shows /usr, has a /work of its own and was granted two directories.
Plan sample() {
  Plan plan;
  plan.tier = Tier::kNamespace;
  plan.backend = Backend::kNamespace;
  plan.reach = {{"/", landlock::kReadDir},
                {"/usr", landlock::kReadExec},
                {"/work", landlock::kReadWrite},
                {"/home/me/data", landlock::kRead},
                {"/home/me/out", landlock::kReadWrite}};
  plan.grants = {"/home/me/data", "/home/me/out"};
  return plan;
}

// The host: a path, where it really is, and what its user may do.
class Host {
 public:
  Host& has(const std::string& path, const std::string& real = {}, bool allowed = true, bool directory = false,
            bool socket = false, const std::string& interpreter = {}) {
    files_[path] = {real.empty() ? path : real, directory, socket, allowed, {}, interpreter};
    if (!real.empty()) files_[path].links = {path.substr(0, path.rfind('/'))};
    return *this;
  }
  HostLook look() const {
    return [this](const std::string& path, Right) -> std::optional<HostPath> {
      const auto found = files_.find(path);
      return found == files_.end() ? std::nullopt : std::optional(found->second);
    };
  }

 private:
  std::map<std::string, HostPath> files_;
};

Sighting path(Use use, const std::string& what, Presence presence = Presence::kMissing, bool changes = false) {
  Sighting s;
  s.use = use;
  s.what = what;
  s.real = presence == Presence::kThere ? what : "";
  s.presence = presence;
  s.changes = changes;
  s.program = "prog";
  s.count = 2;
  return s;
}

Sighting inet(Use use, const std::string& what) {
  Sighting s = path(use, what);
  s.family = Family::kInet;
  return s;
}

std::vector<Denial> explained(const Sighting& s, const Host& host, const Plan& plan = sample()) {
  return explain({s}, plan, host.look());
}

TEST(Explain, X4_AReadOfWhatTheCellDoesNotShow) {
  const auto denials = explained(path(Use::kOpen, "/home/me/.ssh/id"), Host().has("/home/me/.ssh/id"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0], (Denial{"read", "/home/me/.ssh/id", 2, "prog", "files.read = [\"/home/me/.ssh/id\"]", ""}));
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
  EXPECT_EQ(denials[0].allow, "files.write = [\"/home/me/data\"]") << "a new file needs its directory";
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

TEST(Explain, X4_RemovalAndRenamingNeedTheDirectory) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  for (const Use use : {Use::kRemove, Use::kMake}) {
    const auto denials = explained(path(use, "/home/me/data/x", Presence::kThere), host);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].allow, "files.write = [\"/home/me/data\"]");
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

TEST(Explain, X4_NothingAllowsWhatThePolicyNeverGrants) {
  auto denials = explained(path(Use::kOpen, "/usr/bin/x", Presence::kThere, true), Host().has("/usr/bin/x"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("never writable"), std::string::npos);
  denials = explained(path(Use::kOpen, "/proc/self/mounts"), Host().has("/proc/self/mounts", "/proc/77/mounts"));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_NE(denials[0].never.find("/proc/self/mounts"), std::string::npos) << denials[0].never;
}

TEST(Explain, X4_NorWhatTheUserMayNotDoEither) {
  const auto denials = explained(path(Use::kOpen, "/etc/shadow"), Host().has("/etc/shadow", {}, false));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("outside of a cell either"), std::string::npos);
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

TEST(Explain, X4_SocketsByPathAndByName) {
  const Host host = Host().has("/run/x.sock", {}, true, false, true).has("/run/file");
  const auto to = [](const std::string& what, Family family) {
    Sighting s = path(Use::kConnect, what);
    s.family = family;
    return s;
  };
  auto denials = explained(to("/run/x.sock", Family::kPath), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "sockets.allow = [\"/run/x.sock\"]");
  EXPECT_TRUE(explained(to("/run/file", Family::kPath), host).empty()) << "nobody listens there";
  denials = explained(to("@bus", Family::kAbstract), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_NE(denials[0].never, "");
  Sighting there = to("@00001", Family::kAbstract);
  there.presence = Presence::kThere;
  EXPECT_TRUE(explained(there, host).empty()) << "a socket of the cell, by a name that the kernel chose";
  Sighting own = to("@bus", Family::kAbstract);
  own.use = Use::kBind;
  EXPECT_TRUE(explain({to("@bus", Family::kAbstract), own}, sample(), host.look()).empty()) << "it listens itself";
}

TEST(Explain, X4_AddressesWithoutAGateway) {
  auto denials = explained(inet(Use::kConnect, "192.0.2.7:443"), Host());
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "net.allow = [\"192.0.2.7:443\"]");
  EXPECT_TRUE(explained(inet(Use::kConnect, "127.0.0.1:80"), Host()).empty()) << "the cell's own";
  Plan with_gateway = sample();
  with_gateway.gateway.emplace();
  EXPECT_FALSE(explained(inet(Use::kConnect, "192.0.2.7:443"), Host(), with_gateway).empty()) << "for sockets only";
  with_gateway.gateway->proxy_port = 3128;
  EXPECT_TRUE(explained(inet(Use::kConnect, "192.0.2.7:443"), Host(), with_gateway).empty()) << "in its own record";
  for (const char* at : {"127.0.0.1:80", "[::]:81", "192.0.2.1:8080"}) {
    EXPECT_TRUE(explained(inet(Use::kBind, at), Host(), with_gateway).empty()) << "every address and port is its own";
  }
  EXPECT_EQ(explained(inet(Use::kBind, "127.0.0.1:80"), Host()).size(), 1u);
  EXPECT_EQ(explained(inet(Use::kBind, "192.0.2.7:8080"), Host()).size(), 1u);
  EXPECT_TRUE(explained(inet(Use::kBind, "0.0.0.0:8080"), Host()).empty());
}

TEST(Explain, X4_CallsThatTheFilterRefused) {
  const auto rules = filter::rules(filter::native_arch(), {});
  const auto refused = [&](std::string_view name, std::array<std::uint64_t, 6> args) {
    Sighting s;
    s.refused = true;
    s.number = std::ranges::find(rules, name, &filter::Rule::name)->number;
    s.args = args;
    s.count = 1;
    return explained(s, Host()).at(0);
  };
  EXPECT_NE(refused("socket", {2, 1, 0}).never.find("net.allow"), std::string::npos);
  EXPECT_NE(refused("socket", {2, 1, 0}).never.find("net.loopback = true"), std::string::npos);
  EXPECT_NE(refused("socket", {2, 3, 0}).never.find("forge"), std::string::npos);
  EXPECT_EQ(refused("socket", {16, 3, 0}).what, "socket");
  EXPECT_EQ(refused("socket", {16, 3, 0}).detail, "AF_NETLINK, raw");
  for (const std::uint64_t family : {16, 29}) {
    EXPECT_NE(refused("socket", {family, 3, 0}).never.find("family"), std::string::npos) << "netlink, CAN";
  }
  EXPECT_EQ(refused("memfd_create", {}).allow, "files.exec_writable = true");
  const Denial mount = refused("mount", {});
  EXPECT_EQ(mount.what, "syscall");
  EXPECT_EQ(mount.detail, "mount");
  EXPECT_NE(mount.never, "");
}

TEST(Explain, X4_UnixSocketsOnTierProcess) {
  const auto rules = filter::rules(filter::native_arch(), {});
  Sighting s;
  s.refused = true;
  s.number = std::ranges::find(rules, "socket", &filter::Rule::name)->number;
  s.args = {1, 1, 0};
  Plan plan = sample();
  plan.tier = Tier::kProcess;
  EXPECT_EQ(explained(s, Host(), plan).at(0).allow, "") << "in a cell that is granted files there are none either";
  plan.grants.clear();
  EXPECT_EQ(explained(s, Host(), plan).at(0).allow, "tier = \"namespace\"");
}

TEST(Explain, TheSameIsCountedOnceAndTheListIsBounded) {
  Host host;
  std::vector<Sighting> many;
  for (std::size_t i = 0; i < kMostDenials + 10; ++i) {
    const std::string name = "/home/me/f" + std::to_string(i);
    host.has(name);
    many.push_back(path(Use::kOpen, name));
    many.push_back(path(Use::kLook, name));
  }
  const auto denials = explain(many, sample(), host.look());
  ASSERT_EQ(denials.size(), kMostDenials + 1);
  EXPECT_EQ(denials[0].count, 4u) << "opened and looked at";
  EXPECT_EQ(denials.back().what, "more");
  EXPECT_EQ(denials.back().count, 40u);
}

TEST(Explain, X4_ASecondLineForTheSamePathIsToldToo) {
  const Host host = Host().has("/home/me/data/x").has("/home/me/data", {}, true, true);
  Sighting write = path(Use::kOpen, "/home/me/data/x", Presence::kThere, true);
  Sighting change = path(Use::kChange, "/home/me/data/x", Presence::kThere);
  change.program = "other";
  const Sighting removal = path(Use::kRemove, "/home/me/data/x", Presence::kThere);
  const auto denials = explain({write, change, removal}, sample(), host.look());
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_EQ(denials[0].allow, "files.write = [\"/home/me/data\"]");
  EXPECT_EQ(denials[1].allow, "files.write = [\"/home/me/data/x\"]");
  EXPECT_EQ(denials[1].count, 4u);
  EXPECT_EQ(denials[1].program, "prog, other");
}

TEST(Explain, X4_ProgramsAreNamedUpToAFew) {
  std::string programs;
  for (const char* name : {"a", "", "b", "a", "c", "b, d", "e", "f"}) add_programs(programs, name);
  EXPECT_EQ(programs, "a, b, c, d, …");
}

TEST(Explain, X4_TheMostTellingIsLookedForFirst) {
  Host host;
  std::vector<Sighting> many;
  for (int i = 0; i < 20; ++i) {
    host.has("/home/me/f" + std::to_string(i));
    many.push_back(path(i % 2 == 0 ? Use::kLook : Use::kOpen, "/home/me/f" + std::to_string(i)));
  }
  many.push_back(path(Use::kExecute, "/home/me/f0"));
  many.push_back(path(Use::kOpen, "/home/me/f1", Presence::kMissing, true));
  int left = 4;
  const auto denials = explain(many, sample(), [&](const std::string& name, Right right) {
    return left-- > 0 ? host.look()(name, right) : std::nullopt;
  });
  ASSERT_GE(denials.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(denials, [](const Denial& d) { return d.what == "exec"; }));
  EXPECT_TRUE(std::ranges::any_of(denials, [](const Denial& d) { return d.what == "write"; }));
}

TEST(Explain, X4_TheFirstAndTheLastAreKept) {
  Host host;
  std::vector<Sighting> many;
  for (std::size_t i = 0; i < 2 * kMostDenials; ++i) {
    host.has("/home/me/f" + std::to_string(i));
    many.push_back(path(Use::kOpen, "/home/me/f" + std::to_string(i)));
  }
  const auto denials = explain(many, sample(), host.look());
  ASSERT_EQ(denials.size(), kMostDenials + 1);
  EXPECT_EQ(denials[0].detail, "/home/me/f511");
  EXPECT_EQ(denials[kMostDenials - 1].detail, "/home/me/f0");
}

TEST(Explain, X4_TheInterpreterOfAScript) {
  Host host;
  host.has("/home/me/data/script", {}, true, false, false, "/home/me/bin/python");
  host.has("/home/me/bin/python").has("/usr/bin/env");
  Plan plan = sample();
  plan.grants.push_back("/opt/x");
  plan.reach.push_back({"/opt/x", landlock::kReadExec});
  host.has("/opt/x/script", {}, true, false, false, "/home/me/bin/python");
  host.has("/opt/x/usual", {}, true, false, false, "/usr/bin/env");
  const Sighting granted = path(Use::kExecute, "/opt/x/script", Presence::kThere);
  EXPECT_FALSE(is_granted(granted, plan)) << "or nobody would ask";
  auto denials = explained(granted, host, plan);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0],
            (Denial{"exec", "/home/me/bin/python", 2, "prog", "files.exec = [\"/home/me/bin/python\"]", ""}));
  EXPECT_TRUE(explained(path(Use::kExecute, "/opt/x/usual", Presence::kThere), host, plan).empty());
  denials = explained(path(Use::kExecute, "/home/me/data/script", Presence::kThere), host, plan);
  EXPECT_EQ(denials.size(), 2u) << "the script and its interpreter";
}

TEST(Explain, X4_SocketsThatAreBoundOnTheHost) {
  Sighting s = path(Use::kBind, "/home/me/s");
  s.family = Family::kPath;
  const auto denials = explained(s, Host().has("/home/me", {}, true, true).has("/home", {}, true, true));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "") << "where files of the host are granted there are no such sockets";
  EXPECT_NE(denials[0].never.find("/tmp"), std::string::npos);
}

TEST(Explain, X4_DatagramsDoNotLeave) {
  Sighting s = inet(Use::kConnect, "192.0.2.7:53");
  s.datagram = true;
  const auto denials = explained(s, Host());
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("datagrams"), std::string::npos);
}

TEST(Explain, X4_WhatTheGatewayRefused) {
  NetworkUse use;
  Connection c;
  c.name = "evil.example";
  c.port = 443;
  c.verdict = Verdict::kDenied;
  c.reason = "evil.example:443 is not in net.allow";
  c.count = 3;
  use.connections.push_back(c);
  c.reason = "evil.example:443 is denied by net.deny \"*.example:443\"";
  c.name = "also.example";
  use.connections.push_back(c);
  const auto denials = explain_network(use);
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_EQ(denials[0].allow, "net.allow = [\"evil.example:443\"]");
  EXPECT_EQ(denials[0].count, 3u);
  EXPECT_EQ(denials[1].allow, "");
  EXPECT_NE(denials[1].never.find("net.deny"), std::string::npos);
}

TEST(Explain, X4_ACeilingMayForbidTheLine) {
  const auto ceiling = parse_ceiling("version = 1\n[files]\nread = [\"/srv\"]\n", "ceiling.toml");
  ASSERT_TRUE(ceiling.has_value()) << ceiling.error().text();
  std::vector<Denial> denials = {{"read", "/srv/x", 1, "", "files.read = [\"/srv/x\"]", ""},
                                 {"read", "/home/x", 1, "", "files.read = [\"/home/x\"]", ""}};
  keep_below(denials, {*ceiling});
  EXPECT_NE(denials[0].allow, "");
  EXPECT_EQ(denials[1].allow, "");
  EXPECT_NE(denials[1].never.find("ceiling"), std::string::npos);
}

TEST(Sightings, PathsAreMadeAbsoluteByTheirWords) {
  EXPECT_EQ(absolute("/work", "a/../b"), "/work/b");
  EXPECT_EQ(absolute("/work", "../../../etc"), "/etc");
  EXPECT_EQ(absolute("/work", "/a//./b/"), "/a/b");
  EXPECT_EQ(absolute("/", ".."), "/");
}

}  // namespace
}  // namespace cloche::observe
