// What a search of this host's directories finds, on real ones.
#include "observe/secret_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
