#include "cli/report_file.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace cloche::cli {
namespace {

constexpr unsigned kOther = 61235;

// In a process of its own: whoever replaces a file of which he may not keep the group.
void replace_as_other(const std::string& path) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(kOther) != 0 || ::setuid(kOther) != 0) std::_Exit(2);
  const auto file = ReportFile::prepare(path, "--merge");
  if (!file) std::_Exit(3);
  const Status done = file->replace("new\n");
  if (!done) std::fputs((done.error().message + "; " + done.error().hint).c_str(), stderr);
  std::_Exit(done ? 0 : 1);
}

TEST(ReportFileDeathTest, X5_AGroupThatCannotBeKeptIsNamedAsTheReason) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a file of a group that its owner lacks";
  std::string folder = "/tmp/cloche-report-file-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/policy.toml";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  ASSERT_EQ(::chown(folder.c_str(), kOther, kOther), 0);
  ASSERT_EQ(::chown(path.c_str(), kOther, 0), 0);
  EXPECT_EXIT(replace_as_other(path), testing::ExitedWithCode(1), "its owner and group cannot be kept");
  ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
  EXPECT_EXIT(replace_as_other(path), testing::ExitedWithCode(0), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cloche::cli
