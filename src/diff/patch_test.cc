// The second opinion on the text of a difference: the programs that it is written for turn the old file into the new.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "diff/test_support.h"
#include "diff/unified.h"

namespace cloche::diff {
namespace {

namespace fs = std::filesystem;
using testing::Random;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::optional<std::string> read(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// A program from PATH with nothing of the user's settings and its output in a file; -1: there is no such program.
int run(const fs::path& home, std::vector<std::string> words) {
  const std::string log = home / "log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<std::string> settings = {"PATH=/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
                                       "HOME=" + home.string(),
                                       "GIT_CEILING_DIRECTORIES=" + home.parent_path().string()};
  std::vector<char*> argv, env;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) env.push_back(setting.data());
  argv.push_back(nullptr);
  env.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

class Patch : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-diff-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    home_ = name;
    fs::create_directory(tree());
    if (run(home_, {GetParam(), "--version"}) != 0) GTEST_SKIP() << "fact: no program '" << GetParam() << "'";
  }
  void TearDown() override {
    if (!home_.empty()) fs::remove_all(home_);
  }

  fs::path tree() const { return home_ / "tree"; }

  int apply(const std::string& patch) {
    write(home_ / "patch", patch);
    const std::string file = home_ / "patch";
    if (GetParam() == "git") {
      return run(home_, {"git", "-C", tree(), "apply", "--whitespace=nowarn", "--unidiff-zero", file});
    }
    return run(home_, {"patch", "-p1", "--quiet", "--fuzz=0", "-d", tree(), "-i", file});
  }

  void expect_applies(const std::string& path, const std::string& before, const std::string& after,
                      std::size_t context = kContextLines) {
    write(tree() / path, before);
    const std::string patch = unified(path, diff_lines(before, after, context));
    ASSERT_EQ(apply(patch), 0) << patch << read(home_ / "log").value_or("");
    ASSERT_EQ(read(tree() / path), after) << patch;
  }

  fs::path home_;
};

TEST_P(Patch, ChangesRandomTexts) {
  Random random(50);
  for (int round = 0; round < 60; ++round) {
    const std::string before = testing::random_text(random, 40, 15) + "end\n";
    std::string after = testing::changed(random, before, 15);
    if (after.empty() || after == before) after = "only\n" + before;
    ASSERT_NO_FATAL_FAILURE(expect_applies("dir/file", before, after)) << "round " << round;
  }
}

TEST_P(Patch, ChangesTheEndAndOddLines) {
  expect_applies("x", "a\nb", "a\nb\n");
  expect_applies("x", "a\nb\n", "a\nb");
  expect_applies("x", "a\nb", "a\nb\nc");
  expect_applies("x", "a\r\nb\r\n", "a\nb\r\n");
  expect_applies("x", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "--- a/y\n+++ b/x\n\\ No newline at end of file\n");
  expect_applies("x", "\xff\x1b[31m\n", "\xfe\x1b[32m\n");
  expect_applies("x", "1\n2\n3\n4\n5\n", "1\n2\nthree\n4\n5\n", 0);
}

TEST_P(Patch, FindsFilesByNamesThatMustBeQuoted) {
  for (const std::string path : {"with blank", "dir with blank/x", "qu\"ote", "back\\slash", "tab\there", "feed\nhere",
                                 "gr\xfc\x6e", "größe 日本", "esc\x1b[2J", "txt.\u202eexe", "'"}) {
    expect_applies(path, "a\n", "b\n");
  }
}

TEST_P(Patch, AddsAndDeletesFiles) {
  ASSERT_EQ(apply(unified("new dir/x", diff_lines("", "a\nb"), {.change = FileChange::kAdded, .paint = {}})), 0);
  EXPECT_EQ(read(tree() / "new dir/x"), "a\nb");
  ASSERT_EQ(apply(unified("new dir/x", diff_lines("a\nb", ""), {.change = FileChange::kDeleted, .paint = {}})), 0);
  EXPECT_FALSE(fs::exists(tree() / "new dir/x"));
}

INSTANTIATE_TEST_SUITE_P(Programs, Patch, ::testing::Values("git", "patch"),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace cloche::diff
