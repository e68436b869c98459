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
