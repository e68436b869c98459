#include "keeper/place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace cloche::keeper {
namespace {

namespace fs = std::filesystem;

class Place : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cloche-place-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string inside(const char* name) const { return root_ + "/" + name; }

  std::string root_;
};

// An environment variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(PlaceOfKeeper, FollowsTheEnvironment) {
  const Variable runtime("XDG_RUNTIME_DIR", "/run/user/7");
  {
    const Variable named("CLOCHE_KEEPER_DIR", "/somewhere");
    EXPECT_EQ(default_directory(), "/somewhere");
  }
  const Variable relative("CLOCHE_KEEPER_DIR", "some/where");
  EXPECT_EQ(default_directory(), "/run/user/7/cloche");
  const Variable none("XDG_RUNTIME_DIR", nullptr);
  EXPECT_EQ(default_directory(),
            ::geteuid() == 0 ? "/run/cloche" : "/tmp/cloche-keeper-" + std::to_string(::geteuid()));
}

TEST_F(Place, DirectoryIsMadeForKeepersOnly) {
  const auto missing = open_directory(inside("a"), false);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(inside("a")));
  ASSERT_TRUE(open_directory(inside("a"), true));
  struct stat st{};
  ASSERT_EQ(::stat(inside("a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  EXPECT_TRUE(open_directory(inside("a"), false));
}

TEST_F(Place, DirectoryMustBeOursAlone) {
  ASSERT_TRUE(open_directory(inside("a"), true));
  for (const mode_t mode : {0701u, 0710u, 0704u, 0777u}) {
    ASSERT_EQ(::chmod(inside("a").c_str(), mode), 0);
    EXPECT_FALSE(open_directory(inside("a"), false)) << mode;
    EXPECT_FALSE(open_directory(inside("a"), true)) << mode;
  }
  ASSERT_EQ(::chmod(inside("a").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("a", inside("link").c_str()), 0);
  EXPECT_FALSE(open_directory(inside("link"), false));
  ASSERT_GE(Fd(::open(inside("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).get(), 0);
  EXPECT_FALSE(open_directory(inside("file"), true));
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no directory can be given to another user";
  ASSERT_EQ(::chown(inside("a").c_str(), 61000, 61000), 0);
  EXPECT_FALSE(open_directory(inside("a"), false));
}

TEST_F(Place, OneListensAndADeadOneIsReplaced) {
  const auto directory = open_directory(inside("a"), true);
  ASSERT_TRUE(directory);
  EXPECT_EQ(connect_in(*directory).error().code, ErrorCode::kNotFound);
  std::optional<Result<Fd>> first(listen_in(*directory));
  ASSERT_TRUE(*first);
  EXPECT_TRUE(connect_in(*directory));
  const auto second = listen_in(*directory);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kRefused);
  first.reset();
  EXPECT_EQ(connect_in(*directory).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(listen_in(*directory));
}

TEST_F(Place, FullQueueHoldsNobody) {
  const auto directory = open_directory(inside("a"), true);
  ASSERT_TRUE(directory);
  const auto listener = listen_in(*directory);
  ASSERT_TRUE(listener);
  ASSERT_EQ(::listen(listener->get(), 0), 0);
  const auto waiting = connect_in(*directory);
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(connect_in(*directory));
}

}  // namespace
}  // namespace cloche::keeper
