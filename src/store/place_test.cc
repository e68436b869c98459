#include "store/place.h"

#include <sys/stat.h>

#include "store/test_support.h"

namespace cloche::store {
namespace {

class PlaceTest : public StoreCase {};

TEST_F(PlaceTest, TheMostExplicitVariableWins) {
  const std::map<std::string, std::string> all{
      {"CLOCHE_STATE_DIR", top_ + "/a/"}, {"XDG_STATE_HOME", top_ + "/b"}, {"HOME", top_ + "/c"}};
  EXPECT_EQ(find_place(all)->directory, top_ + "/a");
  EXPECT_EQ(find_place({{"XDG_STATE_HOME", top_ + "/b"}, {"HOME", top_}})->directory, top_ + "/b/cloche");
  EXPECT_EQ(find_place({{"XDG_STATE_HOME", "b"}, {"HOME", top_}})->directory, top_ + "/.local/state/cloche");
  EXPECT_FALSE(fs::exists(top_ + "/a")) << "looking makes nothing";
}

TEST_F(PlaceTest, WithoutAnAbsolutePathThereIsNone) {
  EXPECT_EQ(find_place({}).error().code, ErrorCode::kRefused);
  EXPECT_EQ(find_place({{"HOME", "here"}}).error().code, ErrorCode::kRefused);
  EXPECT_EQ(find_place({{"CLOCHE_STATE_DIR", "here"}, {"HOME", top_}}).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(find_place({{"CLOCHE_STATE_DIR", "/"}}).error().code, ErrorCode::kInvalidInput);
}

TEST_F(PlaceTest, MakesWhatIsMissingForItsUserAlone) {
  place_ = {top_ + "/x/y/cloche", Place::Chosen::kByDefault};
  ASSERT_TRUE(make_runs(place_));
  for (const char* path : {"/x", "/x/y", "/x/y/cloche", "/x/y/cloche/runs"}) {
    struct stat st{};
    ASSERT_EQ(::stat((top_ + path).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700) << path;
  }
}

TEST_F(PlaceTest, RefusesADirectoryThatOthersMayWriteTo) {
  ASSERT_TRUE(make_runs(place_));
  ASSERT_EQ(::chmod(place_.directory.c_str(), 0720), 0);
  EXPECT_EQ(find_place({{"CLOCHE_STATE_DIR", place_.directory}}).error().code, ErrorCode::kRefused);
  EXPECT_EQ(make_runs(place_).error().code, ErrorCode::kRefused);
  ASSERT_EQ(::chmod(place_.directory.c_str(), 0700), 0);
  ASSERT_EQ(::chmod((place_.directory + "/runs").c_str(), 0702), 0);
  EXPECT_EQ(open_folders(place_).error().code, ErrorCode::kRefused);
}

TEST_F(PlaceTest, RefusesLinks) {
  fs::create_directory(top_ + "/elsewhere");
  fs::create_directory_symlink(top_ + "/elsewhere", place_.directory);
  EXPECT_FALSE(find_place({{"CLOCHE_STATE_DIR", place_.directory}}));
  EXPECT_FALSE(make_runs(place_));
  fs::remove(place_.directory);
  fs::create_directory(place_.directory);
  fs::permissions(place_.directory, fs::perms::owner_all);
  fs::create_directory_symlink(top_ + "/elsewhere", place_.directory + "/runs");
  EXPECT_FALSE(make_runs(place_));
  EXPECT_TRUE(fs::is_empty(top_ + "/elsewhere"));
}

TEST_F(PlaceTest, RootLeavesNothingInAnotherUsersHome) {
  if (::geteuid() != 0) return;  // nobody else can make one
  const std::string home = top_ + "/home";
  fs::create_directory(home);
  ASSERT_EQ(::chown(home.c_str(), 4711, 4711), 0);
  const auto place = find_place({{"HOME", home}});
  ASSERT_TRUE(place);
  EXPECT_EQ(make_runs(*place).error().code, ErrorCode::kRefused);
  EXPECT_TRUE(fs::is_empty(home));
  EXPECT_TRUE(make_runs(*find_place({{"CLOCHE_STATE_DIR", home + "/named"}}))) << "whoever names it means it";
}

TEST(RunId, IsAWordOfLettersAndDigits) {
  for (const char* good : {"abcd", "x234", "abcdefghijkl"}) EXPECT_TRUE(is_run_id(good)) << good;
  for (const char* bad : {"", "abc", ".gone-abcd", "..", "ABCD", "ab/d", "abc\n", "ab cd", "abcdé"}) {
    EXPECT_FALSE(is_run_id(bad)) << bad;
  }
  EXPECT_FALSE(is_run_id(std::string(33, 'a')));
}

}  // namespace
}  // namespace cloche::store
