#include "store/applications.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "store/test_support.h"

namespace cloche::store {
namespace {

class Applications : public StoreCase {};

TEST_F(Applications, ATreeHasOneUnderWayUntilItEnds) {
  EXPECT_EQ(application_under_way(place_, "a-1"), "");
  ASSERT_TRUE(begin_application(place_, "a-1", "11"));
  ASSERT_TRUE(begin_application(place_, "b-2", "22"));
  EXPECT_EQ(application_under_way(place_, "a-1"), "11");
  ASSERT_TRUE(begin_application(place_, "a-1", "33"));
  EXPECT_EQ(application_under_way(place_, "a-1"), "33") << "an earlier one counts no longer";
  ASSERT_TRUE(end_application(place_, "a-1", "11"));
  EXPECT_EQ(application_under_way(place_, "a-1"), "33") << "of another one that began since";
  ASSERT_TRUE(end_application(place_, "a-1", "33"));
  EXPECT_EQ(application_under_way(place_, "a-1"), "");
  EXPECT_EQ(application_under_way(place_, "b-2"), "22");
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.directory + "/applying"), fs::directory_iterator()), 1);
}

TEST_F(Applications, WhatOthersCouldHaveChosenIsRefused) {
  ASSERT_TRUE(begin_application(place_, "a-1", "11"));
  const std::string folder = place_.directory + "/applying";
  fs::rename(folder + "/a-1", top_ + "/elsewhere");
  fs::create_symlink(top_ + "/elsewhere", folder + "/a-1");
  EXPECT_FALSE(application_under_way(place_, "a-1"));
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_FALSE(application_under_way(place_, "b-2"));
  EXPECT_FALSE(begin_application(place_, "b-2", "22"));
}

TEST_F(Applications, NoNameLeadsElsewhere) {
  for (const char* name : {"", "..", "../apply.key", "a/b"}) {
    EXPECT_FALSE(begin_application(place_, name, "11")) << name;
    EXPECT_FALSE(application_under_way(place_, name)) << name;
  }
  EXPECT_FALSE(begin_application(place_, "a-1", ""));
}

}  // namespace
}  // namespace cloche::store
