#include "prove/granted.h"

#include <gtest/gtest.h>

namespace cloche::prove {
namespace {

const Words kHomes{"/home/me", "/data/me/"};

std::string why(const Attack& attack, const Policy& policy) {
  return grant_of(attack, granted_by(policy, cloche::Plan{}, kHomes));
}
std::string why_reading(const Words& areas, const std::string& grant) {
  Policy policy;
  policy.files.read = {grant};
  return why({.reads = areas}, policy);
}

TEST(Granted, WhatLiesInTheHomeIsFoundInEverySpelling) {
  for (const char* grant : {"~/.ssh", "~/.ssh/", "~//.ssh", "/home/me/.ssh", "/home/me/x/../.ssh", "/data/me/.ssh"}) {
    EXPECT_EQ(why_reading({".ssh"}, grant), "files.read grants \"~/.ssh\"") << grant;
  }
  for (const char* grant : {"~", "~/", "/home/me", "/home/me/", "/data/me"}) {
    EXPECT_EQ(why_reading({".ssh"}, grant), "files.read grants \"~\"") << grant;
  }
  EXPECT_EQ(why_reading({".ssh"}, "/home"), "files.read grants \"/home\"");
  EXPECT_EQ(why_reading({".ssh"}, "/"), "files.read grants \"/\"");
}

TEST(Granted, APartOfWhatAnAttackIsAboutCounts) {
  EXPECT_EQ(why_reading({".ssh"}, "~/.ssh/id_rsa"), "files.read grants \"~/.ssh/id_rsa\"");
  EXPECT_EQ(why_reading({".config/gh"}, "~/.config"), "files.read grants \"~/.config\"");
}

TEST(Granted, WhatLiesElsewhereChangesNothing) {
  for (const char* grant : {"~/.sshd", "~/project", "/home/me2", "/home/other/.ssh", "/etc", "~/x/.ssh"}) {
    EXPECT_EQ(why_reading({".ssh"}, grant), "") << grant;
  }
}

TEST(Granted, AllOfAHomeIsMoreThanAnythingInIt) {
  EXPECT_EQ(why_reading({"."}, "~/project"), "");
  EXPECT_NE(why_reading({"."}, "~"), "");
  EXPECT_NE(why_reading({"any"}, "~/project"), "");
}

TEST(Granted, WhatMayOnlyBeReadCannotBeChanged) {
  Policy policy;
  policy.files.read = {"~"};
  policy.workspace.path = {"~/.config"};
  EXPECT_EQ(why({.changes = {".bashrc", ".config/autostart"}}, policy), "");
  policy.files.write = {"~/.bashrc"};
  EXPECT_EQ(why({.changes = {".bashrc"}}, policy), "files.write grants \"~/.bashrc\"");
  policy.files.read.clear();
  EXPECT_EQ(why({.reads = {".bashrc"}}, policy), "files.write grants \"~/.bashrc\"") << "and may be read";
  EXPECT_EQ(why({.reads = {".config"}}, policy), "workspace.path grants \"~/.config\"");
  policy.files.exec = {"~/bin"};
  EXPECT_EQ(why({.reads = {"bin"}}, policy), "files.exec grants \"~/bin\"");
}

TEST(Granted, WhoMayExecuteWhatHeWroteBreachesNothingByIt) {
  Policy policy;
  EXPECT_EQ(why({.not_with = {"exec-writable"}}, policy), "");
  policy.files.exec_writable = true;
  EXPECT_EQ(why({.not_with = {"exec-writable"}}, policy), "files.exec_writable lets it execute what it wrote");
}

TEST(Granted, WhoMayUseASocketBreachesNothingByIt) {
  Policy policy;
  EXPECT_EQ(why({.not_with = {"sockets"}}, policy), "");
  policy.sockets = {{"/run/x.sock", {}}};
  EXPECT_EQ(why({.not_with = {"sockets"}}, policy), "sockets.allow grants \"/run/x.sock\"");
}

TEST(Granted, ThePlanSaysWhatThePolicyRunsOn) {
  cloche::Plan plan;
  plan.backend = Backend::kBwrap;
  plan.watched = {"/home/me"};
  plan.grants = {"/home/me", "/opt/x"};
  const Granted granted = granted_by({}, plan, kHomes);
  EXPECT_EQ(granted.backend, Backend::kBwrap);
  EXPECT_EQ(granted.writable, Words{"/home/me"});
  EXPECT_EQ(granted.places, (Words{"/home/me", "/opt/x"}));
}

TEST(Granted, APlaceIsAroundWhatLiesInIt) {
  const Words places{"/opt/x", "/var/"};
  EXPECT_EQ(place_around("/var/tmp/stage", places), "/var/");
  EXPECT_EQ(place_around("/opt/x", places), "/opt/x");
  EXPECT_EQ(place_around("/opt/xy", places), "");
  EXPECT_EQ(place_around("/opt/y/../x/z", places), "/opt/x");
  EXPECT_EQ(place_around("/opt", places), "");
}

TEST(Granted, WhatIsPlantedInAGrantIsNoBreach) {
  Granted granted;
  const Attack reading{.reads = {".ssh"}}, changing{.changes = {"."}}, by_name{.not_with = {"bait"}};
  for (const Attack& attack : {reading, changing, by_name}) EXPECT_EQ(grant_of(attack, granted), "");
  bait_is_granted(granted, "/tmp");
  for (const Attack& attack : {reading, changing, by_name}) {
    EXPECT_EQ(grant_of(attack, granted), "the policy grants \"/tmp\", where what it looks for is planted");
  }
  EXPECT_EQ(grant_of({.not_with = {"sockets"}}, granted), "");
}

TEST(Granted, ANetworkOfTheHostIsNoWall) {
  cloche::Plan plan;
  EXPECT_EQ(granted_by({}, plan, kHomes).net, Granted::Net::kNone);
  plan.net = NetMode::kHost;
  plan.env = {{"HTTP_PROXY", "x"}};
  const Granted granted = granted_by({}, plan, kHomes);
  EXPECT_EQ(granted.net, Granted::Net::kSome);
  EXPECT_EQ(granted.variables, Words{"HTTP_PROXY"});
  EXPECT_EQ(grant_of({.not_with = {"host-network"}}, granted), "net.mode grants the host's network");
  EXPECT_EQ(grant_of({.not_with = {"sockets"}}, granted), "");
}

}  // namespace
}  // namespace cloche::prove
