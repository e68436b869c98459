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

Changed wrote(const std::map<std::string, Content>& contents) {
  Changed out{{}, true, contents};
  for (const auto& [path, content] : contents) out.paths.insert(path);
  return out;
}

TEST(MustChange, X5_AsksForTheContentThatTwoRunsShare) {
  const Changed model = wrote({{"/proj/out/all", {9, "one two three"}}, {"/proj/out/gone", {0, "gone"}}});
  MustChange must(model, kItems);
  must.agree_with(model);
  EXPECT_TRUE(must.met_by(model));
  const Changed less = wrote({{"/proj/out/all", {3, "one"}}, {"/proj/out/gone", {0, "gone"}}});
  EXPECT_TRUE(must.names_met_by(less));
  EXPECT_FALSE(must.met_by(less));
  EXPECT_THAT(must.written_otherwise(less), ElementsAre("/proj/out/all"));
  EXPECT_FALSE(must.met_by(wrote({{"/proj/out/all", {9, "one two three"}}, {"/proj/out/gone", {0, "there"}}})));
  EXPECT_TRUE(must.not_compared().empty());
}

TEST(MustChange, X5_OfAContentThatDiffersByItselfTheSizeIsAskedForWhileItIsTheSame) {
  MustChange must(wrote({{"/proj/out/now", {5, "12:00"}}}), kItems);
  must.agree_with(wrote({{"/proj/out/now", {5, "12:01"}}}));
  EXPECT_THAT(must.not_compared(), ElementsAre("/proj/out/now"));
  EXPECT_TRUE(must.met_by(wrote({{"/proj/out/now", {5, "12:02"}}})));
  EXPECT_FALSE(must.met_by(wrote({{"/proj/out/now", {0, ""}}})));
  must.agree_with(wrote({{"/proj/out/now", {4, "1:03"}}}));
  EXPECT_TRUE(must.met_by(wrote({{"/proj/out/now", {0, ""}}})));
  must.agree_with(wrote({{"/proj/out/now", {5, "12:00"}}}));
  EXPECT_TRUE(must.met_by(wrote({{"/proj/out/now", {0, ""}}}))) << "what differed once is never asked for again";
}

TEST(MustChange, X5_OfMadeUpNamesTheContentIsAskedForInTheSamePlace) {
  MustChange must(wrote({{"/proj/out/a1", {3, "all"}}}), kItems);
  must.agree_with(wrote({{"/proj/out/b2", {3, "all"}}}));
  EXPECT_TRUE(must.not_compared().empty());
  EXPECT_TRUE(must.met_by(wrote({{"/proj/out/c3", {3, "all"}}})));
  EXPECT_FALSE(must.met_by(wrote({{"/proj/out/c3", {1, "a"}}})));
  EXPECT_FALSE(must.met_by(wrote({{"/proj/c3", {3, "all"}}, {"/proj/out/c3", {1, "a"}}})));
  must.agree_with(wrote({{"/proj/out/d4", {3, "now"}}}));
  EXPECT_THAT(must.not_compared(), ElementsAre("/proj/out/a1"));
  EXPECT_TRUE(must.met_by(wrote({{"/proj/out/e5", {1, "a"}}})));
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
