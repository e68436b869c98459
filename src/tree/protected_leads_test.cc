// Names that are protected because protected names of the host lead to them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "tree/protected_changes.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

using Paths = std::set<std::string>;

Paths protected_of(int root, const std::vector<std::string>& paths, FileKind kind = FileKind::kRegular) {
  std::vector<NamedChange> changes;
  for (const std::string& path : paths) changes.push_back({path, kind, false});
  const auto reasons = why_protected(root, changes);
  Paths found;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (reasons.at(i)) found.insert(paths[i]);
  }
  return found;
}

struct Host : TempTree {
  using TempTree::TempTree;
  void make(const std::string& name) const { fs::create_directories(path(name)); }
  void text(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    file(name, bytes);
  }
  Fd open(const std::string& name) const { return Fd(::open(path(name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }
};

// The variables by which git finds the settings of a user; as they were, afterwards.
class UserOf {
 public:
  explicit UserOf(const std::string& home) {
    for (const char* name : {"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::optional<std::string>() : value);
      ::unsetenv(name);
    }
    ::setenv("HOME", home.c_str(), 1);
  }
  ~UserOf() {
    for (const auto& [name, value] : before_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }
  UserOf(const UserOf&) = delete;
  UserOf& operator=(const UserOf&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST(ProtectedLeads, R4_WhatAProtectedNameLinksToIsProtected) {
  const Host host;
  host.make(".git");
  host.make("githooks");
  host.make("cfg/vscode");
  host.link(".git/hooks", "../githooks");
  host.link(".git/config", host.path("settings"));
  host.link(".vscode", "cfg/vscode");
  host.link(".ssh", "missing/keys");
  host.link(".bashrc", "rc");
  EXPECT_EQ(protected_of(host.fd(), {"githooks/pre-commit", "githooks", "settings", "cfg/vscode/tasks.json",
                                     "cfg/vscode/other.json", "missing/keys/id", "rc", "rc2", "cfg/x", "x"}),
            (Paths{"githooks/pre-commit", "githooks", "settings", "cfg/vscode/tasks.json", "missing/keys/id", "rc"}));
  // A link in place of a directory on the way would lead elsewhere.
  EXPECT_EQ(protected_of(host.fd(), {"cfg", "missing", "x"}, FileKind::kSymlink), (Paths{"cfg", "missing"}));
  EXPECT_EQ(protected_of(host.fd(), {"cfg", "missing"}, FileKind::kDirectory), Paths{});
  // In the spelling of another file system, too.
  EXPECT_EQ(protected_of(host.fd(), {"GitHooks/x"}), Paths{"GitHooks/x"});
}

TEST(ProtectedLeads, R4_LinksInProtectedDirectoriesAndLinksToLinksLeadOn) {
  const Host host;
  host.make(".git/hooks");
  host.make(".idea/deep");
  host.make("scripts");
  host.link(".git/hooks/pre-commit", "../../scripts/check");
  host.link(".idea/deep/x", "../../one");
  host.link("one", "two");
  host.link("round", "round");
  host.link(".emacs", "round");
  EXPECT_EQ(protected_of(host.fd(), {"scripts/check", "scripts/other", "one", "one/x", "two", "two/x", "three"}),
            (Paths{"scripts/check", "one", "one/x", "two", "two/x"}));
}

TEST(ProtectedLeads, R4_DirectoriesOnTheWayToAChangeAreLookedAt) {
  const Host host;
  host.make("a/b/.git");
  host.make("a/b/hooks-here");
  host.link("a/b/.git/hooks", "../hooks-here");
  EXPECT_EQ(protected_of(host.fd(), {"a/b/hooks-here/x", "a/b/x", "new/deep/x"}), Paths{"a/b/hooks-here/x"});
}

TEST(ProtectedLeads, R4_TheTreeItselfLiesWhereAProtectedNameLeads) {
  const Host host;
  host.make(".git");
  host.make("githooks/deep");
  host.make("sub");
  host.link(".git/hooks", "../githooks");
  EXPECT_EQ(protected_of(host.open("githooks").get(), {"x"}), Paths{"x"});
  EXPECT_EQ(protected_of(host.open("githooks/deep").get(), {"x"}), Paths{"x"});
  EXPECT_EQ(protected_of(host.open("sub").get(), {"x"}), Paths{});
  host.make(".ssh/deep");
  host.make(".vscode");
  EXPECT_EQ(protected_of(host.open(".ssh/deep").get(), {"x"}), Paths{"x"});
  EXPECT_EQ(protected_of(host.open(".vscode").get(), {"x", "tasks.json"}), Paths{"tasks.json"});
  // The hooks of a repository of any name.
  host.text("bare/HEAD", "ref: refs/heads/main\n");
  host.make("bare/objects");
  host.make("bare/refs");
  host.make("bare/hooks");
  EXPECT_EQ(protected_of(host.open("bare/hooks").get(), {"x"}), Paths{"x"});
}

TEST(ProtectedLeads, R4_WhatGitsSettingsNameIsProtected) {
  const Host host;
  host.text(".git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../gitcfg\n");
  host.text("gitcfg", "[include]\npath = more/cfg\n[core]\nhooksPath=" + host.path("absolute") + "\n");
  host.text("more/cfg", "[include]\npath = ../gitcfg\n[includeIf \"gitdir:/x\"]\npath = last\n");
  EXPECT_EQ(protected_of(host.fd(), {"tools/hooks/pre-commit", "tools/x", "gitcfg", "more/cfg", "more/last", "more/x",
                                     "absolute/x", "hooks/x"}),
            (Paths{"tools/hooks/pre-commit", "gitcfg", "more/cfg", "more/last", "absolute/x"}));
  // Of a tree that is a part of the repository, too.
  host.make("tools");
  EXPECT_EQ(protected_of(host.open("tools").get(), {"hooks/pre-commit", "x"}), Paths{"hooks/pre-commit"});
}

TEST(ProtectedLeads, R4_ProgramsThatGitsSettingsNameAreProtected) {
  const Host host;
  host.text(".git/config",
            "[core]\nfsmonitor = tools/watch\npager = less\n[diff \"x\"]\ntextconv = python3 conv.py\n"
            "[filter \"y\"]\nclean = '" +
                host.path("with blank/clean") +
                "' %f\n[alias]\na = !cd .. && ./lib/a.sh\n"
                "b = log other/x\n[include]\npath = ../more/cfg\n[user]\nname = tools/me\n");
  host.text("more/cfg", "[merge \"z\"]\ndriver = link/merge %A\n");
  host.make("real");
  host.link("link", "real");
  EXPECT_EQ(protected_of(host.fd(), {"tools/watch", "tools/other", "tools/me", "less", "conv.py", "with blank/clean",
                                     "lib/a.sh", "other/x", "real/merge", "real/x"}),
            (Paths{"tools/watch", "conv.py", "with blank/clean", "lib/a.sh", "real/merge"}));
  EXPECT_EQ(protected_of(host.fd(), {"tools", "link", "lib", "x"}, FileKind::kSymlink),
            (Paths{"tools", "link", "lib"}));
  // Of a nested repository, and of a tree that is a part of one.
  host.text("nested/.git/config", "[gpg]\nprogram = ./sign\n");
  EXPECT_EQ(protected_of(host.fd(), {"nested/sign", "nested/x"}), Paths{"nested/sign"});
  host.make("tools");
  EXPECT_EQ(protected_of(host.open("tools").get(), {"watch", "x"}), Paths{"watch"});
}

TEST(ProtectedLeads, R4_AHomeThatIsNotKnownProtectsEverything) {
  const Host host;
  host.text(".git/config", "[core]\nhooksPath = ~root/hooks\n[alias]\nx = !~root/x\n");
  EXPECT_EQ(protected_of(host.fd(), {"x", "~root/hooks/x"}), Paths{});
  for (const char* setting :
       {"[core]\nhooksPath = ~nobody-has-this-name/x\n", "[include]\npath = ~nobody-has-this-name\n",
        "[core]\npager = ~nobody-has-this-name/x\n"}) {
    host.text(".git/config", setting);
    EXPECT_EQ(protected_of(host.fd(), {"x"}), Paths{"x"}) << setting;
  }
}

TEST(ProtectedLeads, R4_CommandsOfMoreWordsThanAreLookedAtProtectEverything) {
  const Host host;
  std::string words = "[alias]\nx = !";
  for (int i = 0; i < 65'536; ++i) words += "a/" + std::to_string(i) + " ";
  host.text(".git/config", words + "\n");
  EXPECT_EQ(protected_of(host.fd(), {"x"}), Paths{"x"});
}

TEST(ProtectedLeads, R4_AWorktreeHasItsSettingsElsewhere) {
  const Host host;
  host.text("main/config", "[core]\nhooksPath = .hooks\n");
  host.text("main/worktrees/w/commondir", "../..\n");
  host.text("w/.git", "gitdir: " + host.path("main/worktrees/w") + "\n");
  host.make("w/.hooks");
  EXPECT_EQ(protected_of(host.open("w").get(), {".hooks/pre-commit", "x"}), Paths{".hooks/pre-commit"});
}

// Thousands of files take their time on a disk.
fs::path in_memory() { return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : fs::temp_directory_path(); }

TEST(ProtectedLeads, R4_EmptyRepositoriesHideNoOtherOne) {
  const Host host(in_memory());
  host.text("z/.git/config", "[core]\nhooksPath = zh\n");
  host.make("z/zh");
  std::vector<std::string> paths;
  for (int i = 0; i < 2100; ++i) {
    host.make("d" + std::to_string(i) + "/.git");
    paths.push_back("d" + std::to_string(i) + "/f");
  }
  paths.emplace_back("z/zh/pre-commit");
  EXPECT_EQ(protected_of(host.fd(), paths), Paths{"z/zh/pre-commit"});
}

TEST(ProtectedLeads, R4_MoreRepositoriesThanAreLookedAtProtectEverything) {
  const Host host(in_memory());
  // Settings of the user's own take nothing from what may be looked at.
  const UserOf user(host.victim());
  std::ofstream(host.victim(".gitconfig")) << "[core]\nhooksPath = my-hooks\n";
  host.text("z/.git/config", "[core]\nhooksPath = zh\n");
  host.make("z/zh");
  std::vector<std::string> paths{"z/x", "z/zh/pre-commit"};
  const auto add_repository = [&](int i) {
    const std::string name = "d" + std::to_string(i);
    host.text(name + "/.git/config", "[core]\n");
    paths.insert(paths.begin(), name + "/f");
  };
  for (int i = 0; i < 4095; ++i) add_repository(i);
  EXPECT_EQ(protected_of(host.fd(), paths), Paths{"z/zh/pre-commit"});
  add_repository(4095);
  EXPECT_EQ(protected_of(host.fd(), paths).size(), paths.size());
  // Counted are those on the way to a change.
  EXPECT_EQ(protected_of(host.fd(), {"x", "z/zh/x"}), Paths{"z/zh/x"});
}

TEST(ProtectedLeads, R4_MoreEntriesThanAreLookedAtProtectEverything) {
  const Host host(in_memory());
  std::vector<std::string> paths{"x"};
  // Each has less than is looked at in one, all together more than in all.
  const auto add_folder = [&](int i) {
    const std::string name = "d" + std::to_string(i);
    host.text(name + "/.idea/0", "");
    for (int k = 1; k < 1000; ++k) {
      const std::string more = host.path(name + "/.idea/" + std::to_string(k));
      ASSERT_EQ(::link(host.path(name + "/.idea/0").c_str(), more.c_str()), 0);
    }
    paths.push_back(name + "/f");
  };
  for (int i = 0; i < 65; ++i) add_folder(i);
  EXPECT_EQ(protected_of(host.fd(), paths), Paths{});
  add_folder(65);
  EXPECT_EQ(protected_of(host.fd(), paths).size(), paths.size());
}

TEST(ProtectedLeads, R4_SettingsThatCannotBeReadAsAWholeProtectEverything) {
  const Host host;
  host.text(".git/config", std::string(1024UL * 1024, '\n'));
  EXPECT_EQ(protected_of(host.fd(), {"x"}), Paths{});
  host.text(".git/config", std::string((1024UL * 1024) + 1, '\n'));
  EXPECT_EQ(protected_of(host.fd(), {"x"}), Paths{"x"});
  if (::geteuid() == 0) return;  // root reads everything; ctest runs this as an ordinary user, too
  host.text(".git/config", "");
  ASSERT_EQ(::chmod(host.path(".git/config").c_str(), 0), 0);
  EXPECT_EQ(protected_of(host.fd(), {"x"}), Paths{"x"});
}

TEST(ProtectedLeads, SettingsThatIncludeOneAnotherAreReadOnceEach) {
  const Host host;
  std::string all;
  for (int i = 0; i < 10; ++i) all += "[include]\npath = ../cfg" + std::to_string(i) + "\n";
  host.text(".git/config", all);
  for (int i = 0; i < 10; ++i) host.text("cfg" + std::to_string(i), all + "[core]\nhooksPath = hooks\n");
  host.make("hooks");
  EXPECT_EQ(protected_of(host.fd(), {"hooks/x", "x"}), Paths{"hooks/x"});
}

TEST(ProtectedLeads, WhatIsNoFileOrLeadsOutsideIsOfNoConcern) {
  const Host host;
  host.make(".git");
  ASSERT_EQ(::mkfifo(host.path(".git/config").c_str(), 0600), 0);
  host.link(".git/hooks", host.victim());
  host.link(".ssh", host.victim());
  EXPECT_EQ(protected_of(host.fd(), {"x", "victim/x"}), Paths{});
}

TEST(ProtectedLeads, R4_NoLinkIsHiddenAmongManyFiles) {
  const Host host;
  host.make(".git/hooks");
  for (int i = 0; i < 2000; ++i) host.link(".git/hooks/" + std::to_string(i), "../../to" + std::to_string(i));
  for (int i = 0; i < 9000; ++i) host.file(".git/hooks/f" + std::to_string(i), "");
  std::vector<std::string> paths;
  for (int i = 0; i < 2000; ++i) paths.push_back("to" + std::to_string(i));
  EXPECT_EQ(protected_of(host.fd(), paths).size(), paths.size());
  EXPECT_EQ(protected_of(host.fd(), {"other"}), Paths{}) << "all of them were looked at";
}

TEST(ProtectedLeads, R4_ADirectoryOfHooksThatCannotBeListedProtectsEverything) {
  if (::geteuid() == 0) return;  // who can list all of them; run as an ordinary user, too
  const Host host;
  host.make(".git/hooks");
  ASSERT_EQ(::chmod(host.path(".git/hooks").c_str(), 0300), 0);
  EXPECT_EQ(protected_of(host.fd(), {"s/pre"}), Paths{"s/pre"});
  ASSERT_EQ(::chmod(host.path(".git/hooks").c_str(), 0700), 0);
  EXPECT_EQ(protected_of(host.fd(), {"s/pre"}), Paths{});
}

TEST(ProtectedLeads, R4_TheUsersOwnSettingsCountForEveryRepository) {
  const Host home;
  const UserOf user(home.path());
  home.text(".gitconfig", "[core]\nhooksPath = my-hooks\n[include]\npath = w/more\n[alias]\nx = !sh check\n");
  home.text("w/more", "[diff \"x\"]\ntextconv = conv/run\n");
  home.make("w/.git");
  home.make("w/deep/.git");
  home.make("w/plain");
  const Fd tree = home.open("w");
  EXPECT_EQ(protected_of(tree.get(), {"my-hooks/pre-commit", "deep/my-hooks/pre-commit", "deep/x", "plain/my-hooks/x",
                                      "more", "conv/run", "check", "deep/check", "x"}),
            (Paths{"my-hooks/pre-commit", "deep/my-hooks/pre-commit", "more", "conv/run", "check", "deep/check"}));
  // In the other places, and from a tree that is no repository.
  home.text(".gitconfig", "");
  home.text(".config/git/config", "[core]\nhooksPath = ~/plain/hooks\n");
  home.make("plain");
  EXPECT_EQ(protected_of(home.open("plain").get(), {"hooks/x", "x"}), Paths{"hooks/x"});
  home.text(".config/git/config", "");
  home.text("settings", "[core]\nhooksPath = ~/plain/other\n");
  ::setenv("GIT_CONFIG_GLOBAL", home.path("settings").c_str(), 1);
  EXPECT_EQ(protected_of(home.open("plain").get(), {"hooks/x", "other/x"}), Paths{"other/x"});
  // What this user may not open, this user's git leaves out.
  if (::geteuid() == 0) return;
  ASSERT_EQ(::chmod(home.path("settings").c_str(), 0), 0);
  EXPECT_EQ(protected_of(home.open("plain").get(), {"hooks/x", "other/x"}), Paths{});
}

TEST(ProtectedLeads, R4_ARepositoryWithAnotherWorktreeIsSeenFromThere) {
  const Host host;
  const UserOf user(host.path());
  host.text("a/.git/config", "[core]\nworktree = ../../w\nhooksPath = hooks\nfsmonitor = sh watch\n");
  host.make("w");
  EXPECT_EQ(protected_of(host.fd(), {"a/hooks/x", "w/hooks/x", "w/watch", "w/x", "hooks/x", "a/x"}),
            (Paths{"a/hooks/x", "w/hooks/x", "w/watch"}));
}

}  // namespace
}  // namespace cloche::tree
