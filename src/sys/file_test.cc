#include "sys/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace cloche::sys {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "cloche-file-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) root_ = name;
  }
  ~Files() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string put(const std::string& name, const std::string& text) const {
    const std::string path = root_ + "/" + name;
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return path;
  }

  std::string root_;
};

TEST_F(Files, AFileIsReadWholeAndNeverBeyondItsLimit) {
  const std::string path = put("a", std::string(10'000, 'x'));
  auto whole = read_file(path, 10'000);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size(), 10'000u);
  auto larger = read_file(path, 9'999);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kInvalidInput);
  // It says so even where the file itself has no end.
  EXPECT_FALSE(read_file("/dev/zero", 4096));
}

TEST_F(Files, AMissingFileGivesErrnoAndItsName) {
  auto missing = read_file(root_ + "/none", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().errno_value, ENOENT);
  EXPECT_NE(missing.error().step.find(root_ + "/none"), std::string::npos);
}

TEST_F(Files, DescriptorsDoNotSurviveAnExec) {
  auto fd = open_file(put("a", "x"), O_RDONLY);
  auto memory = make_memfd("test", "x");
  ASSERT_TRUE(fd && memory);
  EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(memory->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Files, WritingDoesNotMakeAFile) {
  EXPECT_FALSE(write_file(root_ + "/none", "x"));
  EXPECT_FALSE(fs::exists(root_ + "/none"));
}

TEST_F(Files, C33_AWriteThatWouldLandOnAnotherFileSystemIsRefused) {
  const std::string path = put("uid_map", "before");
  auto refused = write_checked(path, "0 0 1", PROC_SUPER_MAGIC);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_EQ(*read_file(path, 100), "before");
}

TEST_F(Files, C33_AWriteDoesNotFollowALink) {
  const std::string path = put("target", "before");
  const std::string link = root_ + "/link";
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  struct stat st{};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  auto refused = write_checked(link, "after", PROC_SUPER_MAGIC);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, ELOOP);
  EXPECT_EQ(*read_file(path, 100), "before");
}

TEST_F(Files, AWriteToTheRightFileSystemLands) {
  // Its own comm is the one procfs file that every process may write.
  auto before = read_file("/proc/self/comm", 100);
  ASSERT_TRUE(before);
  ASSERT_TRUE(write_checked("/proc/self/comm", "renamed", PROC_SUPER_MAGIC));
  EXPECT_EQ(*read_file("/proc/self/comm", 100), "renamed\n");
  ASSERT_TRUE(write_checked("/proc/self/comm", before->substr(0, before->size() - 1), PROC_SUPER_MAGIC));
}

TEST_F(Files, AMemoryFileHoldsItsContents) {
  const std::string text(200'000, 'm');
  auto fd = make_memfd("test", text);
  ASSERT_TRUE(fd);
  struct stat st{};
  ASSERT_EQ(::fstat(fd->get(), &st), 0);
  EXPECT_EQ(st.st_size, 200'000);
}

TEST_F(Files, RemovingATreeNeverFollowsALink) {
  const std::string outside = root_ + "/outside";
  fs::create_directories(outside);
  const std::string kept = put("outside/kept", "x");
  const std::string tree = root_ + "/tree";
  fs::create_directories(tree + "/a/b");
  fs::create_directory_symlink(outside, tree + "/a/link");
  fs::create_symlink(kept, tree + "/file-link");
  ASSERT_TRUE(remove_tree(tree));
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_TRUE(fs::exists(kept));
  fs::create_directory_symlink(outside, root_ + "/root-link");
  ASSERT_TRUE(remove_tree(root_ + "/root-link"));
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(Files, ATreeWhosePermissionsWereTakenAwayGoesAllTheSame) {
  const std::string tree = root_ + "/tree";
  fs::create_directories(tree + "/locked/deep");
  put("tree/locked/deep/file", "x");
  ASSERT_EQ(::chmod((tree + "/locked/deep").c_str(), 0), 0);
  ASSERT_EQ(::chmod((tree + "/locked").c_str(), 0), 0);
  ASSERT_TRUE(remove_tree(tree));
  EXPECT_FALSE(fs::exists(tree));
}

TEST_F(Files, RemovingWhatIsNotThereIsNoError) { EXPECT_TRUE(remove_tree(root_ + "/none")); }

// A guest can nest directories deeper than any path is long, and deeper than any stack or table of descriptors.
TEST_F(Files, ATreeDeeperThanAPathIsRemoved) {
  const std::string tree = root_ + "/deep";
  ASSERT_EQ(::mkdir(tree.c_str(), 0755), 0);
  Fd at(::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'n');
  for (int i = 0; i < 3'000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  at.reset();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status removed = remove_tree(tree);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().text();
  EXPECT_FALSE(fs::exists(tree));
}

}  // namespace
}  // namespace cloche::sys
