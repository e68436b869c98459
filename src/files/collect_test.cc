#include "files/collect.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace cloche::files
