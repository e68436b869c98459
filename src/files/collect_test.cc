#include "files/collect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "files/test_support.h"

namespace cloche::files {
namespace {

// The guest's /work is the desk's upper side; what it gets lands in `lower`.
struct Counter {
  Desk desk;
  std::vector<GuestPlace> places;

  Counter() { places.push_back({"/work", Fd(::open(desk.upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))}); }
  Result<Fetched> get(const std::string& guest_path, const std::string& name) {
    auto to = Destination::open(desk.lower(name), guest_path);
    if (!to) return std::unexpected(to.error());
    return fetch(places, guest_path, *to);
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(desk.lower())) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
};

TEST(Fetch, WhatLiesUnderTheHiddenNameIsNeitherUsedNorRemoved) {
  Counter counter;
  write_file(counter.desk.upper("result"), "the guest's");
  write_file(counter.desk.upper("folder/inner"), "the guest's");
  const std::string planted = ".cloche-get-" + std::to_string(::getpid());
  write_file(counter.desk.lower(planted + "/precious"), "x");
  write_file(counter.desk.lower(planted + "-0/precious"), "x");
  fs::create_symlink(planted, counter.desk.lower(planted + "-1"));
  for (const char* path : {"/work/result", "/work/folder"}) {
    const auto got = counter.get(path, std::string("got") + path[6]);
    ASSERT_TRUE(got) << got.error().text();
  }
  EXPECT_EQ(counter.left(), (std::vector<std::string>{planted, planted + "-0", planted + "-1", "gotf", "gotr"}));
  EXPECT_TRUE(fs::exists(counter.desk.lower(planted + "/precious")));
  EXPECT_TRUE(fs::exists(counter.desk.lower(planted + "-0/precious")));
}

TEST(Fetch, K7_TheHiddenDirectoryIsInSomebodysCareFromBeforeItIsMadeUntilItIsGone) {
  Counter counter;
  write_file(counter.desk.upper("result"), "the guest's");
  write_file(counter.desk.upper("folder/inner"), "the guest's");
  const std::string planted = ".cloche-get-" + std::to_string(::getpid()) + "-0";
  write_file(counter.desk.lower(planted + "/precious"), "x");
  std::set<std::string> watched;
  bool kept = false;
  int told = 0;
  const Caretaker caretaker{[&](const std::string& path) -> Status {
                              EXPECT_FALSE(fs::exists(path));
                              watched.insert(path);
                              return {};
                            },
                            [&](const std::string& path, const sys::DirectoryId& id) -> Status {
                              EXPECT_TRUE(fs::is_empty(path));
                              const Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
                              EXPECT_TRUE(wire::is_same(sys::directory_id(folder.get()).value(), id));
                              EXPECT_NE(id.device, 0u);
                              ++told;
                              return {};
                            },
                            [&](const std::string& path) {
                              EXPECT_FALSE(fs::exists(path));
                              EXPECT_EQ(watched.erase(path), 1u);
                            }};
  const auto look = [&](const Advance&) {
    kept = true;
    for (const std::string& name : counter.left()) {
      const bool hidden = name.starts_with(".cloche-get-") && name != planted;
      EXPECT_TRUE(!hidden || watched.contains(counter.desk.lower(name))) << name;
    }
    EXPECT_EQ(watched.size(), 1u);
    return Answer::kGoOn;
  };
  for (const char* path : {"/work/result", "/work/folder"}) {
    const auto to = Destination::open(counter.desk.lower(std::string("got") + path[6]), path);
    ASSERT_TRUE(fetch(counter.places, path, *to, look, caretaker));
    EXPECT_EQ(watched, std::set<std::string>{});
  }
  EXPECT_TRUE(kept);
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(fs::exists(counter.desk.lower(planted + "/precious")));
  // Nobody takes care of it: nothing is made.
  const Caretaker nobody{
      [](const std::string&) { return Status(fail(ErrorCode::kRefused, "care", "not now")); }, {}, {}};
  const auto to = Destination::open(counter.desk.lower("never"), "/work/result");
  EXPECT_FALSE(fetch(counter.places, "/work/result", *to, {}, nobody));
  EXPECT_EQ(counter.left(), (std::vector<std::string>{planted, "gotf", "gotr"}));
}

TEST(Fetch, WhatFailsHalfWayLeavesNothing) {
  Counter counter;
  write_file(counter.desk.upper("folder/a"), "x");
  write_file(counter.desk.upper("folder/endless"), "x");
  ASSERT_EQ(::truncate(counter.desk.upper("folder/endless").c_str(), off_t{1} << 42), 0);
  EXPECT_FALSE(counter.get("/work/folder", "got"));
  EXPECT_FALSE(counter.get("/work/folder/endless", "got"));
  // A directory is not replaced.
  write_file(counter.desk.lower("there/a/file"), "x");
  EXPECT_FALSE(counter.get("/work/folder/a", "there"));
  EXPECT_EQ(counter.left(), (std::vector<std::string>{"there"}));
}

TEST(Fetch, OnlyARegularFileIsReplaced) {
  Counter counter;
  write_file(counter.desk.upper("result"), "the guest's");
  write_file(counter.desk.upper("folder/inner"), "the guest's");
  ASSERT_EQ(::mkfifo(counter.desk.lower("pipe").c_str(), 0600), 0);
  fs::create_symlink("elsewhere", counter.desk.lower("link"));
  fs::create_directories(counter.desk.lower("into/folder"));
  write_file(counter.desk.lower("file"), "old");
  for (const char* name : {"pipe", "link"}) {
    const auto to = Destination::open(counter.desk.lower(name), "/work/result");
    ASSERT_FALSE(to) << name;
    EXPECT_EQ(to.error().code, ErrorCode::kRefused);
  }
  EXPECT_FALSE(Destination::open(counter.desk.lower("into"), "/work/folder"));
  const auto got = counter.get("/work/result", "file");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(sys::read_file(counter.desk.lower("file"), 100).value_or(""), "the guest's");
}

TEST(Fetch, WhatAppearsAtTheTargetWhileTheGuestRunsIsNotReplaced) {
  Counter counter;
  write_file(counter.desk.upper("result"), "the guest's");
  write_file(counter.desk.upper("folder/inner"), "the guest's");
  for (const char* path : {"/work/result", "/work/folder"}) {
    const auto to = Destination::open(counter.desk.lower("target"), path);
    ASSERT_TRUE(to) << to.error().text();
    fs::create_symlink("elsewhere", counter.desk.lower("target"));
    EXPECT_FALSE(fetch(counter.places, path, *to));
    EXPECT_TRUE(fs::is_symlink(counter.desk.lower("target")));
    fs::remove(counter.desk.lower("target"));
    ASSERT_EQ(::mkfifo(counter.desk.lower("target").c_str(), 0600), 0);
    EXPECT_FALSE(fetch(counter.places, path, *to));
    EXPECT_EQ(counter.left(), (std::vector<std::string>{"target"}));
    fs::remove(counter.desk.lower("target"));
  }
}

TEST(Fetch, ATargetIsTheSameByItsDirectoryAndName) {
  Counter counter;
  fs::create_directory(counter.desk.lower("d"));
  const auto one = Destination::open(counter.desk.lower("d"), "/work/x");
  const auto two = Destination::open(counter.desk.lower("d/x"), "/work/y");
  const auto other = Destination::open(counter.desk.lower("d/y"), "/work/x");
  ASSERT_TRUE(one && two && other);
  EXPECT_TRUE(one->same_as(*two));
  EXPECT_FALSE(one->same_as(*other));
}

TEST(Fetch, ADirectoryThatIsMissingIsToldAsThat) {
  Counter counter;
  const auto to = Destination::open(counter.desk.lower("nowhere/x"), "/work/x");
  ASSERT_FALSE(to);
  EXPECT_EQ(to.error().text().find("policy"), std::string::npos) << to.error().text();
  EXPECT_NE(to.error().hint.find("make the directory"), std::string::npos);
}

TEST(Fetch, NamesForOneFileCannotFillTheDisk) {
  Counter counter;
  write_file(counter.desk.upper("folder/name-0"), std::string(1 << 20, 'x'));
  for (int i = 1; i < 3; ++i) {
    fs::create_hard_link(counter.desk.upper("folder/name-0"), counter.desk.upper("folder/name-" + std::to_string(i)));
  }
  const auto got = counter.get("/work/folder", "got");
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(got->files, 3u);
  // Sparse, so that the test needs no gigabytes: each further name counts in full.
  ASSERT_EQ(::truncate(counter.desk.upper("folder/name-0").c_str(), 600 << 20), 0);
  const auto refused = counter.get("/work/folder", "more");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_EQ(counter.left(), (std::vector<std::string>{"got"}));
}

TEST(Fetch, R4_ProtectedNamesAreNotWritten) {
  Counter counter;
  write_file(counter.desk.upper("out/.git/hooks/pre-commit"), "evil");
  write_file(counter.desk.upper("bare/HEAD"), "ref: refs/heads/main");
  fs::create_directory(counter.desk.upper("bare/objects"));
  fs::create_directory(counter.desk.upper("bare/refs"));
  write_file(counter.desk.upper("built/hooks/x"), "evil");
  write_file(counter.desk.upper("file"), "evil");
  write_file(counter.desk.lower(".git/config"), "[core]\nhooksPath = built/hooks\n");
  const auto before = counter.left();
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"/work/out", "out"},
                                                                                 {"/work/bare", "bare"},
                                                                                 {"/work/built", "built"},
                                                                                 {"/work/file", ".bashrc"},
                                                                                 {"/work/file", ".git/post-commit"},
                                                                                 {"/work/file", ".git/config"}}) {
    const auto got = counter.get(from, to);
    if (to == ".git/post-commit") {
      EXPECT_TRUE(got) << got.error().text();
      continue;
    }
    ASSERT_FALSE(got) << to;
    EXPECT_EQ(got.error().code, ErrorCode::kRefused);
    EXPECT_NE(got.error().message.find("protected name"), std::string::npos) << got.error().text();
  }
  EXPECT_EQ(counter.left(), before);
  EXPECT_TRUE(counter.get("/work/built", "elsewhere"));
}

// The next application there would take it for one of its own that was interrupted.
TEST(Fetch, R4_NoStagingDirectoryOfAnApplicationComesOut) {
  Counter counter;
  write_file(counter.desk.upper("out/.cloche-apply/journal"), "evil");
  write_file(counter.desk.upper("deep/er/.Cloche-Apply/journal"), "evil");
  write_file(counter.desk.upper("file"), "evil");
  fs::create_directory(counter.desk.upper(".cloche-apply"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"/work/out", "out"},
                                                                                 {"/work/deep", "deep"},
                                                                                 {"/work/file", ".cloche-apply"},
                                                                                 {"/work/.cloche-apply", ""}}) {
    const auto got = counter.get(from, to);
    ASSERT_FALSE(got) << from;
    EXPECT_EQ(got.error().code, ErrorCode::kRefused);
    EXPECT_NE(got.error().message.find("name of Cloche's own"), std::string::npos) << got.error().text();
  }
  EXPECT_TRUE(counter.left().empty());
}

}  // namespace
}  // namespace cloche::files
