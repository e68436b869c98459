#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "policy/json_schema.h"

namespace cloche {
namespace {

// Editors read the file; it must say what the parser does. CLOCHE_REWRITE_DOCS=1 writes it again.
TEST(PublishedSchema, IsWhatTheTableSays) {
  const std::string path = CLOCHE_SOURCE_DIR "/docs/policy.schema.json";
  if (std::getenv("CLOCHE_REWRITE_DOCS") != nullptr) std::ofstream(path) << policy_json_schema();
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(text == policy_json_schema()) << path << " is old; write it again with CLOCHE_REWRITE_DOCS=1 policy_test";
}

}  // namespace
}  // namespace cloche
