#include "learn/minimise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "learn/fold.h"
#include "policy/key_value.h"

namespace cloche::learn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<Item> files(std::size_t count) {
  std::vector<Item> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({Kind::kRead, "/p/" + std::to_string(i)});
  return out;
}

bool nothing(const Item&) { return false; }

bool contains(const std::vector<Item>& items, const std::vector<Item>& all) {
  return std::ranges::all_of(all, [&](const Item& one) { return std::ranges::find(items, one) != items.end(); });
}

TEST(Minimise, KeepsExactlyWhatIsNeeded) {
  const std::vector<Item> items = files(40);
  const std::vector<Item> needed{items[0], items[17], items[18], items[39]};
  std::size_t tries = 0;
  const Minimised got = minimise(items, nothing,
                                 {[&](const std::vector<Item>& with) {
                                    ++tries;
                                    return contains(with, needed);
                                  },
                                  [] { return true; }});
  EXPECT_THAT(got.kept, UnorderedElementsAre(needed[0], needed[1], needed[2], needed[3]));
  EXPECT_THAT(got.untried, IsEmpty());
  EXPECT_LT(tries, items.size());
}

TEST(Minimise, TriesEachThingThatItKeepsByItself) {
  const std::vector<Item> items = files(5);
  const Minimised got =
      minimise(items, nothing, {[&](const std::vector<Item>& with) { return with.size() == 5; }, [] { return true; }});
  EXPECT_THAT(got.kept, SizeIs(5));
}

TEST(Minimise, LeavesOutAllThatIsNeedless) {
  std::vector<Item> items = files(3);
  items.push_back({Kind::kEnv, "A"});
  items.push_back({Kind::kChange, "/out"});
  const Minimised got = minimise(items, nothing, {[](const std::vector<Item>&) { return true; }, [] { return true; }});
  EXPECT_THAT(got.kept, IsEmpty());
}

TEST(Minimise, TakesTheLeastThatServes) {
  const Item file{Kind::kRead, "/p/a"};
  const std::vector<Item> items{file, {Kind::kRead, "/p", {}, {}, true}, {Kind::kChange, "/p", {}, {}, true}};
  // Each of them shows the file.
  const Minimised got =
      minimise(items, nothing, {[](const std::vector<Item>& with) { return !with.empty(); }, [] { return true; }});
  EXPECT_THAT(got.kept, ElementsAre(file));
}

TEST(Minimise, TakesNoWiderDirectoryWhereNarrowerOnesServe) {
  const auto folder = [](const std::string& path) { return Item{Kind::kRead, path, {}, {}, true}; };
  const std::vector<Item> narrow{folder("/g/p/.git/refs"), folder("/g/p/.git/objects")};
  const std::vector<Item> items{narrow[0], folder("/g/p/.git"), narrow[1], folder("/g"), folder("/g/p")};
  const auto serves = [&](const std::vector<Item>& with) {
    return std::ranges::all_of(narrow, [&](const Item& one) {
      return std::ranges::any_of(with, [&](const Item& item) { return path_covers(item.what, one.what); });
    });
  };
  const Minimised got = minimise(items, nothing, {serves, [] { return true; }});
  EXPECT_THAT(got.kept, UnorderedElementsAre(narrow[0], narrow[1]));
}

TEST(Minimise, TakesNoWorkspaceOnlyToStartIn) {
  const Item place{Kind::kChange, "/p", {}, {}, true};
  const Item start{Kind::kCwd, "/p"};
  const Item file{Kind::kRead, "/p/a"};
  // It starts there for either reason.
  const auto serves = [&](const std::vector<Item>& with) {
    return contains(with, {place}) || contains(with, {start, file});
  };
  const Minimised got = minimise({start, place, file}, nothing, {serves, [] { return true; }});
  EXPECT_THAT(got.kept, UnorderedElementsAre(start, file));
}

TEST(Minimise, SaysWhatItDidNotTry) {
  const std::vector<Item> items = files(8);
  std::size_t tries = 0;
  const Minimised got = minimise(items, nothing,
                                 {[&](const std::vector<Item>& with) {
                                    ++tries;
                                    return contains(with, {items[7]});
                                  },
                                  [&] { return tries < 2; }});
  EXPECT_EQ(tries, 2U);
  // The whole set and its first half were tried; of the second one nothing more.
  EXPECT_THAT(got.kept, SizeIs(4));
  EXPECT_THAT(got.untried, SizeIs(4));
}

TEST(Minimise, LeavesWhatIsSettled) {
  const std::vector<Item> items{{Kind::kChange, "/tmp/out"}};
  const Minimised got = minimise(items, [](const Item&) { return true; },
                                 {[](const std::vector<Item>&) { return true; }, [] { return true; }});
  EXPECT_THAT(got.kept, SizeIs(1));
  EXPECT_THAT(got.untried, IsEmpty());
}

const Secrets kSecrets{"/home/me", {}, [](const std::string& directory) {
                         return directory == "/srv/backup" ? Below::kSecrets : Below::kNothing;
                       }};

std::optional<std::size_t> ten(const std::string&) { return 10; }

std::vector<Item> in(const std::string& folder, std::size_t count) {
  std::vector<Item> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({Kind::kRead, folder + "/" + std::to_string(i)});
  return out;
}

TEST(Fold, TakesADirectoryOfWhichHalfIsUsedAndSaysHowMuch) {
  EXPECT_THAT(fold(in("/srv/data", 5), ten, kSecrets),
              ElementsAre(Item{Kind::kRead, "/srv/data", "5 of 10 entries in it were read", {}, true}));
  EXPECT_THAT(fold(in("/srv/data", 4), ten, kSecrets), SizeIs(4));
  EXPECT_THAT(
      fold(in("/srv/data", 3), [](const std::string&) { return std::optional<std::size_t>(3); }, kSecrets), SizeIs(3));
  EXPECT_THAT(fold(in("/srv/data", 9), [](const std::string&) { return std::nullopt; }, kSecrets), SizeIs(9));
}

TEST(Fold, NeverTakesHomeOrRootOrAPlaceOfSecrets) {
  for (const char* folder :
       {"/home/me", "/home", "/srv", "/home/me/.config", "/home/me/.ssh", "/etc", "/root", "/srv/backup"}) {
    EXPECT_THAT(fold(in(folder, 8), ten, kSecrets), SizeIs(8)) << folder;
  }
}

TEST(Fold, LeavesFilesBesideADirectoryThatWasListed) {
  std::vector<Item> items = in("/srv/data", 2);
  items.push_back({Kind::kRead, "/srv/data", "the directory was listed", {}, true});
  EXPECT_THAT(fold(items, ten, kSecrets), SizeIs(3));
}

TEST(Fold, KeepsReadingAndExecutingApart) {
  std::vector<Item> items = in("/srv/data", 3);
  for (Item& item : in("/srv/data", 3)) {
    item.kind = Kind::kExec;
    items.push_back(item);
  }
  EXPECT_THAT(fold(items, ten, kSecrets), SizeIs(6));
}

TEST(Fold, NeverTakesLooksForADirectoryAboveTheStart) {
  EXPECT_THAT(fold_looks(in("/srv/data", 5), ten, kSecrets, "/srv/data/p"), SizeIs(5));
  EXPECT_THAT(fold_looks(in("/srv/data", 5), ten, kSecrets, "/srv/data"),
              ElementsAre(Item{Kind::kRead, "/srv/data", "5 of 10 entries in it were looked at", {}, true}));
}

}  // namespace
}  // namespace cloche::learn
