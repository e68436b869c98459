#include "cli/borrowed_stance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <functional>
#include <string>

namespace cloche::cli {
namespace {

std::string strings(std::initializer_list<const char*> all) {
  std::string out;
  for (const char* one : all) out.append(one).push_back('\0');
  return out;
}

Stance stance_of(const std::string& text, std::size_t words, std::size_t variables, const char* directory = "/usr") {
  Stance out;
  out.strings.assign(text.begin(), text.end());
  out.words = words;
  out.variables = variables;
  for (Fd& stream : out.streams) stream = Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  out.directory = Fd(::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
  out.umask = 026;
  return out;
}

std::string here() {
  char buffer[PATH_MAX];
  return ::getcwd(buffer, sizeof buffer) != nullptr ? buffer : "";
}

mode_t mask() {
  const mode_t now = ::umask(0);
  ::umask(now);
  return now;
}

dev_t device_behind(int fd) {
  struct stat st{};
  return ::fstat(fd, &st) == 0 ? st.st_rdev : 0;
}

dev_t device_of(const char* path) {
  struct stat st{};
  return ::stat(path, &st) == 0 ? st.st_rdev : 0;
}

// In a process of its own, whose streams nobody misses: the number of the first thing that is wrong, or 0.
int in_child(const std::function<int()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PointAt, TakesExactlyWhatIsThere) {
  std::string text = strings({"run", "", "--", "A=b"});
  const auto pointers = point_at(text, 4);
  ASSERT_TRUE(pointers);
  EXPECT_STREQ(pointers->at(0), "run");
  EXPECT_STREQ(pointers->at(1), "");
  EXPECT_STREQ(pointers->at(3), "A=b");
  EXPECT_FALSE(point_at(text, 3));
  EXPECT_FALSE(point_at(text, 5));
  EXPECT_FALSE(point_at(text, SIZE_MAX));
  text.pop_back();
  EXPECT_FALSE(point_at(text, 4));
  std::string nothing;
  EXPECT_TRUE(point_at(nothing, 0));
  EXPECT_FALSE(point_at(nothing, 1));
}

TEST(BorrowedStance, N12_IsTheCallersForAWhileAndNobodysAfterwards) {
  EXPECT_EQ(in_child([] {
              ::setenv("OURS", "kept", 1);
              {
                auto borrowed = BorrowedStance::take(stance_of(strings({"run", "--", "WORD=theirs"}), 2, 1));
                if (!borrowed) return 1;
                if (borrowed->words().size() != 2 || std::string(borrowed->words()[1]) != "--") return 2;
                if (std::getenv("OURS") != nullptr || std::string(std::getenv("WORD")) != "theirs") return 3;
                if (here() != "/usr" || mask() != 026) return 4;
                for (int fd = 0; fd < 3; ++fd) {
                  if (device_behind(fd) != device_of("/dev/zero")) return 5;
                }
              }
              if (std::getenv("WORD") != nullptr || std::string(std::getenv("OURS")) != "kept") return 6;
              if (here() != "/" || mask() != 077) return 7;
              for (int fd = 0; fd < 3; ++fd) {
                if (device_behind(fd) != device_of("/dev/null")) return 8;
              }
              return 0;
            }),
            0);
}

// Short enough to lie inside of a string that moves.
TEST(BorrowedStance, FewWordsStayWhereTheyAre) {
  EXPECT_EQ(in_child([] {
              auto borrowed = BorrowedStance::take(stance_of(strings({"run", "A=b"}), 1, 1));
              if (!borrowed) return 1;
              const BorrowedStance moved = std::move(*borrowed);
              return std::string(moved.words()[0]) == "run" && std::string(std::getenv("A")) == "b" ? 0 : 2;
            }),
            0);
}

TEST(BorrowedStance, WhatIsNotWholeChangesNothing) {
  EXPECT_EQ(in_child([] {
              const std::string before = here();
              if (BorrowedStance::take(stance_of(strings({"run", "--"}), 2, 1))) return 1;
              if (BorrowedStance::take(stance_of("run", 1, 0))) return 2;
              Stance lost = stance_of(strings({"run"}), 1, 0);
              lost.directory = Fd();
              if (BorrowedStance::take(std::move(lost))) return 3;
              return here() == before && device_behind(0) != device_of("/dev/zero") ? 0 : 4;
            }),
            0);
}

}  // namespace
}  // namespace cloche::cli
