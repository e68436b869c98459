#include "egress/placeholder.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace cloche::egress {
namespace {

constexpr const char* kValue = "sk-Live_0123456789abcdefXYZ==";

TEST(Placeholder, HasTheShapeOfTheValueAndNothingElseOfIt) {
  const std::string value = kValue;
  auto made = make_placeholder("KEY", value, {});
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), value.size());
  EXPECT_NE(*made, value);
  std::size_t same = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto was = static_cast<unsigned char>(value[i]);
    const auto is = static_cast<unsigned char>((*made)[i]);
    EXPECT_EQ(std::isdigit(was) != 0, std::isdigit(is) != 0) << i;
    EXPECT_EQ(std::isupper(was) != 0, std::isupper(is) != 0) << i;
    EXPECT_EQ(std::islower(was) != 0, std::islower(is) != 0) << i;
    if (std::isalnum(was) == 0) {
      EXPECT_EQ(was, is) << i;
    }
    if (std::isalnum(was) != 0 && was == is) ++same;
  }
  EXPECT_LT(same, value.size() / 2);
}

TEST(Placeholder, IsAnotherOneEachTime) {
  std::set<std::string> seen;
  std::vector<std::string> taken;
  for (int i = 0; i < 200; ++i) {
    auto made = make_placeholder("KEY", kValue, taken);
    ASSERT_TRUE(made);
    EXPECT_TRUE(seen.insert(*made).second);
    taken.push_back(*made);
  }
}

TEST(Placeholder, RefusesWhatCannotBeToldFromOtherTextAndKeepsItToItself) {
  for (const std::string& value : {std::string(), std::string("hunter2hunter2"), std::string("----------------------"),
                                   std::string("0123456789abcdef\nX-Evil: yes"), std::string("0123456789abcdef\0x", 18),
                                   std::string(kLongestSecret + 1, 'q')}) {
    auto made = make_placeholder("KEY", value, {});
    ASSERT_FALSE(made) << value.size();
    EXPECT_EQ(made.error().code, ErrorCode::kRefused);
    EXPECT_NE(made.error().text().find("KEY"), std::string::npos);
    if (!value.empty()) {
      EXPECT_EQ(made.error().text().find(value.substr(0, 5)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cloche::egress
