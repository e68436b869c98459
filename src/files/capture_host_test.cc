// What the host does to its own directory while a guest works on it, and what leaves no time.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "files/capture.h"
#include "files/test_support.h"

namespace cloche::files {
namespace {

TEST(Capture, WhatTheHostChangedMeanwhileIsMarked) {
  Desk desk;
  write_file(desk.lower("edited"), "1");
  write_file(desk.lower("removed"), "2");
  write_file(desk.lower("quiet"), "3");
  desk.start();
  write_file(desk.lower("edited"), "host");
  write_file(desk.lower("removed"), "host");
  write_file(desk.upper("edited"), "guest");
  write_file(desk.upper("quiet"), "guest");
  whiteout(desk.upper("removed"));
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(),
            (Changes{{"edited", "modified, host"}, {"removed", "deleted, host"}, {"quiet", "modified"}}));
}

// The times of what lies in a directory stay when it is moved.
TEST(Capture, X6_ADirectoryThatTheHostExchangedIsMarked) {
  for (const ViewKind kind : {ViewKind::kOverlay, ViewKind::kCopy}) {
    Desk desk;
    write_file(desk.lower("folder/deep/file"), "1");
    write_file(desk.lower("quiet/file"), "1");
    write_file(desk.top() + "/other/deep/file", "work of the host");
    desk.start();
    if (kind == ViewKind::kCopy) {
      write_file(desk.upper("folder/deep/file"), "1");
      write_file(desk.upper("quiet/file"), "1");
      desk.made();
    }
    fs::rename(desk.lower("folder"), desk.top() + "/old");
    fs::rename(desk.top() + "/other", desk.lower("folder"));
    write_file(desk.upper("folder/deep/file"), "guest");
    write_file(desk.upper("quiet/file"), "guest");
    expect_captured(desk.capture(kind));
    EXPECT_EQ(desk.changes(), (Changes{{"folder/deep/file", "modified, host"}, {"quiet/file", "modified"}}));
  }
}

// The time of the entries is anybody's to set; that of the change is not.
TEST(Capture, X6_AnExchangedDirectoryIsMarkedWhateverTimesTheHostSets) {
  for (const bool watched : {false, true}) {
    Desk desk;
    write_file(desk.lower("src/a"), "orig");
    write_file(desk.lower("other/a"), "work of the host");
    desk.start();
    if (watched) desk.look_around();
    fs::rename(desk.lower("src"), desk.lower("src.old"));
    fs::rename(desk.lower("other"), desk.lower("src"));
    const timespec old[2] = {{1, 0}, {1, 0}};
    for (const char* name : {"", "src"}) ASSERT_EQ(::utimensat(AT_FDCWD, desk.lower(name).c_str(), old, 0), 0);
    write_file(desk.upper("src/a"), "guest");
    expect_captured(desk.capture());
    EXPECT_EQ(desk.changes(), (Changes{{"src/a", "modified, host"}}));
  }
}

// Files that are made in a directory and in the one above change the same times as an exchange does.
TEST(Capture, X6_ADirectoryThatTheHostWroteToIsNoExchangedOne) {
  for (const ViewKind kind : {ViewKind::kOverlay, ViewKind::kCopy}) {
    Desk desk;
    for (const char* name : {"src/a", "src/b", "src/deep/a"}) {
      write_file(desk.lower(name), "1");
      if (kind == ViewKind::kCopy) write_file(desk.upper(name), "1");
    }
    desk.start();
    desk.made();
    desk.look_around(kind);
    for (const char* name : {"notes", "src/new", "src/deep/new"}) write_file(desk.lower(name), "host");
    write_file(desk.upper("src/a"), "guest");
    write_file(desk.upper("src/deep/a"), "guest");
    if (kind == ViewKind::kCopy) {
      fs::remove(desk.upper("src/b"));
    } else {
      whiteout(desk.upper("src/b"));
    }
    expect_captured(desk.capture(kind));
    EXPECT_EQ(desk.changes(), (Changes{{"src/a", "modified"}, {"src/b", "deleted"}, {"src/deep/a", "modified"}}));
  }
}

// Of parts of a proposal, too: nothing in an exchanged directory was the guest's to delete.
TEST(Capture, X6_WhatWasDeletedWithAnExchangedDirectoryIsMarked) {
  for (const bool watched : {false, true}) {
    Desk desk;
    write_file(desk.lower("top/src/a"), "orig");
    write_file(desk.lower("top/quiet/a"), "orig");
    write_file(desk.top() + "/other/deep/a", "work of the host");
    desk.start();
    if (watched) desk.look_around();
    fs::rename(desk.lower("top/src"), desk.top() + "/old");
    fs::rename(desk.top() + "/other", desk.lower("top/src"));
    whiteout(desk.upper("top"));
    expect_captured(desk.capture());
    EXPECT_EQ(desk.changes(), (Changes{{"top", "deleted, host"},
                                       {"top/src", "deleted, host"},
                                       {"top/src/deep", "deleted, host"},
                                       {"top/src/deep/a", "deleted, host"},
                                       {"top/quiet", "deleted"},
                                       {"top/quiet/a", "deleted"}}));
  }
}

// In a copy, what the host made later is not there either.
TEST(Capture, X6_WhatAGuestDeletesOfACopyAndTheHostChangesIsMarked) {
  for (const bool others : {false, true}) {
    Desk desk;
    for (const char* name : {"both", "quiet"}) {
      write_file(desk.lower(name), "1");
      write_file(desk.upper(name), "1");
    }
    desk.start();
    desk.made();
    desk.look_around(ViewKind::kCopy);
    write_file(desk.lower("both"), "host");
    if (others) write_file(desk.lower("later"), "host");
    fs::remove(desk.upper("both"));
    expect_captured(desk.capture(ViewKind::kCopy));
    EXPECT_EQ(desk.changes(), (Changes{{"both", "deleted, host"}}));
  }
}

TEST(Capture, X6_WhatIsWrittenThroughAMappingOfACopyIsSeen) {
  Desk desk;
  const std::string text(3 * 4096, 'x');
  for (const char* name : {"mapped", "left"}) {
    write_file(desk.lower(name), text);
    write_file(desk.upper(name), text);
  }
  desk.start();
  desk.made();
  const Fd file(::open(desk.upper("mapped").c_str(), O_RDWR | O_CLOEXEC));
  void* place = ::mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(place, MAP_FAILED);
  auto* bytes = static_cast<volatile char*>(place);
  (void)bytes[4096];  // a page that was read before
  bytes[4096] = 'y';
  ::munmap(place, text.size());
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"mapped", "modified"}}));
}

}  // namespace
}  // namespace cloche::files
