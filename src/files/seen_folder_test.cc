#include "files/seen_folder.h"

#include <gtest/gtest.h>

#include "files/collect.h"
#include "files/test_support.h"

namespace cloche::files {
namespace {

// The desk as an overlay at /ws.
struct Seen {
  Desk desk;
  Fd lower = desk.open_lower();
  std::vector<std::string> covered;

  std::vector<GuestPlace> places() const {
    std::vector<GuestPlace> out;
    out.push_back({"/ws", Fd(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), lower.get(), covered});
    return out;
  }
  // What is found, with the content.
  std::map<std::string, std::string> found(const std::string& pattern) const {
    const std::vector<std::string> patterns{pattern};
    (void)sys::remove_tree(desk.into("blobs"));
    const auto all = collect(places(), patterns, desk.open_into().get());
    EXPECT_TRUE(all) << (all ? "" : all.error().text());
    std::map<std::string, std::string> out;
    for (const Collected& one : all ? *all : std::vector<Collected>{}) {
      out[one.path] = sys::read_file(desk.into("blobs/" + sys::to_hex(one.digest)), 1 << 20).value_or("?");
    }
    return out;
  }
  Result<Fetched> get(const std::string& path, const std::string& name) const {
    auto to = Destination::open(desk.into(name), path);
    if (!to) return std::unexpected(to.error());
    return fetch(places(), path, *to);
  }
};
using Found = std::map<std::string, std::string>;

TEST(SeenFolder, WhatTheGuestLeftAsItWasIsFoundAsWhatItWrote) {
  Seen seen;
  write_file(seen.desk.lower("out/kept.png"), "the host's");
  write_file(seen.desk.lower("out/changed.png"), "before");
  write_file(seen.desk.lower("out/gone.png"), "gone");
  write_file(seen.desk.lower("out/deep/er/kept.png"), "deep");
  write_file(seen.desk.lower("new/old.png"), "not seen");
  write_file(seen.desk.lower("file/old.png"), "not seen");
  write_file(seen.desk.lower("removed/old.png"), "not seen");
  write_file(seen.desk.lower("was-file"), "not seen");
  write_file(seen.desk.upper("out/changed.png"), "after");
  write_file(seen.desk.upper("out/made.png"), "made");
  whiteout(seen.desk.upper("out/gone.png"));
  make_opaque(seen.desk.upper("new"));
  write_file(seen.desk.upper("new/made.png"), "made");
  write_file(seen.desk.upper("file"), "a file");
  whiteout(seen.desk.upper("removed"));
  make_opaque(seen.desk.upper("was-file"));
  write_file(seen.desk.upper("was-file/in.png"), "in");
  const Found all{{"/ws/out/kept.png", "the host's"}, {"/ws/out/changed.png", "after"},
                  {"/ws/out/made.png", "made"},       {"/ws/out/deep/er/kept.png", "deep"},
                  {"/ws/new/made.png", "made"},       {"/ws/was-file/in.png", "in"}};
  EXPECT_EQ(seen.found("/ws/**/*.png"), all);
  EXPECT_EQ(seen.found("/ws/out/k*"), (Found{{"/ws/out/kept.png", "the host's"}}));
  const auto got = seen.get("/ws/out", "got");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->files, 4u);
  EXPECT_EQ(sys::read_file(seen.desk.into("got/deep/er/kept.png"), 99).value_or("?"), "deep");
  EXPECT_FALSE(fs::exists(seen.desk.into("got/gone.png")));
  EXPECT_TRUE(seen.get("/ws/out/deep/er/kept.png", "one"));
  for (const char* path : {"/ws/out/gone.png", "/ws/new/old.png", "/ws/removed/old.png", "/ws/file/old.png"}) {
    EXPECT_FALSE(seen.get(path, "never")) << path;
  }
}

TEST(SeenFolder, NothingOfTheHostsIsChangedOrFollowed) {
  Seen seen;
  write_file(seen.desk.top() + "/outside/secret", "secret");
  write_file(seen.desk.lower("closed/in"), "x");
  fs::create_symlink(seen.desk.top() + "/outside", seen.desk.lower("way"));
  fs::create_symlink(seen.desk.top() + "/outside/secret", seen.desk.lower("link"));
  ASSERT_EQ(::mkfifo(seen.desk.lower("pipe").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(seen.desk.lower("closed/in").c_str(), 0), 0);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0), 0);
  write_file(seen.desk.lower("mute"), "x", 0);
  EXPECT_EQ(seen.found("/ws/**"), Found{});
  for (const char* path : {"/ws/way/secret", "/ws/link", "/ws/pipe", "/ws/mute", "/ws/closed/in"}) {
    EXPECT_FALSE(seen.get(path, "never")) << path;
  }
  struct stat st{};
  ASSERT_EQ(::stat(seen.desk.lower("mute").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0u);
  ASSERT_EQ(::stat(seen.desk.lower("closed").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0u);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0700), 0);
}

// A grant lies there, or what Cloche keeps: no part of the workspace.
TEST(SeenFolder, WhatWasCoveredIsNotFound) {
  Seen seen;
  write_file(seen.desk.lower("vendor/x"), "x");
  write_file(seen.desk.lower("deep/state/key"), "secret");
  write_file(seen.desk.lower("deep/beside"), "x");
  fs::create_directories(seen.desk.upper("deep/state"));
  seen.covered = {"vendor", "deep/state"};
  EXPECT_EQ(seen.found("/ws/**"), (Found{{"/ws/deep/beside", "x"}}));
  EXPECT_FALSE(seen.get("/ws/deep/state/key", "never"));
  ASSERT_TRUE(seen.get("/ws/deep", "got"));
  EXPECT_FALSE(fs::exists(seen.desk.into("got/state")));
}

// Root may read everything. Its guest is the owner of the workspace.
TEST(SeenFolder, WhatRootsGuestCouldNotReadStaysBehind) {
  if (::geteuid() != 0) return;
  Seen seen;
  constexpr uid_t kOwner = 12345;
  ASSERT_EQ(::chown(seen.desk.lower().c_str(), kOwner, kOwner), 0);
  const auto make = [&](const std::string& name, uid_t user, gid_t group, mode_t mode) {
    write_file(seen.desk.lower(name), name, mode);
    ASSERT_EQ(::chown(seen.desk.lower(name).c_str(), user, group), 0);
  };
  make("own", kOwner, 0, 0400);
  make("own-mute", kOwner, 0, 0044);
  make("group", 0, kOwner, 0040);
  make("group-mute", 0, kOwner, 0404);
  make("other", 0, 0, 0004);
  make("other-mute", 0, 0, 0440);
  make("unlisted/x", 0, 0, 0644);
  ASSERT_EQ(::chmod(seen.desk.lower("unlisted").c_str(), 0711), 0);
  make("closed/x", 0, 0, 0644);
  ASSERT_EQ(::chmod(seen.desk.lower("closed").c_str(), 0744), 0);
  EXPECT_EQ(seen.found("/ws/**"), (Found{{"/ws/group", "group"}, {"/ws/other", "other"}, {"/ws/own", "own"}}));
  EXPECT_TRUE(seen.get("/ws/unlisted/x", "one"));
  EXPECT_FALSE(seen.get("/ws/closed/x", "two"));
  EXPECT_FALSE(seen.get("/ws/other-mute", "three"));
}

}  // namespace
}  // namespace cloche::files
