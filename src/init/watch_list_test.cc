#include "init/watch_list.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace cloche::init {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> kept(const WatchList& list) {
  std::vector<std::string> out;
  for (int i = 0; i < list.size(); ++i) {
    if (list.at(i).kind != 0) out.push_back(std::string(1, list.at(i).kind) + list.at(i).path);
  }
  return out;
}

// Each record with its end.
std::unique_ptr<WatchList> listed(const std::vector<std::string>& records) {
  auto list = std::make_unique<WatchList>();
  for (const std::string& record : records) list->take(record.c_str(), record.size() + 1);
  return list;
}

TEST(WatchList, KeepsWhatWasNotTakenBack) {
  EXPECT_THAT(kept(*listed({"+c/a", "+d/b", "+c/c", "-/b"})), ElementsAre("c/a", "c/c"));
  EXPECT_THAT(kept(*listed({"+c/a", "+d/b", "-/a", "+d/new"})), ElementsAre("d/new", "d/b"));
}

TEST(WatchList, JoinsRecordsThatWereCutAnywhere) {
  const std::string stream("+c/first\0+d/second\0-/first\0", 27);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    const auto list = std::make_unique<WatchList>();
    list->take(stream.data(), cut);
    list->take(stream.data() + cut, stream.size() - cut);
    EXPECT_THAT(kept(*list), ElementsAre("d/second")) << cut;
  }
}

TEST(WatchList, PassesOverWhatItDoesNotKnow) {
  EXPECT_THAT(kept(*listed({"", "+", "-", "x/a", "+x/a", "c/a", " +c/a"})), IsEmpty());
}

TEST(WatchList, TakesNoPartOfARecordThatIsTooLong) {
  const std::string longest(wire::kMaxWatchedPath - 1, 'p');
  EXPECT_THAT(kept(*listed({"+d" + longest})), ElementsAre("d" + longest));
  EXPECT_THAT(kept(*listed({"+d" + longest + "p", "+c/a"})), ElementsAre("c/a"));
  // The tail of a long record looks like one of its own.
  EXPECT_THAT(kept(*listed({std::string(20'000, '+') + "+d/etc", "+c/a"})), ElementsAre("c/a"));
}

TEST(WatchList, IsFullAtItsEnd) {
  auto list = std::make_unique<WatchList>();
  for (int i = 0; i < wire::kMaxWatched; ++i) {
    const std::string record = "+c/" + std::to_string(i);
    list->take(record.c_str(), record.size() + 1);
  }
  list->take("+c/more", 8);
  EXPECT_EQ(list->size(), wire::kMaxWatched);
  list->take("-/77", 5);
  list->take("+c/more", 8);
  EXPECT_STREQ(list->at(77).path, "/more");
}

}  // namespace
}  // namespace cloche::init
