#include "wire/sweep.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cloche::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> kept(const SweepList& list) {
  std::vector<std::string> out;
  for (int i = 0; i < list.used; ++i) {
    if (list.entries[i].kind != 0) out.push_back(std::string(1, list.entries[i].kind) + list.entries[i].path);
  }
  return out;
}

void tell(SweepList& list, const std::string& record) {
  sweep_detail::take(list, record.c_str(), static_cast<long>(record.size() + 1));
}

std::unique_ptr<SweepList> listed(const std::vector<std::string>& records) {
  auto list = std::make_unique<SweepList>();
  for (const std::string& record : records) tell(*list, record);
  return list;
}

TEST(SweepList, KeepsWhatWasNotTakenBack) {
  EXPECT_THAT(kept(*listed({"+c/a", "+d/b", "+c/c", "-/b"})), ElementsAre("c/a", "c/c"));
  EXPECT_THAT(kept(*listed({"+c/a", "+d/b", "-/a", "+d/new"})), ElementsAre("d/new", "d/b"));
}

TEST(SweepList, WhatIsLentOrHandedOverChangesItsKind) {
  EXPECT_THAT(kept(*listed({"+c/a", "+c/b", "+u/a"})), ElementsAre("u/a", "c/b"));
  EXPECT_THAT(kept(*listed({"+c/a", "+c/b", "x/b"})), ElementsAre("c/a", "x/b"));
  EXPECT_THAT(kept(*listed({"+u/new"})), ElementsAre("u/new"));
}

TEST(SweepList, OnlyADirectoryOfACopyIsKnownByItsIdentity) {
  const std::string id = "=00000000000000fd0000000000000002ffffffffffffffff000000003b9ac9ff";
  const auto list = listed({"+d/a", "+g/a", "+g/b", id + "/a", id + "/none", id.substr(0, 64) + "/b"});
  EXPECT_THAT(kept(*list), ElementsAre("d/a", "g/a", "g/b"));
  EXPECT_FALSE(list->entries[0].told);
  ASSERT_TRUE(list->entries[1].told);
  EXPECT_EQ(list->entries[1].id.device, 0xfdu);
  EXPECT_EQ(list->entries[1].id.inode, 2u);
  EXPECT_EQ(list->entries[1].id.born_seconds, ~uint64_t{0});
  EXPECT_EQ(list->entries[1].id.born_nanoseconds, 999'999'999u);
  EXPECT_FALSE(list->entries[2].told);
  // What takes its place on the list knows nothing of it.
  tell(*list, "-/a");
  tell(*list, "-/a");
  tell(*list, "+g/a");
  tell(*list, "+g/c");
  EXPECT_FALSE(list->entries[0].told);
  EXPECT_FALSE(list->entries[1].told);
}

TEST(SweepList, ARecordTakesBackOneAndNotItsTwin) {
  EXPECT_THAT(kept(*listed({"+c/a", "+c/a", "-/a"})), ElementsAre("c/a"));
  EXPECT_THAT(kept(*listed({"+c/a", "+c/a", "-/a", "x/a"})), ElementsAre("x/a"));
}

TEST(SweepList, TakesSeveralRecordsAndNoPartOfOne) {
  auto list = std::make_unique<SweepList>();
  const std::string message("+c/first\0+d/second\0-/first\0+c/cut", 33);
  sweep_detail::take(*list, message.data(), static_cast<long>(message.size()));
  EXPECT_THAT(kept(*list), ElementsAre("d/second"));
}

TEST(SweepList, PassesOverWhatItDoesNotKnow) {
  EXPECT_THAT(kept(*listed({"", "+", "-", "x/a", "+x/a", "c/a", " +c/a"})), IsEmpty());
}

TEST(SweepList, ReadsNothingBehindAMessageThatEndsWithAnEmptyRecord) {
  const long page = ::sysconf(_SC_PAGESIZE);
  void* const pages = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* const end = static_cast<char*>(pages) + page;
  ASSERT_EQ(::mprotect(end, page, PROT_NONE), 0);  // who reads there dies
  const std::string message("+c/a\0", 6);          // and the end of a string that is empty
  message.copy(end - message.size(), message.size());
  auto list = std::make_unique<SweepList>();
  sweep_detail::take(*list, end - message.size(), static_cast<long>(message.size()));
  EXPECT_THAT(kept(*list), ElementsAre("c/a"));
  ::munmap(pages, 2 * page);
}

// A cell that was lent enters its group when its borrower says so, which its keeper's end must not forestall.
TEST(SweepList, ALentGroupIsLeftUntilSomebodyWasSeenInIt) {
  const std::string group = testing::TempDir() + "cloche-sweep-" + std::to_string(::getpid());
  const std::string members = group + "/cgroup.procs";
  std::filesystem::create_directory(group);
  std::ofstream(members).flush();
  const SweepHands hands{[](long) {}, nullptr};
  using sweep_detail::Lent;
  const auto list = listed({"+c" + group, "+u" + group});
  EXPECT_TRUE(sweep_detail::sweep(*list, 'u', hands, Lent::kEnteredOnly));
  EXPECT_THAT(kept(*list), ElementsAre("u" + group));
  EXPECT_FALSE(sweep_detail::was_entered(list->entries[0]));

  std::ofstream(members) << "7\n";
  EXPECT_TRUE(sweep_detail::was_entered(list->entries[0]));
  std::filesystem::resize_file(members, 0);  // and left it
  EXPECT_TRUE(sweep_detail::was_entered(list->entries[0]));

  std::ofstream(members) << "7\n";
  const auto entered = listed({"+c" + group, "+u" + group});  // a cell that is in it when it is lent
  std::filesystem::resize_file(members, 0);
  tell(*entered, "+u" + group);
  EXPECT_TRUE(sweep_detail::was_entered(entered->entries[0]));

  std::filesystem::remove_all(group);
  EXPECT_FALSE(sweep_detail::sweep(*listed({"+u" + group}), 'u', hands, Lent::kEnteredOnly))
      << "its borrower has removed it";
}

TEST(SweepList, TakesNoPartOfARecordThatIsTooLong) {
  const std::string longest(kMaxWatchedPath - 1, 'p');
  EXPECT_THAT(kept(*listed({"+d" + longest})), ElementsAre("d" + longest));
  EXPECT_THAT(kept(*listed({"+d" + longest + "p", "+c/a"})), ElementsAre("c/a"));
}

TEST(SweepList, IsFullAtItsEnd) {
  auto list = std::make_unique<SweepList>();
  for (int i = 0; i < kMaxWatched; ++i) tell(*list, "+c/" + std::to_string(i));
  tell(*list, "+c/more");
  EXPECT_EQ(list->used, kMaxWatched);
  tell(*list, "-/77");
  tell(*list, "+c/more");
  EXPECT_STREQ(list->entries[77].path, "/more");
}

}  // namespace
}  // namespace cloche::wire
