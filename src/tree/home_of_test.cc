#include "tree/home_of.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cloche::tree {
namespace {

TEST(WithHome, AUsersHomeIsTheOneOfTheList) {
  EXPECT_EQ(with_home("~root/x/y"), "/root/x/y");
  EXPECT_EQ(with_home("~root"), "/root");
  EXPECT_EQ(with_home("~nobody-has-this-name/x"), std::nullopt);
}

TEST(WithHome, ItsOwnIsTheOneOfTheEnvironment) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (home == nullptr) return;
  EXPECT_EQ(with_home("~/x"), std::string(home) + "/x");
  EXPECT_EQ(with_home("~"), home);
}

TEST(WithHome, OtherPathsStay) {
  for (const char* path : {"", "x", "/x", "x/~", "./~root/x"}) EXPECT_EQ(with_home(path), path);
}

}  // namespace
}  // namespace cloche::tree
