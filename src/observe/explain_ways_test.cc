// From one mount to another, through directories that the cell does not have, to sockets, to interpreters of scripts,
// and of what is granted already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/explain.h"
#include "observe/explain_path.h"
#include "observe/test_support.h"
#include "policy/parse.h"

namespace cloche::observe {
namespace {

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

// As those of a virtual environment do: the link is in the directory that is granted, and what it leads to is not.
TEST(Explain, X4_AnInterpreterThatIsALinkOutOfView) {
  Host host;
  host.has("/opt/x/script", {}, true, false, false, "/opt/x/python").has("/opt/x/python", "/home/me/bin/python3");
  host.has("/opt/x/lost", {}, true, false, false, "/opt/x/nowhere");
  Plan plan = sample();
  plan.grants.push_back("/opt/x");
  plan.reach.push_back({"/opt/x", landlock::kReadExec});
  const Sighting started = path(Use::kExecute, "/opt/x/script", Presence::kThere);
  const auto denials = explained(started, host, plan);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0], (Denial{"exec", "/opt/x/python", 2, "prog", "files.exec = [\"/home/me/bin/python3\"]", ""}));
  EXPECT_EQ(lacking_interpreter("/opt/x/script", plan, host.look()), "/opt/x/python");
  EXPECT_EQ(lacking_interpreter("/opt/x/lost", plan, host.look()), "/opt/x/nowhere");
  plan.grants.push_back("/home/me/bin");
  plan.reach.push_back({"/home/me/bin", landlock::kReadExec});
  EXPECT_TRUE(explained(started, host, plan).empty());
  EXPECT_EQ(lacking_interpreter("/opt/x/script", plan, host.look()), "");
  host.has("/work/script", {}, true, false, false, "/nowhere")
      .has("/home/me/script", {}, true, false, false, "/nowhere");
  for (const char* other : {"/work/script", "/home/me/script", "/opt/x/nothing"}) {
    EXPECT_EQ(lacking_interpreter(other, plan, host.look()), "") << other << " is no script of the host's in the cell";
  }
}

TEST(Explain, X4_ALineForAPathThatIsGrantedAlreadySaysWhatHasToGo) {
  const auto line = [](std::uint64_t rights, const char* granted, const char* folder = "/srv/x") {
    Plan plan = sample();
    plan.grants.emplace_back(granted);
    plan.reach.push_back({granted, rights});
    const Host host = Host().has(folder, {}, true, true).has("/srv/x/f").has("/srv/x/.git", {}, true, true);
    const auto denials = explained(path(Use::kMake, std::string(folder) + "/new", Presence::kMissing), host, plan);
    return denials.size() == 1 ? denials[0].allow : "?";
  };
  EXPECT_EQ(line(landlock::kRead, "/srv/x"), "files.write = [\"/srv/x\"]  # and take it out of files.read (--read)");
  EXPECT_EQ(line(landlock::kReadExec, "/srv/x"),
            "files.write = [\"/srv/x\"]  # and take it out of files.exec (--exec); files.exec_writable = true keeps it "
            "executable");
  EXPECT_EQ(line(landlock::kRead, "/srv/x/f"), "files.write = [\"/srv/x\"]") << "another path is no contradiction";
  const auto policy = parse_policy("version = 1\n" + line(landlock::kRead, "/srv/x") + "\n", "x");
  ASSERT_TRUE(policy) << "it is a line all the same";
  EXPECT_THAT(policy->files.write, testing::ElementsAre("/srv/x"));
}

TEST(ExplainWays, X4_FromOneGrantToAnother) {
  Plan plan = sample();
  plan.reach.push_back({"/home/me/in", landlock::kReadWrite});
  plan.reach.push_back({"/srv/x/a", landlock::kReadWrite});
  plan.reach.push_back({"/srv/x/b", landlock::kReadWrite});
  plan.grants = {"/home/me/in", "/home/me/out", "/srv/x/a", "/srv/x/b"};
  Host host;
  for (const char* folder : {"/srv/x", "/srv/x/a", "/srv/x/b", "/home/me", "/home/me/in", "/home/me/out"}) {
    host.has(folder, {}, true, true);
  }
  const auto told = [&](const std::string& from, const std::string& to) {
    Sighting s = path(Use::kMake, to);
    s.from = from;
    EXPECT_FALSE(is_granted(s, plan));
    const auto denials = explained(s, host, plan);
    return denials.size() == 1 && denials[0].allow.empty() ? denials[0].never : "";
  };
  EXPECT_EQ(mount_of(plan, "/srv/x/a/f"), "/srv/x/a");
  EXPECT_EQ(mount_of(plan, "/srv/x/ab"), "");
  EXPECT_EQ(told("/srv/x/a/f", "/srv/x/b/f"),
            std::string(kApart) + ", or name both by one line in place of two: files.write = [\"/srv/x\"]");
  EXPECT_EQ(told("/srv/x/a/f", "/work/f"), kApart) << "no grant makes one mount of them";
  EXPECT_EQ(told("/home/me/in/f", "/home/me/out/f"), kApart) << "no line grants a whole home directory";
  EXPECT_EQ(told("/srv/x/a/f", "/home/me/out/f"), kApart) << "nor all";
  plan.workspaces.push_back({"/srv/x/b", "b", false, {}});
  EXPECT_EQ(told("/srv/x/a/f", "/srv/x/b/f"), kApart) << "a grant is no workspace";
  plan.workspaces.push_back({"/srv/x/a", "a", false, {}});
  EXPECT_EQ(told("/srv/x/a/f", "/srv/x/b/f"),
            std::string(kApart) + ", or name both by one line in place of two: workspace.path = [\"/srv/x\"]");
}

TEST(ExplainWays, X4_DirectoriesThatTheHostHas) {
  Host host;
  host.has("/srv", {}, true, true)
      .has("/srv/x", {}, true, true)
      .has("/srv/y", {}, false, true)
      .has("/", {}, true, true);
  const auto told = [&](const std::string& name) {
    Sighting s = path(Use::kMake, name);
    s.anew = true;
    s.adrift = name != "/srv";
    const auto denials = explained(s, host);
    return denials.size() == 1 ? denials[0].allow + denials[0].never : "";
  };
  const std::string below = "the host has this directory, and the cell does not: grant what is needed below it";
  EXPECT_EQ(told("/srv/x"), "files.write = [\"/srv/x\"]") << "and not that of /srv";
  EXPECT_EQ(told("/srv/y"), below) << "whoever may not write to it may write below it";
  EXPECT_EQ(told("/srv"), below);
  EXPECT_EQ(told("/srv/x/new"), "files.write = [\"/srv/x\"]");
}

TEST(ExplainWays, X4_ASocketIsNotReadBecauseItIsNamed) {
  Sighting s = path(Use::kOpen, "/run/x.sock");
  s.count = 0;
  EXPECT_TRUE(explained(s, Host().has("/run/x.sock", {}, true, false, true)).empty());
}

}  // namespace
}  // namespace cloche::observe
