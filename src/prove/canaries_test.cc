#include "prove/canaries.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche::prove {
namespace {

namespace fs = std::filesystem;

class CanariesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-canaries-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    fs::create_directory(home_ + "/.ssh");
    std::ofstream(home_ + "/.ssh/id") << "secret";
    std::ofstream(home_ + "/.bashrc") << "text";
    fs::create_symlink("/etc/passwd", home_ + "/link");
    before_ = look_at(home_);
  }
  void TearDown() override { fs::remove_all(home_); }
  std::string changed() const { return difference(before_, look_at(home_)); }

  std::string home_;
  Canaries before_;
};

TEST_F(CanariesTest, NothingHappened) { EXPECT_EQ(changed(), ""); }
TEST_F(CanariesTest, ContentIsSeen) {
  std::ofstream(home_ + "/.bashrc", std::ios::app) << "x";
  EXPECT_EQ(changed(), ".bashrc has changed");
}
TEST_F(CanariesTest, ContentIsSeenWhereSizeAndTimesAreAsBefore) {
  struct stat before{};
  ASSERT_EQ(::stat((home_ + "/.bashrc").c_str(), &before), 0);
  std::ofstream(home_ + "/.bashrc") << "evil";
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (home_ + "/.bashrc").c_str(), times, 0), 0);
  EXPECT_EQ(changed(), ".bashrc has changed");
}
TEST_F(CanariesTest, OwnerIsSeen) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown((home_ + "/.ssh/id").c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(changed(), ".ssh/id has changed");
}
TEST_F(CanariesTest, ModeIsSeen) {
  ::chmod((home_ + "/.ssh/id").c_str(), 0777);
  EXPECT_EQ(changed(), ".ssh/id has changed");
}
TEST_F(CanariesTest, TimesAreSeen) {
  const timespec past[2] = {{1, 0}, {1, 0}};
  ::utimensat(AT_FDCWD, (home_ + "/.bashrc").c_str(), past, 0);
  EXPECT_EQ(changed(), ".bashrc has changed");
}
TEST_F(CanariesTest, RemovalIsSeen) {
  fs::remove(home_ + "/.ssh/id");
  EXPECT_EQ(changed(), ".ssh/id is gone");
}
TEST_F(CanariesTest, NewNamesAreSeen) {
  ::mkfifo((home_ + "/.ssh/fifo").c_str(), 0600);
  EXPECT_EQ(changed(), ".ssh/fifo was planted");
}
TEST_F(CanariesTest, AnotherTargetOfALinkIsSeen) {
  fs::remove(home_ + "/link");
  fs::create_symlink("/etc/shadow", home_ + "/link");
  EXPECT_EQ(changed(), "link has changed");
}

}  // namespace
}  // namespace cloche::prove
