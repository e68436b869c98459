#include "cli/secret_grants.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche::cli {
namespace {

using Texts = std::vector<std::string>;

class SecretGrants : public testing::Test {
 protected:
  SecretGrants() : home_(testing::TempDir() + "cloche-secret-grants-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(home_ + "/.ssh");
    std::filesystem::create_directories(home_ + "/.config/gh");
    std::filesystem::create_directories(home_ + "/project");
  }
  ~SecretGrants() override { std::filesystem::remove_all(home_); }
  Texts of_read(const std::string& path) const {
    Policy policy;
    policy.files.read = {path};
    return secret_grants(policy, {home_});
  }
  const std::string home_;
};

TEST_F(SecretGrants, APlaceOfSecretsIsNamedInEverySpelling) {
  for (const std::string& path : {std::string("~/.ssh"), std::string("~//.ssh/"), home_ + "/.ssh"}) {
    EXPECT_EQ(of_read(path), Texts{"files.read \"~/.ssh\""}) << path;
  }
  EXPECT_EQ(of_read("~/.ssh/id_rsa"), Texts{"files.read \"~/.ssh/id_rsa\""}) << "a part of one counts";
  EXPECT_EQ(of_read("/etc/shadow"), Texts{"files.read \"/etc/shadow\""});
}

TEST_F(SecretGrants, WhatHasPlacesOfSecretsInItNamesThem) {
  EXPECT_EQ(of_read("~"), Texts{"files.read \"~\" (with ~/.ssh, ~/.config/gh)"});
  EXPECT_EQ(of_read("~/.config"), Texts{"files.read \"~/.config\" (with ~/.config/gh)"});
  EXPECT_EQ(of_read("/"), Texts{"files.read \"/\" (with ~/.ssh, ~/.config/gh)"});
  std::filesystem::remove_all(home_);
  EXPECT_EQ(of_read("~"), Texts{"files.read \"~\""}) << "whatever will be in it";
}

TEST_F(SecretGrants, SoAreThoseOfOtherUsers) {
  const std::string other = home_ + "-other";
  std::filesystem::create_directories(other + "/.codex");
  std::filesystem::create_directories(other + "/project");
  const auto of = [&](const std::string& path) {
    Policy policy;
    policy.files.read = {path};
    return secret_grants(policy, {home_}, {.home = home_, .homes = {other}});
  };
  EXPECT_EQ(of(other + "/.codex/auth.json"), Texts{"files.read \"" + other + "/.codex/auth.json\""});
  EXPECT_EQ(of(other + "/.config/gh/hosts.yml").size(), 1u);
  EXPECT_EQ(of(other), Texts{"files.read \"" + other + "\" (with " + other + "/.codex)"});
  EXPECT_EQ(of(other + "/project"), Texts{});
  EXPECT_EQ(of("/root/.claude.json"), Texts{"files.read \"/root/.claude.json\""});
  EXPECT_EQ(of("/srv/keys/server.key"), Texts{"files.read \"/srv/keys/server.key\""});
  std::filesystem::remove_all(other);
}

// As learn judges it, by the same table: names that mean the same wherever they lie, and places of the system.
TEST_F(SecretGrants, X3_WhatLiesBelowAnyDirectoryCounts) {
  const std::string project = home_ + "/project/deep/er";
  std::filesystem::create_directories(project);
  std::ofstream(project + "/.env") << "x";
  EXPECT_EQ(of_read("~/project"), Texts{"files.read \"~/project\" (with ~/project/deep/er/.env and perhaps more)"});
  const Texts etc = of_read("/etc");
  ASSERT_EQ(etc.size(), 1u);
  EXPECT_TRUE(etc[0].starts_with("files.read \"/etc\" (with /etc/")) << etc[0];
}

TEST_F(SecretGrants, X3_WhatCannotBeSearchedWholeIsToldAsSuch) {
  std::string path = home_ + "/project/deep";
  std::filesystem::create_directories(path);
  if (::geteuid() == 0) {
    path = "/proc/self";  // no file system of this machine's disks: nobody looks into it
  } else {
    ::chmod(path.c_str(), 0);
    path = home_ + "/project";
  }
  const Texts told = of_read(path);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].ends_with("(perhaps: it could not be searched whole)")) << told[0];
}

TEST_F(SecretGrants, OtherGrantsAreNone) {
  for (const char* path : {"~/project", "/usr", "/etc/hosts", "~/.sshd"}) EXPECT_EQ(of_read(path), Texts{}) << path;
}

TEST_F(SecretGrants, EveryKindOfGrantCounts) {
  Policy policy;
  policy.files.write = {"~/.ssh"};
  policy.files.exec = {"~/.ssh"};
  policy.workspace.path = {"~/.ssh"};
  EXPECT_EQ(secret_grants(policy, {home_}),
            (Texts{"files.write \"~/.ssh\"", "files.exec \"~/.ssh\"", "workspace.path \"~/.ssh\""}));
}

}  // namespace
}  // namespace cloche::cli
