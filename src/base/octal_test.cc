#include "base/octal.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(Octal, TurnsEscapesIntoBytesAndLeavesTheRest) {
  EXPECT_EQ(unescape_octal("a\\040b\\134c\\012"), "a b\\c\n");
  EXPECT_EQ(unescape_octal("a\\04"), "a\\04");
  EXPECT_EQ(unescape_octal("\\999\\400x\\"), "\\999\\400x\\");
}

}  // namespace
}  // namespace cloche
