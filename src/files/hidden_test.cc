#include "files/hidden.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "files/test_support.h"

namespace cloche::files {
namespace {

struct Left {
  Desk desk;
  bool go_on = true;

  std::string make(const std::string& name) const {
    const std::string path = desk.lower(name);
    fs::create_directories(path);
    ::chmod(path.c_str(), 0700);
    return path;
  }
  static std::optional<FolderId> id_of(const std::string& path) {
    const Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return folder_id_now(folder.get());
  }
  bool remove(const std::string& path, const std::optional<FolderId>& id) const {
    return remove_left_copy({path, id}, [this] { return go_on; }).has_value();
  }
};

TEST(LeftCopy, K7_WhatWasHalfCopiedGoes) {
  Left left;
  const std::string file = left.make(".cloche-get-1-0");
  write_file(file + "/it", "half");
  EXPECT_TRUE(left.remove(file, Left::id_of(file)));
  const std::string folder = left.make(".cloche-get-1-1");
  write_file(folder + "/it/a/b", "half");
  EXPECT_TRUE(left.remove(folder, Left::id_of(folder)));
  const std::string untold = left.make(".cloche-get-1-2");
  EXPECT_TRUE(left.remove(untold, std::nullopt));
  EXPECT_TRUE(fs::is_empty(left.desk.lower()));
}

TEST(LeftCopy, NothingElseIsTouched) {
  Left left;
  const std::string mine = left.make(".cloche-get-1-0");
  write_file(mine + "/it", "x");
  // Not the one that was told of: without an identity nothing was in it yet.
  EXPECT_TRUE(left.remove(mine, std::nullopt));
  FolderId other = *Left::id_of(mine);
  ++other.inode;
  EXPECT_TRUE(left.remove(mine, other));
  other = *Left::id_of(mine);
  ++other.born_nanoseconds;
  EXPECT_TRUE(left.remove(mine, other));
  // Open to others: not as we make them.
  ::chmod(mine.c_str(), 0755);
  EXPECT_TRUE(left.remove(mine, Left::id_of(mine)));
  ::chmod(mine.c_str(), 0700);
  // A link at the end of the path, and one on the way.
  fs::create_symlink(mine, left.desk.lower(".cloche-get-1-1"));
  EXPECT_TRUE(left.remove(left.desk.lower(".cloche-get-1-1"), Left::id_of(mine)));
  fs::create_symlink(left.desk.lower(), left.desk.upper("way"));
  EXPECT_TRUE(left.remove(left.desk.upper("way/.cloche-get-1-0"), Left::id_of(mine)));
  // No such name, and none that is a path.
  const std::string precious = left.make("precious");
  write_file(precious + "/it", "x");
  EXPECT_TRUE(left.remove(precious, Left::id_of(precious)));
  EXPECT_TRUE(left.remove(".cloche-get-1-0", Left::id_of(mine)));
  EXPECT_TRUE(left.remove("", std::nullopt));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(mine.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(left.remove(mine, Left::id_of(mine)));
  }
  EXPECT_TRUE(fs::exists(mine + "/it"));
  EXPECT_TRUE(fs::exists(precious + "/it"));
  EXPECT_TRUE(fs::is_symlink(left.desk.lower(".cloche-get-1-1")));
}

TEST(LeftCopy, OnlyTheCopyGoesOfOneThatSomebodyElseFilled) {
  Left left;
  const std::string mine = left.make(".cloche-get-1-0");
  write_file(mine + "/it/a", "half");
  write_file(mine + "/theirs", "x");
  EXPECT_TRUE(left.remove(mine, Left::id_of(mine)));
  EXPECT_FALSE(fs::exists(mine + "/it"));
  EXPECT_TRUE(fs::exists(mine + "/theirs"));
}

TEST(Hidden, WhatOthersExchangeForItWhileItIsMadeIsNotTakenForIt) {
  Desk desk;
  const std::string precious = desk.lower("precious");
  write_file(precious + "/mine", "x");
  ::chmod(precious.c_str(), 0700);
  const auto to = Destination::open(desk.lower("got"), "/work/result");
  ASSERT_TRUE(to);
  const std::string path = desk.lower(".cloche-get-" + std::to_string(::getpid()) + "-0");
  // Somebody who can write beside the target, and hits the moment after it was made.
  const Caretaker nobody;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) {
      if (::rmdir(path.c_str()) == 0 && ::rename(precious.c_str(), path.c_str()) == 0) return;
    }
  });
  bool taken = false;
  for (int i = 0; i < 20'000 && !taken && fs::exists(precious); ++i) {
    const auto hidden = Hidden::make(*to, nobody);
    taken = hidden && fs::exists("/proc/self/fd/" + std::to_string(hidden->folder()) + "/mine");
  }
  stop = true;
  other.join();
  EXPECT_FALSE(taken) << "the janitor would be told that it is ours";
  EXPECT_TRUE(fs::exists(precious + "/mine") || fs::exists(path + "/mine"));
}

TEST(LeftCopy, WhatIsStoppedIsNotOver) {
  Left left;
  const std::string mine = left.make(".cloche-get-1-0");
  write_file(mine + "/it/a", "half");
  left.go_on = false;
  EXPECT_FALSE(left.remove(mine, Left::id_of(mine)));
  left.go_on = true;
  EXPECT_TRUE(left.remove(mine, Left::id_of(mine)));
  EXPECT_FALSE(fs::exists(mine));
}

}  // namespace
}  // namespace cloche::files
