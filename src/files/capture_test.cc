#include "files/capture.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "files/test_support.h"

namespace cloche::files {
namespace {

TEST(Capture, SeesWhatWasAddedChangedAndDeleted) {
  Desk desk;
  write_file(desk.lower("kept"), "1");
  write_file(desk.lower("changed"), "old\n");
  write_file(desk.lower("gone"), "2");
  write_file(desk.lower("folder/inside/deep"), "3");
  write_file(desk.upper("changed"), "new\n");
  write_file(desk.upper("new/file"), "4", 0755);
  whiteout(desk.upper("gone"));
  whiteout(desk.upper("folder"));
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(desk.changes(), (Changes{{"changed", "modified"},
                                     {"gone", "deleted"},
                                     {"folder", "deleted"},
                                     {"folder/inside", "deleted"},
                                     {"folder/inside/deep", "deleted"},
                                     {"new", "added"},
                                     {"new/file", "added"}}));
  EXPECT_EQ(summary->added, 2u);
  EXPECT_EQ(summary->modified, 1u);
  EXPECT_EQ(summary->deleted, 4u);
  const Entry changed = desk.entry("changed");
  EXPECT_EQ(desk.blob(*changed.after), "new\n");
  ASSERT_TRUE(changed.has(kBaseKept));
  EXPECT_EQ(desk.blob(*changed.before), "old\n");
  EXPECT_EQ(desk.entry("new/file").after->mode, 0755u);
  EXPECT_EQ(desk.entry("gone").before->digest, sys::sha256("2"));
}

TEST(Capture, WhatIsTheSameIsNoChange) {
  Desk desk;
  write_file(desk.lower("folder/same"), "x", 0640);
  ASSERT_EQ(::chmod(desk.lower("folder").c_str(), 0750), 0);
  fs::create_symlink("target", desk.lower("link"));
  write_file(desk.upper("folder/same"), "x", 0640);
  ASSERT_EQ(::chmod(desk.upper("folder").c_str(), 0750), 0);
  fs::create_symlink("target", desk.upper("link"));
  whiteout(desk.upper("never-was"));
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(desk.changes(), Changes{});
  EXPECT_EQ(summary->changes(), 0u);
  // Nor is its content kept.
  EXPECT_TRUE(fs::is_empty(desk.into("blobs")));
}

TEST(Capture, SeesModesAlone) {
  Desk desk;
  write_file(desk.lower("script"), "x", 0644);
  fs::create_directory(desk.lower("folder"));
  write_file(desk.upper("script"), "x", 0755);
  fs::create_directory(desk.upper("folder"));
  ASSERT_EQ(::chmod(desk.upper("folder").c_str(), 0711), 0);
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"script", "mode"}, {"folder", "mode"}}));
  EXPECT_EQ(desk.entry("script").after->mode, 0755u);
}

TEST(Capture, SeesEveryChangeOfKind) {
  Desk desk;
  write_file(desk.lower("file-to-folder"), "1");
  write_file(desk.lower("file-to-link"), "2");
  write_file(desk.lower("folder-to-file/inside"), "3");
  write_file(desk.lower("folder-to-link/inside"), "4");
  fs::create_symlink("a", desk.lower("link-to-file"));
  fs::create_symlink("/etc", desk.lower("link-to-folder"));
  write_file(desk.upper("file-to-folder/new"), "5");
  make_opaque(desk.upper("file-to-folder"));
  fs::create_symlink("/etc/passwd", desk.upper("file-to-link"));
  write_file(desk.upper("folder-to-file"), "6");
  fs::create_symlink("..", desk.upper("folder-to-link"));
  write_file(desk.upper("link-to-file"), "7");
  write_file(desk.upper("link-to-folder/passwd"), "8");
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"file-to-folder", "type"},
                                     {"file-to-folder/new", "added"},
                                     {"file-to-link", "type"},
                                     {"folder-to-file", "type"},
                                     {"folder-to-file/inside", "deleted"},
                                     {"folder-to-link", "type"},
                                     {"folder-to-link/inside", "deleted"},
                                     {"link-to-file", "type"},
                                     {"link-to-folder", "type"},
                                     {"link-to-folder/passwd", "added"}}));
  EXPECT_EQ(desk.entry("file-to-folder").before->digest, sys::sha256("1"));
  EXPECT_EQ(desk.entry("file-to-link").after->target, "/etc/passwd");
  EXPECT_EQ(desk.entry("file-to-link").before->digest, sys::sha256("2"));
}

TEST(Capture, AnOpaqueDirectoryHidesWhatTheHostHas) {
  Desk desk;
  write_file(desk.lower("folder/old"), "1");
  write_file(desk.lower("folder/both"), "2");
  write_file(desk.lower("folder/deep/er"), "3");
  make_opaque(desk.upper("folder"));
  write_file(desk.upper("folder/both"), "2");
  write_file(desk.upper("folder/new"), "4");
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"folder/old", "deleted"},
                                     {"folder/deep", "deleted"},
                                     {"folder/deep/er", "deleted"},
                                     {"folder/new", "added"}}));
}

TEST(Capture, WhatIsNoFileIsShownAndCannotBeApplied) {
  Desk desk;
  write_file(desk.lower("file"), "1");
  ASSERT_EQ(::mkfifo(desk.upper("fifo").c_str(), 0666), 0);
  ASSERT_EQ(::mkfifo(desk.upper("file").c_str(), 0666), 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{AF_UNIX, {}};
  desk.upper("s").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(desk.changes(), (Changes{{"fifo", "added, a fifo"}, {"file", "type, a fifo"}, {"s", "added, a socket"}}));
  EXPECT_EQ(summary->unappliable, 3u);
}

TEST(Capture, HardLinksBecomeSeparateFiles) {
  Desk desk;
  write_file(desk.upper("one"), "same");
  fs::create_hard_link(desk.upper("one"), desk.upper("two"));
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"one", "added"}, {"two", "added"}}));
  EXPECT_EQ(desk.blob(*desk.entry("two").after), "same");
}

TEST(Capture, SpecialBitsAndAttributesAreDroppedAndSaid) {
  Desk desk;
  write_file(desk.upper("tool"), "x", 04755);
  write_file(desk.upper("noted"), "x");
  write_file(desk.upper("plain"), "x");
  ASSERT_EQ(::setxattr(desk.upper("noted").c_str(), "user.note", "n", 1, 0), 0);
  ASSERT_EQ(::setxattr(desk.upper("plain").c_str(), "user.overlay.origin", "n", 1, 0), 0);
  expect_captured(desk.capture());
  EXPECT_TRUE(desk.entry("tool").has(kSpecialBits));
  EXPECT_EQ(desk.entry("tool").after->mode, 0755u);
  EXPECT_TRUE(desk.entry("noted").has(kAttributes));
  EXPECT_FALSE(desk.entry("noted").has(kSpecialBits));
  EXPECT_FALSE(desk.entry("plain").has(kAttributes));
}

TEST(Capture, ReadsWhatItsModeForbids) {
  Desk desk;
  write_file(desk.upper("folder/inner/file"), "secret", 0000);
  ASSERT_EQ(::chmod(desk.upper("folder/inner").c_str(), 0000), 0);
  ASSERT_EQ(::chmod(desk.upper("folder").c_str(), 0000), 0);
  ASSERT_EQ(::chmod(desk.upper().c_str(), 0000), 0);
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"folder", "added"}, {"folder/inner", "added"}, {"folder/inner/file", "added"}}));
  for (const char* path : {"folder", "folder/inner", "folder/inner/file"}) {
    EXPECT_EQ(desk.entry(path).after->mode, 0u) << path;
  }
  EXPECT_EQ(desk.blob(*desk.entry("folder/inner/file").after), "secret");
}

// The guest gave itself rights that we do not have on the host: root has them, an ordinary user does not.
TEST(Capture, WhatTheHostDoesNotLetUsReadIsSaidAndNotGuessed) {
  Desk desk;
  write_file(desk.lower("file"), "old", 0000);
  write_file(desk.lower("folder/inside"), "old");
  write_file(desk.lower("usual"), "old");
  ASSERT_EQ(::chmod(desk.lower("folder").c_str(), 0000), 0);
  write_file(desk.upper("file"), "new");
  write_file(desk.upper("folder/inside"), "new");
  write_file(desk.upper("usual"), "new");
  expect_captured(desk.capture());
  const std::string unknown = ::geteuid() == 0 ? "" : ", " + std::string(to_string(Obstacle::kUnreadable));
  const Changes changes = desk.changes();
  EXPECT_EQ(changes.at("file"), "modified" + unknown);
  EXPECT_EQ(changes.at("folder"), "mode");
  EXPECT_EQ(changes.at("folder/inside"), ::geteuid() == 0 ? "modified" : "type" + unknown);
  EXPECT_EQ(changes.at("usual"), "modified");
}

TEST(Capture, WhatIsCoveredIsNeverAChange) {
  Desk desk;
  write_file(desk.lower("data/kept"), "1");
  write_file(desk.upper("mount/point/litter"), "2");
  write_file(desk.upper("both/point/litter"), "3");
  write_file(desk.upper("both/real"), "4");
  whiteout(desk.upper("data/kept"));
  write_file(desk.upper(".cloche-apply/journal"), "5");
  expect_captured(desk.capture(ViewKind::kOverlay, {"mount/point", "both/point", "data"}));
  EXPECT_EQ(desk.changes(), (Changes{{"both", "added"}, {"both/real", "added"}}));
}

TEST(Capture, StrangeNamesArriveAsTheyAre) {
  Desk desk;
  const std::vector<std::string> names{"a\nb",      "\x1b[2J",  "\xff\xfe", "Case", "case",
                                       "e\xcc\x81", "\xc3\xa9", " ",        "-rf",  std::string(255, 'n')};
  for (const std::string& name : names) write_file(desk.upper(name), name);
  expect_captured(desk.capture());
  Changes wanted;
  for (const std::string& name : names) wanted[name] = "added";
  EXPECT_EQ(desk.changes(), wanted);
  EXPECT_EQ(desk.blob(*desk.entry("case").after), "case");
}

TEST(Capture, NamesThatApplyingUsesAreNeverProposed) {
  Desk desk;
  write_file(desk.upper("sub/.cloche-apply/x"), "1");
  write_file(desk.upper(".Cloche-Apply"), "2");
  expect_captured(desk.capture());
  const std::string obstacle = ", " + std::string(to_string(Obstacle::kName));
  EXPECT_EQ(
      desk.changes(),
      (Changes{{"sub", "added"}, {"sub/.cloche-apply", "added" + obstacle}, {".Cloche-Apply", "added" + obstacle}}));
}

// Deeper than any path can name, and deeper than there are descriptors.
TEST(Capture, AnyDepthIsWalkedAsFarAsItCanBeNamed) {
  Desk desk;
  Fd at(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0) << i;
    at = Fd(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  write_file(desk.upper("beside"), "x");
  expect_captured(desk.capture());
  const Proposal proposal = desk.proposal();
  std::size_t unappliable = 0;
  for (const Entry& entry : proposal.entries) unappliable += entry.obstacle == Obstacle::kNone ? 0 : 1;
  EXPECT_EQ(unappliable, 1u);
  EXPECT_EQ(proposal.entries.size(), 1u + 2048u + 1u);
}

TEST(Capture, SparseFilesStaySparse) {
  Desk desk;
  write_file(desk.upper("sparse"), "head");
  ASSERT_EQ(::truncate(desk.upper("sparse").c_str(), 64 << 20), 0);
  expect_captured(desk.capture());
  const Entry entry = desk.entry("sparse");
  struct stat st{};
  ASSERT_EQ(::stat(desk.into("blobs/" + sys::to_hex(entry.after->digest)).c_str(), &st), 0);
  EXPECT_EQ(st.st_size, 64 << 20);
  EXPECT_LT(st.st_blocks * 512, 1 << 20);
  EXPECT_EQ(desk.blob(*entry.after).substr(0, 4), "head");
}

TEST(Capture, HolesWithoutEndAreNotRead) {
  Desk desk;
  write_file(desk.upper("endless"), "x");
  ASSERT_EQ(::truncate(desk.upper("endless").c_str(), off_t{1} << 42), 0);
  write_file(desk.upper("usual"), "y");
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(),
            (Changes{{"endless", "added, " + std::string(to_string(Obstacle::kTooLarge))}, {"usual", "added"}}));
}

TEST(Capture, AFileWithManyNamesIsReadOnce) {
  Desk desk;
  const std::string content(1 << 20, 'x');
  write_file(desk.upper("name-0"), content, 0000);
  for (int i = 1; i < 500; ++i) {
    fs::create_hard_link(desk.upper("name-0"), desk.upper("name-" + std::to_string(i)));
  }
  std::uint64_t bytes = 0;
  const Fd lower(desk.open_lower());
  const Fd upper(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const View view{desk.lower(), ViewKind::kOverlay, lower.get(), upper.get(), tick(), {}, {}};
  const auto summary = capture(view, desk.open_into().get(), [&](const Advance& advance) {
    bytes = advance.bytes;
    return Answer::kGoOn;
  });
  expect_captured(summary);
  EXPECT_EQ(bytes, content.size());
  EXPECT_EQ(summary->added, 500u);
  EXPECT_EQ(summary->unappliable, 0u);
  for (const Entry& entry : desk.proposal().entries) {
    EXPECT_EQ(entry.after->digest, sys::sha256(content)) << entry.path;
    EXPECT_EQ(entry.after->mode, 0u) << entry.path;  // the guest's, not the one we gave ourselves to read it
  }
}

TEST(Capture, MoreNamesForOneFileThanAHostCouldHoldAreNotProposed) {
  Desk desk;
  write_file(desk.upper("name-0"), std::string(64 << 20, 'x'));
  for (int i = 1; i < 40; ++i) {
    fs::create_hard_link(desk.upper("name-0"), desk.upper("name-" + std::to_string(i)));
  }
  const auto summary = desk.capture();
  expect_captured(summary);
  // One that is stored, and as many more as all holes together may have.
  EXPECT_EQ(summary->added - summary->unappliable, 1 + (kMostHoleBytes >> 26));
}

TEST(Capture, BinaryFilesHaveNoBase) {
  Desk desk;
  write_file(desk.lower("binary"), std::string("a\0b", 3));
  write_file(desk.upper("binary"), std::string("a\0c", 3));
  expect_captured(desk.capture());
  EXPECT_FALSE(desk.entry("binary").has(kBaseKept));
  EXPECT_EQ(desk.blob(*desk.entry("binary").after), std::string("a\0c", 3));
}

TEST(Capture, GitRepositoriesAreFilesLikeOthersAndTheirHooksAreProtected) {
  Desk desk;
  write_file(desk.lower(".git/config"), "[core]\n");
  write_file(desk.upper(".git/config"), "[core]\nfsmonitor = evil\n");
  write_file(desk.upper("vendor/lib/.git/hooks/post-checkout"), "#!/bin/sh\n", 0755);
  write_file(desk.upper("worktree/.git"), "gitdir: /elsewhere\n");
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(desk.changes()[".git/config"], "modified");
  EXPECT_EQ(desk.changes()["vendor/lib/.git/hooks/post-checkout"], "added");
  EXPECT_EQ(desk.changes()["worktree/.git"], "added");
  EXPECT_GE(summary->guarded, 3u);
}

TEST(Capture, RenamesArePairsOfEqualContent) {
  Desk desk;
  write_file(desk.lower("a"), "content");
  write_file(desk.lower("empty"), "");
  whiteout(desk.upper("a"));
  whiteout(desk.upper("empty"));
  write_file(desk.upper("b"), "content");
  write_file(desk.upper("c"), "content");
  write_file(desk.upper("empty2"), "");
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(summary->renamed, 1u);
  const Proposal proposal = desk.proposal();
  const auto renames = find_renames(proposal);
  ASSERT_EQ(renames.size(), 1u);
  EXPECT_EQ(proposal.entries[renames[0].from].path, "a");
  EXPECT_EQ(proposal.entries[renames[0].to].path, "b");
}

TEST(Capture, TwentyThousandFiles) {
  Desk desk;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "d" + std::to_string(i % 100) + "/f" + std::to_string(i);
    write_file(desk.upper(name), std::to_string(i));
  }
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(summary->added, 20'100u);
}

TEST(Capture, StoppedHalfWayThereIsNoProposal) {
  Desk desk;
  for (int i = 0; i < 10; ++i) write_file(desk.upper("f" + std::to_string(i)), "x");
  const Fd lower = desk.open_lower();
  const Fd upper(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd into = desk.open_into();
  const View view{desk.lower(), ViewKind::kOverlay, lower.get(), upper.get(), now(), {}, {}};
  const auto summary = capture(
      view, into.get(), [](const Advance& advance) { return advance.entries < 5 ? Answer::kGoOn : Answer::kStop; });
  ASSERT_FALSE(summary);
  const auto loaded = load(into.get());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
}

TEST(Capture, PathsCanBeHadWithoutAnythingBeingWritten) {
  Desk desk;
  for (const char* name : {"changed", "gone", "same"}) write_file(desk.lower(name), "old");
  for (const char* name : {"changed", "new/file"}) write_file(desk.upper(name), "new");
  write_file(desk.upper("same"), "old");
  whiteout(desk.upper("gone"));
  const Fd lower = desk.open_lower();
  const Fd upper(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const View view{desk.lower(), ViewKind::kOverlay, lower.get(), upper.get(), tick(), {}, {}};
  const auto changed = changed_paths(view);
  ASSERT_TRUE(changed);
  std::vector<std::string> paths;
  for (const ChangedPath& one : *changed) paths.push_back(one.path);
  ASSERT_EQ(paths, (std::vector<std::string>{"changed", "gone", "new", "new/file"}));
  EXPECT_TRUE(tree::agree(changed->front().after, tree::regular_state("new", changed->front().after->mode)));
  EXPECT_FALSE(changed->at(1).after);
  EXPECT_TRUE(fs::is_empty(desk.into()));
}

// A workspace by another name cannot be slipped in by a link of the host's.
TEST(Capture, TheHostsLinksAreNotFollowed) {
  Desk desk;
  fs::create_directory(desk.top() + "/victim");
  write_file(desk.top() + "/victim/file", "secret");
  fs::create_symlink(desk.top() + "/victim", desk.lower("folder"));
  write_file(desk.upper("folder/file"), "guest");
  expect_captured(desk.capture());
  EXPECT_EQ(desk.changes(), (Changes{{"folder", "type"}, {"folder/file", "added"}}));
}

TEST(CaptureCopy, OnlyWhatTheGuestTouchedIsRead) {
  CopyDesk desk;
  for (const char* name : {"kept", "changed", "gone", "folder/inside", "folder/other", "touched"}) {
    write_file(desk.lower(name), name);
  }
  desk.copy();
  write_file(desk.upper("changed"), "new");
  fs::remove(desk.upper("gone"));
  fs::remove(desk.upper("folder/inside"));
  write_file(desk.upper("new"), "new");
  write_file(desk.upper("touched"), "touched");
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(),
            (Changes{{"changed", "modified"}, {"gone", "deleted"}, {"folder/inside", "deleted"}, {"new", "added"}}));
}

TEST(CaptureCopy, WhatTheHostDidMeanwhileIsNotTheGuests) {
  CopyDesk desk;
  write_file(desk.lower("deleted-on-host"), "1");
  write_file(desk.lower("changed-on-host"), "2");
  write_file(desk.lower("changed-by-both"), "3");
  desk.copy();
  fs::remove(desk.lower("deleted-on-host"));
  write_file(desk.lower("changed-on-host"), "host");
  write_file(desk.lower("changed-by-both"), "host");
  write_file(desk.lower("new-on-host"), "host");
  write_file(desk.upper("changed-by-both"), "guest");
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"changed-by-both", "modified, host"}}));
}

TEST(CaptureCopy, WhatIsInADirectoryThatWasMovedGoesWithIt) {
  CopyDesk desk;
  for (const char* name : {"one/same", "two/same", "one/deep/er/file", "two/only", "kept/file"}) {
    write_file(desk.lower(name), std::string("in ") + name[0] + "\n");
  }
  desk.copy();
  fs::rename(desk.upper("one"), desk.upper("aside"));
  fs::rename(desk.upper("two"), desk.upper("one"));
  fs::rename(desk.upper("aside"), desk.upper("two"));
  fs::rename(desk.upper("two/deep/er"), desk.upper("new"));
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"one/same", "modified"},
                                     {"two/same", "modified"},
                                     {"one/only", "added"},
                                     {"two/only", "deleted"},
                                     {"one/deep", "deleted"},
                                     {"one/deep/er", "deleted"},
                                     {"one/deep/er/file", "deleted"},
                                     {"two/deep", "added"},
                                     {"new", "added"},
                                     {"new/file", "added"}}));
}

TEST(CaptureCopy, WhatTheHostDidInADirectoryThatTheGuestTouchedIsNotTheGuests) {
  CopyDesk desk;
  for (const char* name : {"folder/edited", "folder/removed", "folder/deep/edited", "folder/kept"}) {
    write_file(desk.lower(name), "old\n");
  }
  desk.copy();
  write_file(desk.upper("folder/guests"), "x");
  write_file(desk.lower("folder/edited"), "new\n");
  write_file(desk.lower("folder/deep/edited"), "new\n");
  write_file(desk.lower("folder/made"), "new\n");
  fs::remove(desk.lower("folder/removed"));
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"folder/guests", "added"}}));
}

TEST(CaptureCopy, AWhiteoutIsADeviceThere) {
  CopyDesk desk;
  write_file(desk.lower("file"), "1");
  desk.copy();
  fs::remove(desk.upper("file"));
  whiteout(desk.upper("file"));
  expect_captured(desk.capture(ViewKind::kCopy));
  EXPECT_EQ(desk.changes(), (Changes{{"file", "type, a device"}}));
}

}  // namespace
}  // namespace cloche::files
