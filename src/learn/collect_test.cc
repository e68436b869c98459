#include "learn/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plan/landlock.h"
#include "policy/key_value.h"

namespace cloche::learn {
namespace {

using filter::Use;
using observe::HostPath;
using observe::Presence;
using observe::Sighting;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Secrets secrets() {
  return {"/home/me", {"/home/me/dots/ssh", "/var/kept/state"}, [](const std::string& directory) {
            if (directory == "/proj/large") return Below::kUnknown;
            return path_covers(directory, "/proj/backup/old/.ssh") ? Below::kSecrets : Below::kNothing;
          }};
}

struct Fake {
  std::map<std::string, HostPath> files;
  std::map<std::string, std::vector<std::string>> links;
  std::map<std::string, std::string> interpreters;
  std::vector<std::string> programs;
  std::vector<std::string> granted{"/proj", "/opt"};
  std::string cwd;

  void file(const std::string& path) { files[path] = {path, false, false, true, true}; }
  void folder(const std::string& path) { files[path] = {path, true, false, true}; }

  Host host() const {
    return {[this](const std::string& path, observe::Right) {
              const auto found = files.find(path);
              return found == files.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& path) {
              const auto found = links.find(path);
              return found == links.end() ? std::vector<std::string>() : found->second;
            },
            [this](const std::string& path) { return std::ranges::find(programs, path) != programs.end(); },
            [this](const std::string& path) {
              const auto found = interpreters.find(path);
              return found == interpreters.end() ? std::string() : found->second;
            },
            [](const std::string&) { return std::optional<std::size_t>(1); }};
  }

  Collected collect(const std::vector<Sighting>& seen, Hidden hidden = Hidden::kLeave) const {
    Setting setting;
    setting.secrets = secrets();
    setting.hidden = hidden;
    setting.cwd = cwd;
    setting.already = [](const std::string& path) { return path_covers("/usr", path) ? landlock::kReadExec : 0; };
    setting.was_granted = [this](const std::string& path) {
      return std::ranges::any_of(granted, [&](const std::string& grant) { return path_covers(grant, path); });
    };
    return learn::collect(seen, setting, host());
  }
};

Sighting sighting(Use use, const std::string& path, Presence presence = Presence::kThere) {
  Sighting out;
  out.use = use;
  out.what = path;
  out.presence = presence;
  out.count = 1;
  return out;
}

Sighting writing(const std::string& path, Presence presence = Presence::kThere) {
  Sighting out = sighting(Use::kOpen, path, presence);
  out.changes = true;
  return out;
}

TEST(Collect, TakesWhatWasReadAndNotWhatEveryCellShows) {
  Fake fake;
  fake.file("/proj/a");
  fake.file("/usr/bin/cat");
  const Collected got = fake.collect({sighting(Use::kExecute, "/usr/bin/cat"), sighting(Use::kOpen, "/proj/a")});
  EXPECT_THAT(got.items, ElementsAre(Item{Kind::kRead, "/proj/a"}));
}

TEST(Collect, TakesALookForALookOnly) {
  Fake fake;
  fake.file("/proj/a");
  const Collected got = fake.collect({sighting(Use::kLook, "/proj/a")});
  EXPECT_THAT(got.items, IsEmpty());
  EXPECT_THAT(got.looks, ElementsAre(Item{Kind::kRead, "/proj/a"}));
}

TEST(Collect, NeverTakesALookAtWhatLiesAboveTheStartForItsTree) {
  Fake fake;
  for (const char* path : {"/opt/g", "/opt/g/p", "/opt/g/p/.git", "/opt/g/other"}) fake.folder(path);
  fake.cwd = "/opt/g/p";
  const Collected got =
      fake.collect({sighting(Use::kLook, "/opt/g"), sighting(Use::kEnter, "/opt/g"), sighting(Use::kLook, "/opt/g/p"),
                    sighting(Use::kLook, "/opt/g/p/.git"), sighting(Use::kLook, "/opt/g/other")});
  EXPECT_THAT(got.items, IsEmpty());
  std::vector<std::string> names;
  for (const Item& item : got.looks) {
    names.push_back(item.what);
    EXPECT_EQ(item.note, "the directory was looked at; all that lies in it can be read");
  }
  EXPECT_THAT(names, ElementsAre("/opt/g/p", "/opt/g/p/.git", "/opt/g/other"));
  // Who lists it is taken by its word.
  const Collected lists = fake.collect({sighting(Use::kOpen, "/opt/g")});
  ASSERT_THAT(lists.items, SizeIs(1));
  EXPECT_EQ(lists.items[0].note, "the directory was listed");
}

TEST(Collect, GoesByTheRealPathAndGrantsWhereLinksLie) {
  Fake fake;
  fake.files["/opt/way"] = {"/proj/a", false, false, true};
  fake.links["/opt/way"] = {"/opt/links"};
  const Collected got = fake.collect({sighting(Use::kOpen, "/opt/way")});
  ASSERT_THAT(got.items, SizeIs(2));
  EXPECT_EQ(got.items[0].what, "/opt/links");
  EXPECT_TRUE(got.items[0].directory);
  EXPECT_EQ(got.items[1].what, "/proj/a");
}

TEST(Collect, NeverGrantsAPlaceOfSecretsAndSaysSo) {
  Fake fake;
  fake.file("/home/me/.ssh/id_rsa");
  fake.file("/etc/shadow");
  fake.folder("/home/me");
  for (const Hidden hidden : {Hidden::kLeave, Hidden::kGrant}) {
    const Collected got = fake.collect(
        {sighting(Use::kOpen, "/home/me/.ssh/id_rsa", Presence::kMissing),
         sighting(Use::kOpen, "/etc/shadow", Presence::kMissing), sighting(Use::kOpen, "/home/me", Presence::kMissing),
         writing("/home/me/new", Presence::kMissing)},
        hidden);
    EXPECT_THAT(got.items, IsEmpty());
    EXPECT_GE(got.wanted.size(), 2U);
    EXPECT_EQ(got.wanted[0].what, "read /home/me/.ssh/id_rsa");
  }
}

TEST(Collect, GrantsNoDirectoryWithSecretsSomewhereBelow) {
  Fake fake;
  for (const char* folder : {"/proj", "/proj/backup", "/proj/large", "/proj/backup/old"}) fake.folder(folder);
  fake.file("/proj/backup/old/note");
  fake.file("/proj/large/a\nb");
  fake.links["/proj/backup/old/note"] = {"/proj/backup"};
  const Collected got =
      fake.collect({sighting(Use::kOpen, "/proj/backup"), sighting(Use::kOpen, "/proj/large"),
                    sighting(Use::kOpen, "/proj/backup/old/note"), sighting(Use::kOpen, "/proj/large/a\nb"),
                    writing("/proj/new", Presence::kMissing), writing("/proj/large/new", Presence::kMissing)});
  EXPECT_THAT(got.items, ElementsAre(Item{Kind::kRead, "/proj/backup/old/note"}));
  ASSERT_THAT(got.wanted, SizeIs(4));
  EXPECT_EQ(got.wanted[0].reason, "it holds places of secrets; grant what is needed in it by name");
  EXPECT_TRUE(got.wanted[1].reason.starts_with("it could not be searched")) << got.wanted[1].reason;
}

TEST(Collect, SaysWhatWasOnlyLookedAt) {
  Fake fake;
  fake.folder("/home/me");
  const auto looked = [&](const std::vector<Sighting>& seen) {
    const Collected got = fake.collect(seen);
    EXPECT_THAT(got.wanted, SizeIs(1));
    return !got.wanted.empty() && got.wanted[0].looked;
  };
  EXPECT_TRUE(looked({sighting(Use::kLook, "/home/me")}));
  EXPECT_FALSE(looked({sighting(Use::kOpen, "/home/me")}));
  EXPECT_FALSE(looked({sighting(Use::kLook, "/home/me"), sighting(Use::kOpen, "/home/me")}));
}

TEST(Collect, ALinkMakesNoSecretLess) {
  Fake fake;
  fake.files["/home/me/.ssh/config"] = {"/opt/moved/config", false, false, true};
  fake.files["/opt/harmless"] = {"/home/me/.aws/credentials", false, false, true};
  fake.files["/opt/device"] = {"/dev/watchdog", false, false, true};
  const Collected got = fake.collect({sighting(Use::kOpen, "/home/me/.ssh/config"),
                                      sighting(Use::kOpen, "/opt/harmless"), sighting(Use::kOpen, "/opt/device")},
                                     Hidden::kGrant);
  EXPECT_THAT(got.items, IsEmpty());
  EXPECT_THAT(got.wanted, SizeIs(2));
}

TEST(Collect, LeavesWhatWasNotShownUnlessTheRunFailed) {
  Fake fake;
  fake.file("/srv/config");
  const std::vector<Sighting> seen{sighting(Use::kOpen, "/srv/config", Presence::kMissing)};
  EXPECT_THAT(fake.collect(seen, Hidden::kLeave).items, IsEmpty());
  EXPECT_THAT(fake.collect(seen, Hidden::kGrant).items, ElementsAre(Item{Kind::kRead, "/srv/config"}));
}

TEST(Collect, LeavesTheCellsOwnFiles) {
  Fake fake;
  fake.file("/tmp/x");
  fake.folder("/tmp");
  const Collected got =
      fake.collect({sighting(Use::kOpen, "/tmp/x"), writing("/tmp/y"), sighting(Use::kOpen, "/proc/self/maps")});
  EXPECT_THAT(got.items, IsEmpty());
}

TEST(Collect, TakesTheNearestDirectoryForAChange) {
  Fake fake;
  fake.folder("/proj");
  fake.folder("/proj/out");
  fake.file("/proj/out/log");
  const Collected got = fake.collect({writing("/proj/out/deep/er/new", Presence::kMissing), writing("/proj/out/log")});
  ASSERT_THAT(got.items, SizeIs(1));
  EXPECT_EQ(got.items[0].kind, Kind::kChange);
  EXPECT_EQ(got.items[0].what, "/proj/out");
}

TEST(Collect, ADirectoryThatIsThereIsNotMade) {
  Fake fake;
  fake.folder("/proj");
  fake.folder("/proj/out");
  const Collected got =
      fake.collect({sighting(Use::kMake, "/proj/out"), sighting(Use::kMake, "/proj/out/new", Presence::kMissing)});
  ASSERT_THAT(got.items, SizeIs(1));
  EXPECT_EQ(got.items[0].what, "/proj/out");
}

TEST(Collect, WhatIsRenamedFromOneMountToAnotherTakesWhatHoldsBoth) {
  Fake fake;
  for (const char* folder : {"/", "/proj", "/proj/x", "/proj/x/a", "/proj/x/b", "/proj/backup", "/opt", "/opt/a"}) {
    fake.folder(folder);
  }
  const auto wanted = [&](const std::string& from, const std::string& to) {
    Sighting renamed = sighting(Use::kMake, to, Presence::kMissing);
    renamed.from = from;
    const Collected got = fake.collect({renamed});
    EXPECT_THAT(got.wanted, IsEmpty()) << "whoever copies instead does without";
    std::vector<std::string> out;
    for (const Item& item : got.items) out.push_back(item.what);
    return out;
  };
  EXPECT_THAT(wanted("/proj/x/a/f", "/proj/x/b/f"), ElementsAre("/proj/x/b", "/proj/x"));
  EXPECT_THAT(wanted("/proj/backup/f", "/proj/x/b/f"), ElementsAre("/proj/x/b")) << "not what holds places of secrets";
  EXPECT_THAT(wanted("/opt/a/f", "/proj/x/b/f"), ElementsAre("/proj/x/b")) << "nor everything";
}

TEST(Collect, NamesTheOneFileThatIsWrittenOrTheirDirectory) {
  Fake fake;
  fake.folder("/proj/out");
  fake.file("/proj/out/log");
  fake.file("/proj/out/other");
  EXPECT_EQ(fake.collect({writing("/proj/out/log")}).items.at(0).direct, "/proj/out/log");
  EXPECT_EQ(fake.collect({writing("/proj/out/log"), writing("/proj/out/other")}).items.at(0).direct, "/proj/out");
  EXPECT_EQ(fake.collect({writing("/proj/out/new", Presence::kMissing)}).items.at(0).direct, "/proj/out");
}

TEST(Collect, ExecutesLibrariesProgramsAndTheirInterpreters) {
  Fake fake;
  fake.file("/opt/lib/x.so");
  fake.file("/opt/tool");
  fake.file("/opt/bin/lua");
  fake.programs = {"/opt/lib/x.so"};
  fake.interpreters["/opt/tool"] = "/opt/bin/lua";
  const Collected got = fake.collect({sighting(Use::kOpen, "/opt/lib/x.so"), sighting(Use::kExecute, "/opt/tool")});
  EXPECT_THAT(got.items, ElementsAre(Item{Kind::kExec, "/opt/lib/x.so"}, Item{Kind::kExec, "/opt/tool"},
                                     Item{Kind::kExec, "/opt/bin/lua"}));
}

TEST(Collect, WhatIsMappedToBeExecutedIsExecuted) {
  Fake fake;
  fake.file("/opt/data/code");
  const Collected got = fake.collect({sighting(Use::kMap, "/opt/data/code"), sighting(Use::kMap, "/usr/lib/libc.so")});
  EXPECT_THAT(got.items, testing::Contains(Item{Kind::kExec, "/opt/data/code"}));
  EXPECT_THAT(fake.collect({sighting(Use::kMap, "/work/own")}).items,
              ElementsAre(Item{Kind::kExecWritable, "what it wrote is executed"}));
}

TEST(Collect, AnInterpreterIsARegularFileThatMayBeExecutedOrNothing) {
  Fake fake;
  for (const char* script : {"/opt/a", "/opt/b", "/opt/c", "/opt/d", "/opt/e"}) fake.file(script);
  fake.folder("/home/me");
  fake.file("/home/me/.ssh/id_rsa");
  fake.files["/opt/pipe"] = {"/opt/pipe", false, false, true, false};
  fake.files["/opt/shut"] = {"/opt/shut", false, false, false, true};
  fake.files["/opt/core"] = {"/dev/core", false, false, true, true};
  fake.interpreters = {{"/opt/a", "/home/me"},
                       {"/opt/b", "/home/me/.ssh/id_rsa"},
                       {"/opt/c", "/opt/pipe"},
                       {"/opt/d", "/opt/shut"},
                       {"/opt/e", "/opt/core"}};
  fake.links["/opt/core"] = {"/dev"};
  for (const Hidden hidden : {Hidden::kLeave, Hidden::kGrant}) {
    std::vector<Sighting> seen;
    for (const auto& [script, names] : fake.interpreters) seen.push_back(sighting(Use::kExecute, script));
    const Collected got = fake.collect(seen, hidden);
    EXPECT_THAT(got.items,
                ElementsAre(Item{Kind::kExec, "/opt/a"}, Item{Kind::kExec, "/opt/b"}, Item{Kind::kExec, "/opt/c"},
                            Item{Kind::kExec, "/opt/d"}, Item{Kind::kExec, "/opt/e"}));
  }
}

TEST(Collect, WhatIsExecutedIsJudgedAsWhatIsRead) {
  Fake fake;
  fake.file("/home/me/.aws/helper");
  fake.files["/home/me/.ssh/run"] = {"/opt/moved/run", false, false, true, true};
  fake.files["/opt/pipe"] = {"/opt/pipe", false, false, true, false};
  fake.files["/opt/core"] = {"/dev/core", false, false, true, true};
  const Collected got =
      fake.collect({sighting(Use::kExecute, "/home/me/.aws/helper"), sighting(Use::kExecute, "/home/me/.ssh/run"),
                    sighting(Use::kExecute, "/opt/pipe"), sighting(Use::kExecute, "/opt/core")},
                   Hidden::kGrant);
  EXPECT_THAT(got.items, IsEmpty());
  EXPECT_THAT(got.wanted, SizeIs(2));
}

TEST(Collect, TakesTheDirectoryForANameThatNoPolicyCanSpell) {
  Fake fake;
  fake.file("/proj/data/a\nb");
  fake.file("/proj/data/\xff");
  const Collected got =
      fake.collect({sighting(Use::kOpen, "/proj/data/a\nb"), sighting(Use::kOpen, "/proj/data/\xff")});
  ASSERT_THAT(got.items, SizeIs(1));
  EXPECT_EQ(got.items[0].what, "/proj/data");
}

TEST(Collect, TakesHostsThatWereReachedAndListsOthers) {
  NetworkUse use;
  use.connections.resize(4);
  use.connections[0].name = "api.example.org";
  use.connections[0].port = 443;
  use.connections[1] = use.connections[0];
  use.connections[2] = use.connections[0];
  use.connections[2].name = "evil.example.org";
  use.connections[2].verdict = Verdict::kDenied;
  use.connections[3].via = Via::kDns;
  use.connections[3].name = "api.example.org";
  use.connections[3].port = 53;
  const Collected got = collect_network(use);
  EXPECT_THAT(got.items, ElementsAre(Item{Kind::kHost, "api.example.org:443"}));
  ASSERT_THAT(got.wanted, SizeIs(1));
  EXPECT_EQ(got.wanted[0].what, "connect evil.example.org:443");
  EXPECT_EQ(got.wanted[0].reason, "--allow-net evil.example.org:443 lets it through");
}

TEST(Collect, SaysTheGatewaysReasonWhereNoRuleWouldHelp) {
  NetworkUse use;
  use.connections.resize(3);
  for (Connection& c : use.connections) {
    c.name = "localhost";
    c.port = 80;
    c.verdict = Verdict::kDenied;
  }
  use.connections[0].reason = "localhost:80 is not in net.allow";
  use.connections[1].reason = "a request without a Host header is not passed on\x1b[2J";
  use.connections[2].via = Via::kDns;
  use.connections[2].reason = "localhost is denied by net.deny \"*:80\"";
  EXPECT_THAT(collect_network(use).wanted,
              ElementsAre(Wanted{"connect localhost:80", "--allow-net localhost:80 lets it through"},
                          Wanted{"connect localhost:80", "a request without a Host header is not passed on\\u001b[2J"},
                          Wanted{"look up localhost", "localhost is denied by net.deny \"*:80\""}));
}

Sighting address(Use use, observe::Family family, const std::string& what, Presence presence = Presence::kMissing) {
  Sighting out = sighting(use, what, presence);
  out.family = family;
  return out;
}

TEST(Collect, NamesSocketsOfTheHostThatItDoesNotReach) {
  using enum observe::Family;
  Fake fake;
  for (const char* path : {"/run/a.sock", "/run/*", "/run/a=b", "/usr/lib/x", "/dev/log"}) {
    fake.files[path] = {path, false, true, true};
  }
  fake.files["/run/link"] = {"/run/a.sock", false, true, true};
  fake.file("/run/file");
  fake.folder("/proj");
  Sighting own = address(Use::kBind, kPath, "/proj/own.sock");
  own.adrift = true;
  const Collected got = fake.collect(
      {address(Use::kConnect, kPath, "/run/a.sock"), address(Use::kConnect, kPath, "/run/link"),
       address(Use::kConnect, kPath, "/run/*"), address(Use::kConnect, kPath, "/run/a=b"),
       address(Use::kConnect, kPath, "/usr/lib/x"), address(Use::kConnect, kPath, "/dev/log"),
       address(Use::kConnect, kPath, "/run/file"), address(Use::kConnect, kPath, "/run/nothing"),
       address(Use::kConnect, kPath, "/run/a.sock", Presence::kThere), address(Use::kConnect, kAbstract, "/run/a.sock"),
       address(Use::kBind, kPath, "/tmp/own.sock"), own});
  EXPECT_THAT(got.items, IsEmpty());
  ASSERT_THAT(got.wanted, SizeIs(6));
  EXPECT_EQ(got.wanted[0], (Wanted{"connect /run/a.sock", "--socket /run/a.sock lets it through"}));
  EXPECT_EQ(got.wanted[1], (Wanted{"connect /run/link", "--socket /run/a.sock lets it through"}));
  EXPECT_EQ(got.wanted[2].reason, "its name is a pattern, which would let others through as well");
  EXPECT_EQ(got.wanted[3].reason, "sockets.allow = [\"/run/a=b\"] in a policy (--policy FILE) lets it through");
  EXPECT_EQ(got.wanted[4].what, "connect /usr/lib/x");
  EXPECT_EQ(got.wanted[4].reason.find("--socket"), std::string::npos) << got.wanted[4].reason;
  EXPECT_EQ(got.wanted[5], (Wanted{"bind /proj/own.sock", "a socket of its own can be made in /tmp or /work only"}));
}

TEST(Collect, NamesServicesOfTheHostsLoopback) {
  using enum observe::Family;
  std::vector<Sighting> seen{
      address(Use::kConnect, kInet, "127.0.0.1:8080"), address(Use::kConnect, kInet, "[::1]:8080"),
      address(Use::kConnect, kInet, "127.0.0.1:8080"), address(Use::kConnect, kInet, "127.0.0.53:53"),
      address(Use::kConnect, kInet, "10.0.0.1:8080"),  address(Use::kConnect, kInet, "127.0.0.1:9090"),
      address(Use::kBind, kInet, "0.0.0.0:9090")};
  const std::vector<Wanted> wanted = collect_loopback(seen, nullptr);
  EXPECT_THAT(
      wanted,
      ElementsAre(Wanted{"connect 127.0.0.1:8080",
                         "nobody in the cell listens there; --allow-net 127.0.0.1:8080 leads to the host's own"},
                  Wanted{"connect [::1]:8080",
                         "nobody in the cell listens there; --allow-net [::1]:8080 leads to the host's own"}));
  // What a gateway heard of is in its own record, and who takes any port talks to itself.
  NetworkUse heard;
  heard.connections.resize(1);
  heard.connections[0].port = 8080;
  EXPECT_THAT(collect_loopback(seen, &heard), IsEmpty());
  seen.push_back(address(Use::kBind, kInet, "127.0.0.1:0"));
  EXPECT_THAT(collect_loopback(seen, nullptr), IsEmpty());
}

TEST(SecretPlaces, AreKnownByPlaceAndByName) {
  for (const char* path :
       {"/home/me/.ssh", "/home/me/.aws/credentials", "/home/you/.gnupg/x", "/etc/shadow",
        "/home/me/.config/google-chrome/Default", "/srv/backup/.kube/config", "/root/.docker/config.json"}) {
    EXPECT_TRUE(is_secret_place(path, secrets())) << path;
  }
  for (const char* path : {"/home/me/.config/app", "/home/me/src/ssh", "/etc/hosts", "/proj/.sshx"}) {
    EXPECT_FALSE(is_secret_place(path, secrets())) << path;
  }
  for (const char* path : {"/", "/home", "/home/me", "/etc", "/home/me/.config", "/var/lib"}) {
    EXPECT_TRUE(holds_secret_places(path, secrets())) << path;
  }
  EXPECT_FALSE(holds_secret_places("/home/me/src", secrets()));
}

TEST(SecretPlaces, OthersOfTheHostCount) {
  EXPECT_TRUE(is_secret_place("/home/me/dots/ssh/config", secrets()));
  EXPECT_TRUE(is_secret_place("/var/kept/state", secrets()));
  EXPECT_TRUE(holds_secret_places("/home/me/dots", secrets()));
  EXPECT_FALSE(is_secret_place("/home/me/dots/vimrc", secrets()));
}

TEST(SecretPlaces, ADirectoryIsSearchedAndWhatIsNotKnownIsNoPermission) {
  EXPECT_EQ(secrets_below("/proj/backup", secrets()), Below::kSecrets);
  EXPECT_EQ(secrets_below("/proj/large", secrets()), Below::kUnknown);
  EXPECT_EQ(secrets_below("/proj/src", secrets()), Below::kNothing);
  EXPECT_EQ(secrets_below("/home", secrets()), Below::kSecrets);
  EXPECT_EQ(secrets_below("/proj/src", Secrets{"/home/me"}), Below::kUnknown);
}

TEST(SecretPlaces, KnowSecretVariables) {
  for (const char* name :
       {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "MYAPIKEY", "api_key", "GH_PAT", "PGPASSWORD"}) {
    EXPECT_TRUE(is_secret_variable(name)) << name;
  }
  for (const char* name : {"PATH", "HOME", "KEYBOARD", "COLOUR", "LANG", "PATTERN", "MONKEY"}) {
    EXPECT_FALSE(is_secret_variable(name)) << name;
  }
}

TEST(Collect, GrantsADirectoryBelowTmpThatTheCellDoesNotHave) {
  Fake fake;
  fake.folder("/tmp");
  fake.folder("/tmp/other");
  Sighting made = sighting(Use::kMake, "/tmp/other/log", Presence::kMissing);
  EXPECT_THAT(fake.collect({made}, Hidden::kGrant).items, IsEmpty());
  made.adrift = true;
  EXPECT_THAT(fake.collect({made}, Hidden::kGrant).items,
              ElementsAre(Item{Kind::kChange, "/tmp/other", {}, "/tmp/other", true}));
  EXPECT_THAT(fake.collect({made}, Hidden::kLeave).items, IsEmpty());
}

TEST(Collect, TakesNoPlaceForTheCellsOwnThatItDoesNotHave) {
  Fake fake;
  fake.folder("/var/tmp");
  const Sighting made = sighting(Use::kMake, "/var/tmp/log", Presence::kMissing);
  EXPECT_THAT(fake.collect({made}, Hidden::kGrant).items,
              ElementsAre(Item{Kind::kChange, "/var/tmp", {}, "/var/tmp", true}));
}

}  // namespace
}  // namespace cloche::learn
