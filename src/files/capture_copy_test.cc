// What a copy has nothing of: it is not the guest's to delete or to replace.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "files/capture.h"
#include "files/standing.h"
#include "files/test_support.h"

namespace cloche::files {
namespace {

// As a copy leaves them out: see init/copy.cc.
void make_socket(const std::string& path) {
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

TEST(CaptureCopy, X6_WhatIsLeftOutOfACopyWasNotDeleted) {
  CopyDesk desk;
  write_file(desk.lower("folder/file"), "1");
  write_file(desk.lower("gone/file"), "1");
  desk.copy();
  // The times are of no importance here: they are older in a run.
  for (const char* name : {"s", "folder/s", "gone/s"}) make_socket(desk.lower(name));
  for (const char* name : {"w", "folder/w"}) whiteout(desk.lower(name));
  desk.start();
  desk.made();
  write_file(desk.upper("folder/new"), "x");
  fs::remove_all(desk.upper("gone"));
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"folder/new", "added"}, {"gone", "deleted"}, {"gone/file", "deleted"}}));
}

TEST(CaptureCopy, X6_WhatTakesTheNameOfWhatWasLeftOutIsAConflict) {
  CopyDesk desk;
  for (const char* name : {"file", "link", "folder", "fifo"}) make_socket(desk.lower(name));
  desk.start();
  desk.made();
  write_file(desk.upper("file"), "guest");
  fs::create_symlink("x", desk.upper("link"));
  write_file(desk.upper("folder/inside"), "guest");
  ASSERT_EQ(::mkfifo(desk.upper("fifo").c_str(), 0600), 0);
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"file", "type"},
                                     {"link", "type"},
                                     {"folder", "type"},
                                     {"folder/inside", "added"},
                                     {"fifo", "mode, a fifo"}}));
  const Proposal proposal = desk.proposal();
  const Fd root = desk.open_lower();
  for (std::size_t i = 0; i < proposal.entries.size(); ++i) {
    if (proposal.entries[i].path == "folder/inside" || proposal.entries[i].path == "fifo") continue;
    EXPECT_EQ(compare(root.get(), proposal, i).standing, Standing::kUnknown) << proposal.entries[i].path;
  }
}

}  // namespace
}  // namespace cloche::files
