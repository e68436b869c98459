// Advice never names a line that opens secrets, a whole home directory, or where a cloud tells a machine its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/advice.h"
#include "observe/test_support.h"

namespace cloche::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

// A user whose home directory lies elsewhere, one more, and a directory that nobody could search.
Secrets secrets() {
  return {.home = "/home/me",
          .places = {"/home/me/dots/ssh"},
          .search =
              [](const std::string& directory) {
                if (directory == "/srv/large") return Below::kUnknown;
                return directory == "/srv/project" ? Below::kSecrets : Below::kNothing;
              },
          .homes = {"/srv/homes/you"},
          .obeyed = [](const std::string& directory) { return directory == "/srv/repo"; },
          .programs = {"/home/me/bin", "/opt/tools/bin"}};
}

Denial one(const Sighting& s, const Host& host, const Plan& plan = sample()) {
  static const Secrets kSecrets = secrets();
  const HostLook plain = host.look();
  const auto denials = explain({s}, plan, HostLook(plain, [] -> const Secrets& { return kSecrets; }));
  EXPECT_EQ(denials.size(), 1u) << s.what;
  return denials.empty() ? Denial{} : denials[0];
}

TEST(AdviceSecrets, X4_NoLineOpensAPlaceOfSecretsInAnyHome) {
  for (const std::string home : {"/home/me", "/home/other", "/root", "/srv/homes/you"}) {
    for (const char* place : {"/.ssh/id", "/.claude/x", "/.codex/auth.json", "/.config/gh/hosts.yml", "/.aws/config",
                              "/.netrc", "/p/.env", "/p/server.key", "/.bash_history", "/.viminfo"}) {
      const std::string path = home + place;
      for (const Use use : {Use::kOpen, Use::kExecute}) {
        const Denial denial = one(observe::path(use, path), Host().has(path));
        EXPECT_EQ(denial.allow, "") << path;
        EXPECT_THAT(denial.never, HasSubstr("place of secrets")) << path;
        EXPECT_THAT(denial.never, Not(HasSubstr("files.")));
      }
      const Denial denial = one(observe::path(Use::kOpen, path, Presence::kMissing, true), Host().has(path));
      EXPECT_EQ(denial.allow, "") << path;
    }
  }
}

TEST(AdviceSecrets, X4_NorDoesOneBehindALinkOrInAnotherCell) {
  const Host host = Host()
                        .has("/srv/way", "/home/me/.ssh/id")
                        .has("/home/me/.ssh/config", "/srv/moved/config")
                        .has("/home/me/dots/ssh/config");
  for (const char* path : {"/srv/way", "/home/me/.ssh/config", "/home/me/dots/ssh/config"}) {
    Plan plan = on_the_host();
    plan.own_host_uid = true;
    for (const Plan& cell : {sample(), by_bwrap(), plan}) {
      const Denial denial = one(observe::path(Use::kOpen, path), host, cell);
      EXPECT_EQ(denial.allow, "") << path;
      EXPECT_THAT(denial.never, Not(HasSubstr("files.read"))) << path;
    }
  }
}

TEST(AdviceSecrets, X4_NoWholeHomeAndNoDirectoryWithSecretsInIt) {
  for (const char* folder :
       {"/home/me", "/home/other", "/root", "/srv/homes/you", "/srv/homes", "/home/me/.config", "/srv/project"}) {
    const Host host = Host().has(folder, {}, true, true);
    EXPECT_EQ(one(path(Use::kOpen, folder), host).allow, "") << folder;
    const Denial made = one(path(Use::kMake, std::string(folder) + "/sub/new", Presence::kMissing),
                            Host().has(std::string(folder) + "/sub", {}, true, true));
    EXPECT_NE(made.allow, "") << "a directory of its own in it may be";
  }
  const Denial large = one(path(Use::kOpen, "/srv/large"), Host().has("/srv/large", {}, true, true));
  EXPECT_THAT(large.never, HasSubstr("too much in it"));
  EXPECT_NE(one(path(Use::kOpen, "/srv/data"), Host().has("/srv/data", {}, true, true)).allow, "");
}

TEST(AdviceSecrets, X4_NoLineLetsAGuestChangeWhatTheHostObeys) {
  for (const char* path :
       {"/home/me/.bashrc", "/home/me/.profile", "/srv/x/.zshrc", "/home/me/.gitconfig",
        "/home/me/.config/autostart/x.desktop", "/srv/p/.git/hooks/pre-commit", "/srv/p/.git/config",
        "/srv/p/.vscode/tasks.json", "/srv/p/.direnvrc", "/home/me/.local/bin/ls", "/srv/p/CLAUDE.md",
        "/home/me/bin/ls", "/opt/tools/bin/ls", "/home/me/.local/share/applications/x.desktop",
        "/home/me/.local/lib/python3.12/site-packages/x.pth", "/srv/p/venv/lib/python3.12/site-packages/x.pth"}) {
    const std::string folder = std::string(path).substr(0, std::string(path).rfind('/'));
    const Host there = Host().has(path).has(folder, {}, true, true);
    const Host nowhere = Host().has(folder, {}, true, true);
    Sighting made = observe::path(Use::kOpen, path, Presence::kMissing, true);
    made.makes = true;
    made.adrift = true;
    for (const Denial& denial : {one(observe::path(Use::kOpen, path, Presence::kMissing, true), there),
                                 one(made, nowhere), one(observe::path(Use::kRemove, path), there),
                                 one(observe::path(Use::kMark, path), there), one(made, nowhere, by_bwrap())}) {
      EXPECT_EQ(denial.allow, "") << path;
      EXPECT_THAT(denial.never, HasSubstr("nobody is advised to let a guest change it")) << path;
      EXPECT_THAT(denial.never, Not(HasSubstr("files."))) << path;
    }
    EXPECT_NE(one(observe::path(Use::kOpen, path), there).allow, "") << "it may be read: " << path;
  }
  // Another name for it, and one of a directory in which everything is obeyed.
  const Host link = Host().has("/srv/x/plain", "/home/me/.bashrc");
  EXPECT_EQ(one(path(Use::kOpen, "/srv/x/plain", Presence::kMissing, true), link).allow, "");
  const Host hooks = Host().has("/srv/p/.git/hooks", {}, true, true).has("/srv/p/.git", {}, true, true);
  EXPECT_EQ(one(path(Use::kRemove, "/srv/p/.git/hooks", Presence::kMissing), hooks).allow, "");
}

TEST(AdviceSecrets, X4_ADirectoryWithSuchNamesInItBecomesAProposal) {
  const auto denied = [](const char* folder, const Plan& plan) {
    Sighting made = path(Use::kMake, std::string(folder) + "/new", Presence::kMissing);
    made.adrift = true;
    return one(made, Host().has(folder, {}, true, true), plan);
  };
  EXPECT_EQ(denied("/srv/repo", sample()).allow, "workspace.path = [\"/srv/repo\"]");
  EXPECT_EQ(denied("/srv/plain", sample()).allow, "files.write = [\"/srv/plain\"]");
  // A guest that may change the way to such a name makes the rest of it: .config/systemd/user, .git/hooks.
  for (const char* way :
       {"/home/me/.config/systemd", "/srv/p/.git", "/srv/p/.git/modules/m", "/srv/p/.vscode", "/opt/tools",
        "/home/me/.local/lib", "/srv/p/venv/lib/python3.12", "/srv/p/venv/lib/python3.12/site-packages"}) {
    EXPECT_EQ(denied(way, sample()).allow, "workspace.path = [\"" + std::string(way) + "\"]");
  }
  // What lies deeper in a directory of programs has no name of its own there.
  EXPECT_EQ(denied("/opt/tools/bin/sub", sample()).allow, "files.write = [\"/opt/tools/bin/sub\"]");
  const Denial elsewhere = denied("/srv/repo", by_bwrap());
  EXPECT_EQ(elsewhere.allow, "");
  EXPECT_THAT(elsewhere.never, HasSubstr("workspace.path = [\"/srv/repo\"]"));
  EXPECT_THAT(elsewhere.never, Not(HasSubstr("files.write")));
}

TEST(AdviceSecrets, X4_NoSocketOfAnAgentOrADaemonOfTheHost) {
  for (const char* path : {"/home/me/.gnupg/S.gpg-agent", "/run/docker.sock", "/run/user/1000/keyring/ssh"}) {
    Sighting s = observe::path(Use::kConnect, path);
    s.family = Family::kPath;
    EXPECT_EQ(one(s, Host().has(path, {}, true, false, true)).allow, "") << path;
  }
  Sighting s = path(Use::kConnect, "/srv/app/s");
  s.family = Family::kPath;
  EXPECT_NE(one(s, Host().has("/srv/app/s", {}, true, false, true)).allow, "");
}

TEST(AdviceSecrets, X4_NoLineLeadsToMetadataOrToThisWire) {
  for (const char* host :
       {"169.254.169.254:80", "169.254.1.2:443", "[fe80::1]:80", "[fd00:ec2::254]:80", "[::ffff:169.254.169.254]:80",
        "metadata.google.internal:80", "METADATA.google.internal.:80", "100.100.100.200:80", "168.63.129.16:80"}) {
    EXPECT_EQ(advise_host(host).allow, "") << host;
    EXPECT_EQ(advise_denied_host(host, std::string(host) + " is not in net.allow").allow, "") << host;
    EXPECT_THAT(advise_host(host).never, Not(HasSubstr("net.allow"))) << host;
  }
  EXPECT_THAT(advise_name("metadata.google.internal", "it is not in net.allow").never, Not(HasSubstr("net.allow")));
  EXPECT_EQ(one(inet(Use::kConnect, "169.254.169.254:80"), Host()).allow, "");
  EXPECT_EQ(advise_host("192.0.2.7:443").allow, "net.allow = [\"192.0.2.7:443\"]");
  EXPECT_EQ(advise_host("api.example.org:443").allow, "net.allow = [\"api.example.org:443\"]");
}

}  // namespace
}  // namespace cloche::observe
