#include "store/live.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "store/test_support.h"

namespace cloche::store {
namespace {

class LiveTest : public StoreCase {
 protected:
  std::string live_path(const std::string& name) const { return place_.directory + "/live/" + name; }
};

TEST_F(LiveTest, ItsDirectoryIsForItsUserAlone) {
  EXPECT_EQ(open_live(place_).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(make_live(place_));
  ASSERT_EQ(::chmod(live_path("").c_str(), 0755), 0);
  const auto live = make_live(place_);
  ASSERT_TRUE(live) << error_of(live);
  struct stat st{};
  ASSERT_EQ(::stat(live_path("").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700);
  const auto listener = listen_live(live->get(), "abcd");
  ASSERT_TRUE(listener) << error_of(listener);
  ASSERT_EQ(::stat(live_path("abcd.sock").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600);
}

TEST_F(LiveTest, APlaceDeeperThanAnAddressServes) {
  place_.directory = top_ + "/" + std::string(200, 'd') + "/state";
  const auto live = make_live(place_);
  ASSERT_TRUE(live) << error_of(live);
  const auto listener = listen_live(live->get(), "abcd");
  ASSERT_TRUE(listener) << error_of(listener);
  EXPECT_TRUE(connect_live(live->get(), "abcd"));
  EXPECT_EQ(*live_names(live->get()), std::vector<std::string>{"abcd"});
}

TEST_F(LiveTest, WhatNobodyListensBehindIsSweptAndNothingElse) {
  const auto live = make_live(place_);
  ASSERT_TRUE(live);
  const auto lives = listen_live(live->get(), "aaaa");
  ASSERT_TRUE(lives && listen_live(live->get(), "bbbb") && listen_live(live->get(), "cccc"));
  std::ofstream(live_path("dddd.sock")) << "no socket";
  fs::create_symlink("/run/other.sock", live_path("eeee.sock"));
  EXPECT_EQ(connect_live(live->get(), "bbbb").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(live_path("bbbb.sock"))) << "who finds it dead removes it";
  EXPECT_EQ(sweep_live(live->get()), 1u);
  EXPECT_FALSE(fs::exists(live_path("cccc.sock")));
  EXPECT_TRUE(fs::exists(live_path("aaaa.sock")));
  EXPECT_TRUE(fs::exists(live_path("dddd.sock")));
  EXPECT_TRUE(fs::is_symlink(live_path("eeee.sock")));
}

TEST_F(LiveTest, OneThatIsOnItsWayIsNotSwept) {
  const auto live = make_live(place_);
  ASSERT_TRUE(live);
  const Fd bound(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = live_path(".new-abcd.sock");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(sweep_live(live->get()), 0u);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_TRUE(live_names(live->get())->empty());
}

TEST_F(LiveTest, OnlyNamesOfRunsAreTaken) {
  const auto live = make_live(place_);
  ASSERT_TRUE(live);
  for (const char* name : {"", "../x", "a/b", "ABCD", "abc"}) EXPECT_FALSE(listen_live(live->get(), name)) << name;
}

}  // namespace
}  // namespace cloche::store
