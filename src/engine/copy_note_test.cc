#include "engine/copy_note.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"

namespace cloche {
namespace {

class CopyNote : public testing::Test {
 protected:
  CopyNote() {
    char name[] = "/tmp/cloche-note-XXXXXX";
    top_ = ::mkdtemp(name);
    folder_ = Fd(::open(top_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~CopyNote() override { std::filesystem::remove_all(top_); }
  void plant(const std::string& text) const { std::ofstream(top_ + "/getting") << text; }

  std::string top_;
  Fd folder_;
};

TEST_F(CopyNote, SaysWhatWasNotedLast) {
  EXPECT_FALSE(noted_copy(folder_.get()));
  note_copy(folder_.get(), {"/a/\n/b", std::nullopt});
  auto found = noted_copy(folder_.get());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "/a/\n/b");
  EXPECT_FALSE(found->id);
  const files::FolderId id{7, ~std::uint64_t{0}, 999'999'999};
  note_copy(folder_.get(), {"/a/\n/b", id});
  found = noted_copy(folder_.get());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "/a/\n/b");
  EXPECT_EQ(found->id, id);
  forget_copy(folder_.get());
  EXPECT_FALSE(noted_copy(folder_.get()));
  EXPECT_TRUE(std::filesystem::is_empty(top_));
}

TEST_F(CopyNote, WhatIsNoNoteSaysNothing) {
  for (const char* text : {"", "1 2 3 ", "1 2 3\n/a", "1 2\n/a", "1 2 3 4 \n/a", "-1 2 3 \n/a", "x\n/a", " \n/a"}) {
    plant(text);
    EXPECT_FALSE(noted_copy(folder_.get())) << text;
  }
  plant("\n/" + std::string(1 << 20, 'a'));
  EXPECT_FALSE(noted_copy(folder_.get()));
  forget_copy(folder_.get());
  std::filesystem::create_symlink("/etc/passwd", top_ + "/getting");
  EXPECT_FALSE(noted_copy(folder_.get()));
}

TEST_F(CopyNote, WithoutADirectoryNothingIsNoted) {
  note_copy(-1, {"/a", std::nullopt});
  forget_copy(-1);
  EXPECT_FALSE(noted_copy(-1));
}

}  // namespace
}  // namespace cloche
