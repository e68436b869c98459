#include "store/book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/collect.h"
#include "store/plain_record.h"
#include "store/run_directory.h"
#include "store/test_support.h"

namespace cloche::store {
namespace {

using std::chrono::days;
using Names = std::vector<std::string>;

class BookTest : public StoreCase {
 protected:
  static bool always(const Progress&) { return true; }
  void run(const std::string& id, const std::string& report = "{}\n") {
    auto record = PlainRecord::begin(place_, id, facts());
    ASSERT_TRUE(record) << error_of(record);
    ASSERT_TRUE(record->finish({"exited", 3}, report));
  }
  // As if the run had been so long ago.
  void write_old(const std::string& id, Millis ago) {
    RunFile file{id, facts(), 1, moment_now() - ago, moment_now() - ago, RunEnd{"exited", 0}};
    ASSERT_TRUE(make_state(place_));
    std::ofstream(book_path(), std::ios::app) << *book_end(file, "{}\n");
  }
  std::string book_path() const { return place_.directory + "/book"; }
  Names books() const {
    Names out;
    for (const auto& entry : fs::directory_iterator(place_.directory)) {
      if (const std::string name = entry.path().filename(); name.starts_with("book")) out.push_back(name);
    }
    std::ranges::sort(out);
    return out;
  }
  Names listed(RunState state) const {
    Names out;
    const auto all = list_runs(place_, Measure::kNo);
    for (const ListedRun& one : *all) {
      if (one.state == state) out.push_back(one.id);
    }
    std::ranges::sort(out);
    return out;
  }
  Collected collect_all() {
    auto done = collect(place_, {.runs = 0}, always);
    EXPECT_TRUE(done) << error_of(done);
    return done.value_or(Collected{});
  }
};

TEST_F(BookTest, ARunIsFoundWhenItIsOver) {
  auto record = PlainRecord::begin(place_, "abcdefgh", facts());
  ASSERT_TRUE(record) << error_of(record);
  EXPECT_EQ(error_of(find_run(place_, "abcdefgh", Use::kRead)), "run: run abcdefgh is still running as process " +
                                                                    std::to_string(::getpid()) +
                                                                    "; wait for its end, or cancel it");
  EXPECT_EQ(listed(RunState::kRunning), Names{"abcdefgh"});
  ASSERT_TRUE(record->finish({"exited", 3}, "{}\n"));
  record = fail(ErrorCode::kInternal, "", "");
  for (const char* name : {"abcdefgh", "abcd", "last"}) {
    const auto run = find_run(place_, name, Use::kChange);
    ASSERT_TRUE(run) << error_of(run);
    EXPECT_EQ(run->id(), "abcdefgh");
    EXPECT_FALSE(run->has_directory());
    EXPECT_EQ(*run->report(), "{}\n");
    EXPECT_EQ(run->read()->end->exit_code, 3);
  }
  EXPECT_EQ(listed(RunState::kDone), Names{"abcdefgh"});
  EXPECT_FALSE(fs::exists(place_.directory + "/runs")) << "no directory is made for it";
}

TEST_F(BookTest, NamesAreThoseOfBooksAndDirectories) {
  run("abcdaaaa");
  plant("abcdbbbb", Millis(1));
  EXPECT_EQ(error_of(find_run(place_, "abcd", Use::kRead)),
            "run: 2 runs begin with \"abcd\": abcdaaaa, abcdbbbb; give more of the id");
  EXPECT_TRUE(find_run(place_, "abcdaa", Use::kRead));
  EXPECT_TRUE(find_run(place_, "abcdbb", Use::kRead));
  EXPECT_EQ(error_of(find_run(place_, "zzzz", Use::kRead)),
            "run: there is no run \"zzzz\"; `cloche ps --all` lists the runs");
}

TEST_F(BookTest, K7_AKilledRunIsSeenAsCrashedAndCollected) {
  run("bbbbbbbb");
  Other other([&] { new auto(PlainRecord::begin(place_, "aaaaaaaa", facts())); });
  EXPECT_EQ(listed(RunState::kRunning), Names{"aaaaaaaa"});
  EXPECT_TRUE(collect(place_, {}, always)->removed.empty());
  other.end();
  EXPECT_EQ(listed(RunState::kCrashed), Names{"aaaaaaaa"});
  const auto found = find_run(place_, "aaaaaaaa", Use::kRead);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->report().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(collect(place_, {}, always)->removed.size(), 1u);
  EXPECT_EQ(listed(RunState::kCrashed), Names{});
  EXPECT_EQ(listed(RunState::kDone), Names{"bbbbbbbb"});
}

TEST_F(BookTest, ACollectionTakesWhatLimitsChooseAndNothingElse) {
  write_old("aaaaaaaa", days(1));
  write_old("bbbbbbbb", days(8));
  write_old("cccccccc", days(9));
  auto living = PlainRecord::begin(place_, "dddddddd", facts());
  ASSERT_TRUE(living);
  const auto seen = preview(place_, {.age = days(7)});
  const auto done = collect(place_, {.age = days(7)}, always);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->removed, seen->removed);
  EXPECT_EQ(done->left, 2u);
  EXPECT_GT(done->freed().count, 200u);
  EXPECT_EQ(listed(RunState::kDone), Names{"aaaaaaaa"});
  std::ifstream file(book_path());
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find("bbbbbbbb"), std::string::npos) << "nothing can be read of it";
  EXPECT_EQ(collect_all().removed.size(), 1u);
  EXPECT_EQ(listed(RunState::kRunning), Names{"dddddddd"});
  ASSERT_TRUE(living->finish({"exited", 0}, "{}"));
  EXPECT_EQ(listed(RunState::kDone), Names{"dddddddd"}) << "its end is not lost";
  living = fail(ErrorCode::kInternal, "", "");
  EXPECT_EQ(collect_all().removed.size(), 1u);
  EXPECT_EQ(books(), Names{}) << "a book without runs is removed";
}

TEST_F(BookTest, WhatLivesIsNotStruckEvenIfItWasChosen) {
  auto living = PlainRecord::begin(place_, "aaaaaaaa", facts());
  run("bbbbbbbb");
  const auto state = make_state(place_);
  ASSERT_TRUE(living && state);
  auto book = Book::open(state->get(), kBook, Use::kChange);
  ASSERT_TRUE(book) << error_of(book);
  ASSERT_TRUE(book->strike({"aaaaaaaa", "bbbbbbbb"}));
  EXPECT_EQ(listed(RunState::kRunning), Names{"aaaaaaaa"});
  EXPECT_EQ(listed(RunState::kDone), Names{});
}

TEST_F(BookTest, ARunThatEndsWhileItIsLookedAtHasNotCrashed) {
  ASSERT_TRUE(make_state(place_));
  const pid_t runner = ::fork();
  if (runner == 0) {
    for (int i = 0; i < 3000; ++i) {
      auto record = PlainRecord::begin(place_, "run" + std::to_string(10'000 + i), facts());
      if (!record || !record->finish({"exited", 0}, "{}")) ::_exit(1);
    }
    ::_exit(0);
  }
  std::size_t crashed = 0;
  int status = 0;
  while (::waitpid(runner, &status, WNOHANG) == 0) {
    const auto state = make_state(place_);
    const auto book = Book::open(state->get(), kBook);
    if (!book) continue;
    for (const BookRun& one : book->runs()) crashed += book->state_of(one) == RunState::kCrashed ? 1 : 0;
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(crashed, 0u);
}

TEST_F(BookTest, ALongBookIsSetAside) {
  run("aaaaaaaa", std::string(kFullBook, ' '));
  run("bbbbbbbb");
  EXPECT_EQ(books(), (Names{"book", "book-bbbbbbbb"}));
  EXPECT_EQ(listed(RunState::kDone), (Names{"aaaaaaaa", "bbbbbbbb"}));
  EXPECT_EQ(find_run(place_, "aaaaaaaa", Use::kRead)->report()->size(), kFullBook);
  collect_all();
  EXPECT_EQ(books(), Names{});
}

TEST_F(BookTest, ALivingRunKeepsItsBookWhateverBecomesOfTheName) {
  auto living = PlainRecord::begin(place_, "aaaaaaaa", facts());
  ASSERT_TRUE(living);
  ASSERT_EQ(::truncate(book_path().c_str(), 0), 0);  // as if it had not written yet
  collect_all();
  EXPECT_EQ(books().size(), 1u);
  run("bbbbbbbb");
  ASSERT_TRUE(living->finish({"exited", 0}, "{}"));
  EXPECT_EQ(listed(RunState::kDone), (Names{"aaaaaaaa", "bbbbbbbb"}));
}

TEST_F(BookTest, RunsBeginWhileACollectionIsAtWork) {
  ASSERT_TRUE(make_state(place_));
  const pid_t collector = ::fork();
  if (collector == 0) {
    for (;;) (void)collect(place_, {}, always);
  }
  constexpr std::size_t kRuns = 300;
  for (std::size_t i = 0; i < kRuns; ++i) {
    run("run" + std::to_string(1000 + i));
    // An empty book is what a collection removes.
    if (i % 3 == 0)
      (void)set_book_aside(Fd(::open(place_.directory.c_str(), O_RDONLY)).get(), "mark" + std::to_string(i));
  }
  ::kill(collector, SIGKILL);
  ::waitpid(collector, nullptr, 0);
  EXPECT_EQ(listed(RunState::kDone).size(), kRuns);
}

TEST_F(BookTest, RunsAreNotLostWhenBooksAreRemovedAtTheSameTime) {
  ASSERT_TRUE(make_state(place_));
  const pid_t collector = ::fork();
  if (collector == 0) {
    for (;;) (void)collect(place_, {.runs = 0}, always);
  }
  int lost = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string id = "run" + std::to_string(1000 + i);
    auto record = PlainRecord::begin(place_, id, facts());
    if (!record || listed(RunState::kRunning) != Names{id}) ++lost;
  }
  ::kill(collector, SIGKILL);
  ::waitpid(collector, nullptr, 0);
  EXPECT_EQ(lost, 0);
}

TEST_F(BookTest, StrangeThingsInPlaceOfABookAreLeftAlone) {
  const std::string victim = top_ + "/victim";
  std::ofstream(victim) << "precious";
  ASSERT_TRUE(make_state(place_));
  fs::create_symlink(victim, book_path());
  EXPECT_FALSE(PlainRecord::begin(place_, "aaaaaaaa", facts()));
  fs::create_symlink(victim, book_path() + "-aaaaaaaa");
  ASSERT_EQ(::mkfifo((book_path() + "-bbbbbbbb").c_str(), 0600), 0);
  fs::create_directory(book_path() + "-cccccccc");
  std::ofstream(book_path() + ".txt") << "mine";
  collect_all();
  EXPECT_EQ(fs::file_size(victim), 8u);
  EXPECT_TRUE(fs::exists(book_path() + ".txt"));
  fs::remove(book_path());
  run("aaaaaaaa");
  EXPECT_EQ(listed(RunState::kDone), Names{"aaaaaaaa"});
  fs::remove(book_path());
  ASSERT_EQ(::mkfifo(book_path().c_str(), 0600), 0);
  EXPECT_FALSE(PlainRecord::begin(place_, "aaaaaaaa", facts()));
}

TEST_F(BookTest, ARunThatIsInABookAndADirectoryIsListedOnceAndCollectedWhole) {
  run("aaaaaaaa");
  plant("aaaaaaaa", days(1));
  EXPECT_EQ(listed(RunState::kDone), Names{"aaaaaaaa"});
  collect_all();
  collect_all();
  EXPECT_EQ(listed(RunState::kDone), Names{});
}

}  // namespace
}  // namespace cloche::store
