#include "host/socket_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class FindSockets : public testing::Test {
 protected:
  FindSockets() {
    char name[] = "/tmp/cloche-sockets-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~FindSockets() override { fs::remove_all(root_); }

  void make(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (root_ + path).c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  }
  std::vector<std::string> found(const std::string& pattern) {
    std::vector<std::string> out = find_sockets(root_ + pattern).found;
    for (std::string& path : out) path = path.substr(root_.size());
    return out;
  }

  std::string root_;
};

TEST_F(FindSockets, H4_AStarIsAPartOfOneName) {
  for (const char* path : {"/a/s", "/b/s", "/.c/s", "/a/b/s", "/ab/s", "/ab/t"}) make(path);
  EXPECT_THAT(found("/a/s"), ElementsAre("/a/s"));
  EXPECT_THAT(found("/*/s"), ElementsAre("/a/s", "/ab/s", "/b/s"));
  EXPECT_THAT(found("/a*/*"), ElementsAre("/a/s", "/ab/s", "/ab/t"));
  EXPECT_THAT(found("/.c/s"), ElementsAre("/.c/s"));
  EXPECT_THAT(found("/x/s"), IsEmpty());
  EXPECT_THAT(found("/a/../b/s"), IsEmpty());
  EXPECT_THAT(find_sockets("a/s").found, IsEmpty());
  EXPECT_THAT(find_sockets("/").found, IsEmpty());
}

TEST_F(FindSockets, C40_FollowsNoLinkAndTakesNothingElse) {
  make("/a/s");
  fs::create_directory_symlink(root_ + "/a", root_ + "/link");
  fs::create_symlink(root_ + "/a/s", root_ + "/a/other");
  std::ofstream(root_ + "/a/file") << "x";
  ASSERT_EQ(::mkfifo((root_ + "/a/fifo").c_str(), 0600), 0);
  EXPECT_THAT(found("/link/s"), IsEmpty());
  EXPECT_THAT(found("/*/s"), ElementsAre("/a/s"));
  EXPECT_THAT(found("/a/*"), ElementsAre("/a/s"));
  EXPECT_THAT(found("/a/other"), IsEmpty());
}

TEST_F(FindSockets, IsBounded) {
  for (std::size_t i = 0; i < kMostSockets; ++i) make("/s" + std::to_string(i));
  EXPECT_EQ(found("/s*").size(), kMostSockets);
  EXPECT_FALSE(find_sockets(root_ + "/s*").too_many);
  make("/s-more");
  EXPECT_TRUE(find_sockets(root_ + "/s*").too_many);
}

}  // namespace
}  // namespace cloche
