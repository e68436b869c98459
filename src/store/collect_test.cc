#include "store/collect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <set>

#include "store/plain_record.h"
#include "store/run_directory.h"
#include "store/test_support.h"

namespace cloche::store {
namespace {

using std::chrono::days;
using Names = std::vector<std::string>;

class CollectTest : public StoreCase {
 protected:
  static bool always(const Progress&) { return true; }
  Collected collect_all() {
    auto done = collect(place_, {.runs = 0}, always);
    EXPECT_TRUE(done) << error_of(done);
    return done.value_or(Collected{});
  }
  void set_last_collection(std::chrono::seconds ago) {
    const std::string path = place_.directory + "/gc.lock";
    const auto then = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - ago);
    const timeval times[2] = {{then, 0}, {then, 0}};
    ASSERT_EQ(::utimes(path.c_str(), times), 0);
  }
};

TEST_F(CollectTest, NothingRecordedIsNothingToDo) {
  EXPECT_EQ(collect_all().removed.size(), 0u);
  EXPECT_FALSE(fs::exists(place_.directory));
}

TEST_F(CollectTest, RemovesWhatIsOverAndSaysHowMuch) {
  plant("aaaaaaaa", Millis(1));
  plant("bbbbbbbb", days(8));
  std::ofstream(run_path("bbbbbbbb") + "/data") << std::string(100'000, 'x');
  const auto seen = preview(place_, {.age = days(7)});
  const auto done = collect(place_, {.age = days(7)}, always);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->removed, seen->removed);
  ASSERT_EQ(done->removed.size(), 1u);
  EXPECT_EQ(done->removed[0].id, "bbbbbbbb");
  EXPECT_GE(done->freed().count, 100'000u);
  EXPECT_EQ(done->left, 1u);
  EXPECT_EQ(entries(), Names{"aaaaaaaa"});
}

TEST_F(CollectTest, K7_FindsEverythingThatACrashCanLeave) {
  Other other([&] { new auto(Record::begin(place_, "aaaaaaaa", facts())); });
  other.end();
  fs::create_directory(run_path("bbbbbbbb"));  // killed before its lock
  write("cccccccc", "lock", "");               // before its first word
  write("dddddddd", "lock", "{\"ver");
  write("eeeeeeee", ".run.json", "{");  // while it wrote its end
  write(".gone-ffffffff", "x", "");     // while it was removed
  EXPECT_EQ(preview(place_, *automatic_limits({}))->removed.size(), 6u);
  const auto done = collect(place_, *automatic_limits({}), always);
  EXPECT_EQ(done->removed.size(), 6u);
  EXPECT_EQ(entries(), Names{});
}

TEST_F(CollectTest, K7_WhatAKilledRunLeftElsewhereGoesBeforeItsRecord) {
  Other other([&] {
    new auto(Record::begin(place_, "aaaaaaaa", facts()));
    new auto(PlainRecord::begin(place_, "bbbbbbbb", facts()));
  });
  other.end();
  write(".gone-cccccccc", "x", "");
  plant("dddddddd", days(30));
  auto living = Record::begin(place_, "eeeeeeee", facts());
  ASSERT_TRUE(living);
  std::set<std::string> swept;
  Status answer = fail(ErrorCode::kRefused, "sweep", "somebody is in it");
  const auto sweep = [&](const std::string& id, int directory, const std::function<bool()>&) {
    swept.insert(id);
    struct stat st{};
    EXPECT_EQ(directory < 0, id == "bbbbbbbb");
    EXPECT_TRUE(directory < 0 || (::fstat(directory, &st) == 0 && S_ISDIR(st.st_mode))) << id;
    return answer;
  };
  // What is not done yet keeps its record.
  const std::set<std::string> killed{"aaaaaaaa", "bbbbbbbb", "cccccccc"};
  auto done = collect(place_, {.runs = 0}, always, sweep);
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_EQ(swept, killed);
  EXPECT_EQ(std::set<std::string>(done->in_use.begin(), done->in_use.end()), killed);
  EXPECT_TRUE(done->failed.empty());
  // Nor is what cannot be removed forgotten; it is told.
  answer = fail_errno(EPERM, "remove /tmp/x", "could not be removed");
  done = collect(place_, {.runs = 0}, always, sweep);
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_TRUE(done->removed.empty() && done->in_use.empty());
  ASSERT_EQ(done->failed.size(), 3u);
  EXPECT_NE(done->failed[0].text().find("/tmp/x"), std::string::npos) << done->failed[0].text();
  swept.clear();
  answer = {};
  EXPECT_EQ(collect(place_, {.runs = 0}, always, sweep)->removed.size(), 3u);
  EXPECT_EQ(swept, killed);
  EXPECT_EQ(collect_all().removed.size(), 0u);
}

TEST_F(CollectTest, NeverWhatLivesOrIsUsed) {
  auto living = Record::begin(place_, "aaaaaaaa", facts());
  plant("bbbbbbbb", days(30));
  plant("cccccccc", days(31));
  auto reader = find_run(place_, "bbbbbbbb", Use::kRead);
  auto changer = find_run(place_, "cccccccc", Use::kChange);
  ASSERT_TRUE(living && reader && changer);
  EXPECT_EQ(collect_all().in_use, (Names{"bbbbbbbb", "cccccccc"}));
  EXPECT_EQ(entries(), (Names{"aaaaaaaa", "bbbbbbbb", "cccccccc"}));
  reader = fail(ErrorCode::kInternal, "", "");
  changer = fail(ErrorCode::kInternal, "", "");
  EXPECT_EQ(collect_all().removed.size(), 2u);
  ASSERT_TRUE(living->finish({"exited", 0}, "{}"));
  living = fail(ErrorCode::kInternal, "", "");
  EXPECT_EQ(collect_all().removed.size(), 1u);
}

TEST_F(CollectTest, ARunThatWasChosenWhileItStartedIsSpared) {
  // As if it had taken its lock after the list was made: the list says crashed.
  auto living = Record::begin(place_, "aaaaaaaa", facts());
  ASSERT_TRUE(living);
  ASSERT_EQ(::truncate((run_path("aaaaaaaa") + "/lock").c_str(), 0), 0);
  EXPECT_EQ(collect_all().removed.size(), 0u);
  EXPECT_EQ(entries(), Names{"aaaaaaaa"});
}

TEST_F(CollectTest, RunsBeginWhileACollectionIsAtWork) {
  ASSERT_TRUE(make_runs(place_));
  const pid_t collector = ::fork();
  if (collector == 0) {
    for (;;) (void)collect(place_, {.runs = 0}, always);
  }
  int lost = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string id = "run" + std::to_string(1000 + i);
    auto record = Record::begin(place_, id, facts());
    if (!record || !fs::exists(run_path(id) + "/lock") || !record->finish({"exited", 0}, "{}")) ++lost;
  }
  ::kill(collector, SIGKILL);
  ::waitpid(collector, nullptr, 0);
  EXPECT_EQ(lost, 0);
}

TEST_F(CollectTest, TouchesNothingThatIsNoRun) {
  plant("aaaaaaaa", days(1));
  for (const char* name : {"NOTES", ".hidden", ".gone-", ".gone-../x", "x y"}) {
    std::error_code ignored;
    fs::create_directory(place_.directory + "/runs/" + name, ignored);
  }
  collect_all();
  EXPECT_EQ(entries(), (Names{".gone-", ".hidden", "NOTES", "x y"}));
}

TEST_F(CollectTest, NeverFollowsALinkOutOfTheStateDirectory) {
  const std::string victim = top_ + "/victim";
  fs::create_directory(victim);
  std::ofstream(victim + "/precious") << "x";
  plant("aaaaaaaa", days(1));
  fs::create_directory_symlink(victim, run_path("aaaaaaaa") + "/ws");
  fs::create_directories(run_path("aaaaaaaa") + "/deep/\n\x1b[2J\xff");
  fs::create_directory_symlink(victim, run_path("aaaaaaaa") + "/deep/\n\x1b[2J\xff/link");
  fs::create_directory_symlink(victim, run_path("bbbbbbbb"));
  fs::create_directory_symlink(victim, run_path(".gone-cccccccc"));
  std::ofstream(run_path("dddddddd")) << "x";
  EXPECT_EQ(collect_all().removed.size(), 4u);
  EXPECT_EQ(entries(), Names{});
  EXPECT_TRUE(fs::exists(victim + "/precious"));
  EXPECT_EQ(std::distance(fs::directory_iterator(victim), {}), 1) << "nor leaves anything there";
}

TEST_F(CollectTest, RemovesTreesThatAGuestMadeToBeHard) {
  plant("aaaaaaaa", days(1));
  const std::string name(200, 'd');
  int folder = ::open(run_path("aaaaaaaa").c_str(), O_PATH);
  for (int i = 0; i < 300; ++i) {  // far longer than a path can be
    ASSERT_EQ(::mkdirat(folder, name.c_str(), 0700), 0);
    const int next = ::openat(folder, name.c_str(), O_PATH);
    ::close(folder);
    folder = next;
  }
  ASSERT_EQ(::mkdirat(folder, "closed", 0), 0);
  ::close(folder);
  const Collected done = collect_all();
  ASSERT_EQ(done.removed.size(), 1u);
  EXPECT_GT(done.freed().count, 0u);
  EXPECT_EQ(entries(), Names{});
}

TEST_F(CollectTest, WhatWasStoppedHalfWayIsFinishedByTheNext) {
  plant("aaaaaaaa", days(1));
  for (int i = 0; i < 10; ++i) std::ofstream(run_path("aaaaaaaa") + "/" + std::to_string(i)) << "x";
  int asked = 0;
  const auto stopped = collect(place_, {.runs = 0}, [&](const Progress&) { return ++asked < 4; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(stopped->removed.size(), 0u);
  EXPECT_EQ(entries(), Names{".gone-aaaaaaaa"});
  EXPECT_EQ(find_run(place_, "aaaaaaaa", Use::kRead).error().code, ErrorCode::kNotFound);
  const auto done = collect(place_, {}, always);
  ASSERT_EQ(done->removed.size(), 1u);
  EXPECT_EQ(done->removed[0].why, Why::kHalfRemoved);
  EXPECT_EQ(entries(), Names{});
}

TEST_F(CollectTest, OneAtATimeAndItSaysWho) {
  plant("aaaaaaaa", days(1));
  // Never ends: it waits in the middle of its work.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    (void)collect(place_, {.runs = 0}, [&](const Progress&) {
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
      return true;
    });
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto second = collect(place_, {.runs = 0}, always);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(error_of(second), "gc: process " + std::to_string(other) + " collects already; try again when it is done");
  const Collected done = collect_all();
  ASSERT_EQ(done.removed.size(), 1u) << "and what it was killed at is finished";
  EXPECT_EQ(done.removed[0].why, Why::kHalfRemoved);
}

TEST_F(CollectTest, AutomaticallyOnceAnHour) {
  plant("aaaaaaaa", days(1));
  plant("bbbbbbbb", days(8));
  collect_if_due(place_, {});
  EXPECT_EQ(entries(), Names{"aaaaaaaa"});
  plant("bbbbbbbb", days(8));
  collect_if_due(place_, {});
  EXPECT_EQ(entries(), (Names{"aaaaaaaa", "bbbbbbbb"})) << "it was done just now";
  set_last_collection(std::chrono::minutes(61));
  collect_if_due(place_, {{"CLOCHE_KEEP_AGE", "what"}});
  EXPECT_EQ(entries(), (Names{"aaaaaaaa", "bbbbbbbb"})) << "limits are not guessed";
  collect_if_due(place_, {});
  EXPECT_EQ(entries(), Names{"aaaaaaaa"});
  plant("bbbbbbbb", days(8));
  set_last_collection(-std::chrono::hours(48));
  collect_if_due(place_, {});
  EXPECT_EQ(entries(), Names{"aaaaaaaa"}) << "a clock that was set back does not stop it";
}

}  // namespace
}  // namespace cloche::store
