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
  return plan;
}

// The host: a path, where it really is, and what its user may do.
class Host {
 public:
  Host& has(const std::string& path, const std::string& real = {}, bool allowed = true, bool directory = false,
            bool socket = false) {
    files_[path] = {real.empty() ? path : real, directory, socket, allowed};
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
  EXPECT_EQ(explained(path(Use::kOpen, plain), Host().has(plain)).at(0).allow, "") << "nor paste it";
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
  EXPECT_EQ(refused("socket", {16, 3, 0}).what, "socket");
  EXPECT_NE(refused("socket", {16, 3, 0}).never, "");
  EXPECT_EQ(refused("memfd_create", {}).allow, "files.exec_writable = true");
  const Denial mount = refused("mount", {});
  EXPECT_EQ(mount.what, "syscall");
  EXPECT_EQ(mount.detail, "mount");
  EXPECT_NE(mount.never, "");
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
