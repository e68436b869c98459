#include "store/run_directory.h"

#include <fcntl.h>

#include "store/listing.h"
#include "store/test_support.h"

namespace cloche::store {
namespace {

class RunDirectoryTest : public StoreCase {
 protected:
  std::string find_error(std::string_view name, Use use = Use::kRead) { return error_of(find_run(place_, name, use)); }
};

TEST_F(RunDirectoryTest, ARunIsFoundWhenItIsOver) {
  auto record = Record::begin(place_, "abcdefgh", facts());
  ASSERT_TRUE(record) << error_of(record);
  EXPECT_EQ(find_error("abcdefgh"), "run: run abcdefgh is still running as process " + std::to_string(::getpid()) +
                                        "; wait for its end, or cancel it");
  ASSERT_TRUE(record->finish({"exited", 3}, "{}\n"));
  record = fail(ErrorCode::kInternal, "", "");
  for (const char* name : {"abcdefgh", "abcd", "last"}) {
    const auto run = find_run(place_, name, Use::kRead);
    ASSERT_TRUE(run) << error_of(run);
    EXPECT_EQ(run->id(), "abcdefgh");
    EXPECT_EQ(*run->report(), "{}\n");
    EXPECT_EQ(run->read()->end->exit_code, 3);
  }
}

TEST_F(RunDirectoryTest, NamesThatLeadNowhereSaySo) {
  EXPECT_EQ(find_run(place_, "abcd", Use::kRead).error().code, ErrorCode::kNotFound);
  plant("abcdaaaa", std::chrono::days(1));
  plant("abcdbbbb", std::chrono::days(2));
  EXPECT_EQ(find_error("abcd"), "run: 2 runs begin with \"abcd\": abcdaaaa, abcdbbbb; give more of the id");
  EXPECT_EQ(find_error("zzzz"), "run: there is no run \"zzzz\"; `cloche ps --all` lists the runs");
  for (const char* name : {"", "abc", "../x", "a/bcd", "\x1b[2J", ".gone-abcdaaaa"}) {
    EXPECT_EQ(find_run(place_, name, Use::kRead).error().code, ErrorCode::kInvalidInput) << name;
  }
  EXPECT_EQ(find_run(place_, "last", Use::kRead)->id(), "abcdaaaa");
  plant("abcd", std::chrono::days(3));
  EXPECT_EQ(find_run(place_, "abcd", Use::kRead)->id(), "abcd") << "a whole id is no beginning";
}

TEST_F(RunDirectoryTest, ManyReadAndOneChanges) {
  plant("abcdefgh", Millis(1));
  auto first = find_run(place_, "abcdefgh", Use::kRead);
  ASSERT_TRUE(first);
  EXPECT_TRUE(find_run(place_, "abcdefgh", Use::kRead));
  EXPECT_EQ(find_run(place_, "abcdefgh", Use::kChange).error().code, ErrorCode::kRefused);
  first = fail(ErrorCode::kInternal, "", "");
  auto changer = find_run(place_, "abcdefgh", Use::kChange);
  ASSERT_TRUE(changer) << error_of(changer);
  const std::string busy =
      "run: run abcdefgh is in use by process " + std::to_string(::getpid()) + "; try again when that is done";
  EXPECT_EQ(find_error("abcdefgh"), busy);
  EXPECT_EQ(find_error("abcdefgh", Use::kChange), busy);
}

TEST_F(RunDirectoryTest, WhoIsKilledHoldsNothing) {
  plant("abcdefgh", Millis(1));
  Other other([&] { new auto(find_run(place_, "abcdefgh", Use::kChange)); });
  EXPECT_EQ(find_error("abcdefgh"),
            "run: run abcdefgh is in use by process " + std::to_string(other.pid()) + "; try again when that is done");
  other.end();
  EXPECT_TRUE(find_run(place_, "abcdefgh", Use::kChange));
}

TEST_F(RunDirectoryTest, AKilledRunIsSeenAsCrashed) {
  Other other([&] { new auto(Record::begin(place_, "abcdefgh", facts())); });
  auto runs = list_runs(place_, Measure::kNo);
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().state, RunState::kRunning);
  EXPECT_EQ(runs->front().file->pid, other.pid());
  other.end();
  EXPECT_EQ(list_runs(place_, Measure::kNo)->front().state, RunState::kCrashed);
  auto run = find_run(place_, "abcdefgh", Use::kChange);
  ASSERT_TRUE(run) << error_of(run);
  EXPECT_FALSE(run->read()->end);
  EXPECT_EQ(run->report().error().code, ErrorCode::kNotFound);
}

TEST_F(RunDirectoryTest, WhatIsKeptCanChange) {
  plant("abcdefgh", Millis(1), {"workspace", "outputs"});
  ASSERT_TRUE(find_run(place_, "abcdefgh", Use::kChange)->set_keeps({"outputs"}));
  EXPECT_EQ(find_run(place_, "abcdefgh", Use::kRead)->read()->facts.keeps, std::vector<std::string>{"outputs"});
}

TEST_F(RunDirectoryTest, StrangeThingsInPlaceOfARunAreRefused) {
  plant("goodgood", Millis(1));
  const std::string runs = place_.directory + "/runs/";
  fs::create_directory_symlink(runs + "goodgood", runs + "linklink");
  std::ofstream(runs + "filefile") << "x";
  fs::create_directory(runs + "fifofifo");
  ASSERT_EQ(::mkfifo((runs + "fifofifo/lock").c_str(), 0600), 0);
  fs::create_directory(runs + "linklock");
  fs::create_symlink("/etc/passwd", runs + "linklock/lock");
  for (const char* name : {"linklink", "filefile", "fifofifo", "linklock"}) {
    EXPECT_FALSE(find_run(place_, name, Use::kRead)) << name;
    EXPECT_FALSE(find_run(place_, name, Use::kChange)) << name;
  }
  write("pipepipe", "lock", "");
  ASSERT_EQ(::mkfifo((runs + "pipepipe/run.json").c_str(), 0600), 0);
  EXPECT_FALSE(find_run(place_, "pipepipe", Use::kRead)->read());
  write("hugehuge", "lock", "");
  const RunFile file{"hugehuge", facts(), 1, {}, {}, {}};
  write("hugehuge", "run.json", encode(file) + std::string(kRunFileLimit, ' '));
  EXPECT_FALSE(find_run(place_, "hugehuge", Use::kRead)->read());
  EXPECT_EQ(find_run(place_, "last", Use::kRead)->id(), "goodgood");
}

TEST_F(RunDirectoryTest, TwoRunsNeverShareADirectory) {
  ASSERT_TRUE(Record::begin(place_, "abcdefgh", facts()));
  EXPECT_EQ(Record::begin(place_, "abcdefgh", facts()).error().errno_value, EEXIST);
  EXPECT_EQ(Record::begin(place_, "../../x", facts()).error().code, ErrorCode::kInternal);
}

TEST_F(RunDirectoryTest, SizesAreThoseOfTheWholeTree) {
  plant("abcdefgh", Millis(1));
  fs::create_directories(run_path("abcdefgh") + "/ws/1/deep");
  std::ofstream(run_path("abcdefgh") + "/ws/1/deep/data") << std::string(100'000, 'x');
  fs::create_directory_symlink("/usr", run_path("abcdefgh") + "/ws/usr");
  const auto runs = list_runs(place_, Measure::kYes);
  EXPECT_GE(runs->front().size.count, 100'000u);
  EXPECT_LE(runs->front().size.count, 400'000u) << "links are not followed";
}

}  // namespace
}  // namespace cloche::store
