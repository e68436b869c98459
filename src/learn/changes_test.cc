#include "learn/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::learn {
namespace {

using testing::ElementsAre;

const std::vector<Item> kItems{{Kind::kChange, "/proj", {}, {}, true}, {Kind::kChange, "/proj/out", {}, {}, true}};

TEST(MustChange, AsksForWhatTwoRunsShare) {
  MustChange must({{"/proj/log", "/proj/out/a1", "/proj/out/same"}, true}, kItems);
  must.agree_with({{"/proj/log", "/proj/out/b2", "/proj/out/same"}, true});
  EXPECT_TRUE(must.met_by({{"/proj/log", "/proj/out/same"}, true}));
  EXPECT_TRUE(must.met_by({{"/proj/log", "/proj/out/c3", "/proj/out/same"}, true}));
  EXPECT_FALSE(must.met_by({{"/proj/log", "/proj/out/c3"}, true}));
  EXPECT_FALSE(must.met_by({{}, true}));
}

TEST(MustChange, OfMadeUpNamesAnyInTheSamePlaceWillDo) {
  MustChange must({{"/proj/out/a1"}, true}, kItems);
  must.agree_with({{"/proj/out/b2"}, true});
  EXPECT_TRUE(must.met_by({{"/proj/out/c3"}, true}));
  EXPECT_FALSE(must.met_by({{"/proj/c3"}, true}));
  EXPECT_THAT(must.missing({{"/proj/c3"}, true}), ElementsAre("/proj/out"));
}

TEST(MustChange, APlaceThatNoItemGrantsIsMissed) {
  const MustChange must({{"/srv/log/x"}, true}, kItems);
  EXPECT_THAT(must.missing({{"/proj/x"}, true}), ElementsAre("/srv/log"));
}

// As of git, whose objects lie in a directory for each beginning of their names.
TEST(MustChange, OfMadeUpPlacesAnyBesideThemWillDo) {
  const std::vector<Item> items{{Kind::kChange, "/p/.git", {}, {}, true},
                                {Kind::kChange, "/p/.git/objects/ab", {}, {}, true}};
  MustChange must({{"/p/.git/index", "/p/.git/objects/ab/1"}, true}, items);
  const Changed other{{"/p/.git/index", "/p/.git/objects/cd/2"}, true};
  EXPECT_FALSE(must.places_met_by(other));
  EXPECT_TRUE(must.nearly_met_by(other));
  EXPECT_FALSE(must.nearly_met_by({{"/p/.git/index"}, true}));
  EXPECT_FALSE(must.nearly_met_by({{"/p/.git/index", "/p/.git/objects/cd/2"}, false}));
  must.agree_with({{"/p/.git/index"}, true});
  EXPECT_FALSE(must.met_by({{"/p/.git/index"}, true})) << "nothing beside it was changed";
  must.agree_with(other);
  EXPECT_TRUE(must.met_by(other));
  EXPECT_TRUE(must.met_by({{"/p/.git/index", "/p/.git/objects/ef/3"}, true}));
  EXPECT_FALSE(must.met_by({{"/p/.git/index"}, true}));
}

TEST(MustChange, WhatIsNotKnownOfATrialIsNoSuccess) {
  MustChange must({{"/proj/log"}, true}, kItems);
  EXPECT_FALSE(must.met_by({{"/proj/log"}, false}));
  EXPECT_TRUE(must.known());
  must.agree_with({{}, false});
  EXPECT_FALSE(must.known());
}

}  // namespace
}  // namespace cloche::learn
