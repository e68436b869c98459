#include "base/wipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace cloche {
namespace {

TEST(Wipe, X9_LeavesNothingInTheMemoryThatTheTextOwns) {
  for (const std::size_t size : {std::size_t{9}, std::size_t{4000}}) {  // inside of the object, and outside
    std::string text(size, 'v');
    text.resize(3);  // what was cut off is still there
    const std::string_view memory(text.data(), text.capacity());
    ASSERT_GT(std::ranges::count(memory, 'v'), 3);
    wipe(text);
    EXPECT_TRUE(text.empty());
    ASSERT_EQ(text.data(), memory.data());
    EXPECT_EQ(std::ranges::count(memory, 'v'), 0);
  }
}

}  // namespace
}  // namespace cloche
