#include "files/hidden.h"

#include <gtest/gtest.h>

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
    return remove_left_copy({path, id}, [this] { return go_on; });
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
