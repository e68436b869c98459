#include "filter/document.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;

TEST(FilterDocument, PageOnDiskIsThePageOfTheTable) {
  const std::string path = std::string(CLOCHE_SOURCE_DIR) + "/docs/system-calls.md";
  const std::string expected = reference_page();
  if (std::getenv("CLOCHE_REWRITE_DOCS") != nullptr) {
    std::ofstream out(path, std::ios::binary);
    out << expected;
    ASSERT_TRUE(out.flush().good()) << "cannot write " << path;
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream found;
  found << in.rdbuf();
  EXPECT_TRUE(found.str() == expected) << path << " is not what the table says; write it again with\n"
                                       << "  CLOCHE_REWRITE_DOCS=1 filter_test --gtest_filter='FilterDocument.*'";
}

TEST(FilterDocument, NamesEveryCallWithItsReason) {
  for (const Case& c : every_case()) {
    const std::string text = document(c.arch, c.options);
    for (const Rule& rule : c.table) {
      EXPECT_NE(text.find("| `" + std::string(rule.name) + "` | " + std::to_string(rule.number) + " |"),
                std::string::npos)
          << rule.name;
      EXPECT_NE(text.find(rule.reason), std::string::npos) << rule.name;
    }
  }
}

}  // namespace
}  // namespace cloche::filter
