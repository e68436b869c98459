// What once broke something, and what the fuzz targets begin with: each input must be survived, and keep the target's
// laws.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#define TARGET(name) extern "C" int replay_##name(const std::uint8_t* data, std::size_t size);
#include "targets.inc"
#undef TARGET

namespace {

struct Target {
  const char* name;
  int (*take)(const std::uint8_t* data, std::size_t size);
};
void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, EverySeedIsSurvived) {
  const std::filesystem::path folder = std::filesystem::path(CLOCHE_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(GetParam().take(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
    ++count;
  }
  EXPECT_GT(count, 0u) << "a target begins with seeds";
}

const Target kTargets[] = {
#define TARGET(name) {#name, replay_##name},
#include "targets.inc"
#undef TARGET
};

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, testing::ValuesIn(kTargets),
                         [](const testing::TestParamInfo<Target>& one) { return std::string(one.param.name); });

}  // namespace
