// What a search of this host's directories finds, on real ones.
#include "observe/secret_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "observe/obeyed.h"
#include "observe/secret_host.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

class Obeyed : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/cloche-search-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = fs::canonical(name).string();
  }
  void TearDown() override { fs::remove_all(top_); }

  std::string make(const std::string& folder) const {
    fs::create_directories(top_ + "/" + folder);
    return top_ + "/" + folder;
  }
  void file(const std::string& path) const { std::ofstream(top_ + "/" + path) << "x"; }
  bool found_in(const std::string& folder) const {
    SecretSearch search({.home = "/nowhere"}, {5000, Millis(2000)}, Millis(5000));
    search.look_for_obeyed();
    return search.has_obeyed(top_ + "/" + folder);
  }

 private:
  std::string top_;
};

TEST_F(Obeyed, X4_AnEmptyDirectoryOfObeyedFilesCountsAsOneWithFiles) {
  make("a/.config/systemd/user");
  make("b/.git/hooks");
  make("c/deep/.local/bin");
  EXPECT_TRUE(found_in("a"));
  EXPECT_TRUE(found_in("a/.config/systemd"));
  EXPECT_TRUE(found_in("b"));
  EXPECT_TRUE(found_in("b/.git"));
  EXPECT_TRUE(found_in("c"));
}

TEST_F(Obeyed, X4_TheWayToOneCountsWhetherOrNotItsEndIsThere) {
  make("a/.config/systemd");
  make("b/.vscode");
  make("c/.git/modules/m");
  EXPECT_TRUE(found_in("a"));
  EXPECT_TRUE(found_in("b"));
  EXPECT_TRUE(found_in("c"));
  EXPECT_TRUE(found_in("c/.git/modules"));
}

TEST_F(Obeyed, X4_ALinkInPlaceOfOneCounts) {
  fs::create_directory_symlink(make("elsewhere"), make("a") + "/.vscode");
  EXPECT_TRUE(found_in("a"));
}

// As git does, by what is in it: a bare repository has any name.
TEST_F(Obeyed, X4_ARepositoryOfAnyNameCounts) {
  for (const char* name : {"a/site.git", "b/deep/plain"}) {
    make(std::string(name) + "/objects");
    make(std::string(name) + "/refs");
    EXPECT_FALSE(found_in(std::string(name).substr(0, 1)));
    file(std::string(name) + "/HEAD");
    EXPECT_TRUE(found_in(std::string(name).substr(0, 1)));
    EXPECT_TRUE(found_in(name));
    EXPECT_FALSE(found_in(std::string(name) + "/refs"));
  }
  make("c");
  file("c/HEAD");
  EXPECT_FALSE(found_in("c"));
  file("c/commondir");
  EXPECT_TRUE(found_in("c"));
}

TEST_F(Obeyed, X4_GitObeysSettingsBesideHeadObjectsAndRefs) {
  make("a/objects");
  make("a/refs");
  make("a/hooks");
  const std::string top = make("a");
  const Secrets host = secrets_for_advice();
  for (const char* name : {"/config", "/hooks/post-receive", "/hooks", "/HEAD", "/sequencer/todo"}) {
    const bool completes = std::string_view(name) == "/HEAD";
    EXPECT_EQ(observe::why_obeyed(top + name, host).empty(), !completes) << name;
  }
  file("a/HEAD");
  for (const char* name : {"/config", "/config.worktree", "/hooks/post-receive", "/hooks", "/sequencer/todo"}) {
    EXPECT_NE(observe::why_obeyed(top + name, host), "") << name;
  }
  EXPECT_NE(observe::why_obeyed_below(top + "/hooks", host), "");
  for (const char* name : {"/refs/heads/x", "/objects/00/x", "/description"}) {
    EXPECT_EQ(observe::why_obeyed(top + name, host), "") << name;
  }
  EXPECT_EQ(observe::why_obeyed_below(top + "/refs", host), "");
}

// By links at its hooks, and by what its settings name.
TEST_F(Obeyed, X4_GitObeysWhatItsLinksAndSettingsLeadTo) {
  make("linked/.git");
  fs::create_directory_symlink(make("linked/tools/hooks"), make("linked") + "/.git/hooks");
  const std::string named = make("named");
  make("named/.git");
  std::ofstream(named + "/.git/config") << "[core]\n\thooksPath = dev/githooks\n[diff \"x\"]\n\ttextconv = ./show.sh\n";
  make("named/dev/githooks");
  const Secrets host = secrets_for_advice();
  EXPECT_NE(observe::why_obeyed_below(make("linked") + "/tools/hooks", host), "");
  EXPECT_NE(observe::why_obeyed(make("linked") + "/tools/hooks/pre-commit", host), "");
  EXPECT_NE(observe::why_obeyed(named + "/dev/githooks/pre-commit", host), "");
  EXPECT_NE(observe::why_obeyed(named + "/show.sh", host), "");
  EXPECT_TRUE(observe::leads_to_obeyed(named + "/dev", host));
  EXPECT_EQ(observe::why_obeyed(named + "/dev/other", host), "");
  EXPECT_FALSE(observe::leads_to_obeyed(named + "/docs", host));
}

TEST_F(Obeyed, X4_PlainNamesDoNot) {
  make("a/config/systemd/user");
  make("a/hooks");
  make("a/bin/x");
  file("a/bin/x/y.txt");
  EXPECT_FALSE(found_in("a"));
  file("a/bin/x/.bashrc");
  EXPECT_TRUE(found_in("a"));
}

TEST_F(Obeyed, X4_DirectoriesOfProgramsAreThoseOfThePathAndEveryHomesBin) {
  const std::string real = make("real");
  const std::string link = make("a") + "/bin";
  fs::create_directory_symlink(real, link);
  const auto found = places_of_programs("/opt/x/bin:relative::/opt/x/bin/:" + link, {"/home/me"});
  EXPECT_EQ(found, (std::vector<std::string>{"/opt/x/bin", link, real, "/home/me/bin"}));
  EXPECT_TRUE(places_of_programs("", {}).empty());
}

}  // namespace
}  // namespace cloche
