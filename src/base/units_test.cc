#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace cloche {
namespace {

constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

TEST(Units, ParsesSizesExactly) {
  EXPECT_EQ(parse_bytes("64")->count, 64u);
  EXPECT_EQ(parse_bytes("64B")->count, 64u);
  EXPECT_EQ(parse_bytes("64K")->count, 65'536u);
  EXPECT_EQ(parse_bytes("1.5G")->count, 1'610'612'736u);
  EXPECT_EQ(parse_bytes("512MiB"), parse_bytes("512M"));
  EXPECT_EQ(parse_bytes("2T")->count, 2ULL << 40);
  EXPECT_EQ(parse_bytes("0.500000000000000000000000K")->count, 512u);
  EXPECT_EQ(parse_bytes("18446744073709551615")->count, kMax64);
  EXPECT_EQ(parse_bytes("16777215.5T")->count, kMax64 - (1ULL << 39) + 1);
}

TEST(Units, P3_RefusesSizesThatAreNotExactOrNotSizes) {
  for (const char* bad : {"",
                          " ",
                          "-1",
                          "-1M",
                          "+1",
                          "1 M",
                          " 1M",
                          "1M ",
                          "M",
                          ".5G",
                          "5.G",
                          "1e3",
                          "0x10",
                          "1.2.3",
                          "512MB",
                          "512m",
                          "512k",
                          "nan",
                          "inf",
                          "unlimited",
                          "max",
                          "1KiBB",
                          "0.3K",
                          "1.5",
                          "1,5G",
                          "18446744073709551616",
                          "16777216T",
                          "99999999999999999999999999999999999999999T",
                          "0.0000000000000000000000001T"}) {
    const auto parsed = parse_bytes(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
  EXPECT_FALSE(parse_bytes(std::string_view("1\0M", 3)));
}

TEST(Units, ParsesDurationsExactly) {
  EXPECT_EQ(parse_duration("250ms"), Millis(250));
  EXPECT_EQ(parse_duration("10s"), Millis(10'000));
  EXPECT_EQ(parse_duration("1.5m"), Millis(90'000));
  EXPECT_EQ(parse_duration("2h"), Millis(7'200'000));
  EXPECT_EQ(parse_duration("0.001s"), Millis(1));
  EXPECT_EQ(parse_duration("9223372036854775807ms"), Millis::max());
}

TEST(Units, P3_RefusesDurationsThatAreNotExactOrNotDurations) {
  for (const char* bad : {"", "10", "0", "-1s", "1.5ms", "0.0001s", "1d", "1S", "s", "1 s", "1e3s", "inf", "nan",
                          "never", "9223372036854775808ms", "9223372036854775807s", "18446744073709551615h"}) {
    const auto parsed = parse_duration(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(Units, WritesTheLargestExactUnit) {
  EXPECT_EQ(to_text(mebibytes(512)), "512M");
  EXPECT_EQ(to_text(Bytes{1025}), "1025");
  EXPECT_EQ(to_text(Bytes{0}), "0");
  EXPECT_EQ(to_text(Bytes{kMax64}), "18446744073709551615");
  EXPECT_EQ(to_text(Millis(1500)), "1500ms");
  EXPECT_EQ(to_text(Millis(10'000)), "10s");
  EXPECT_EQ(to_text(Millis(300'000)), "5m");
  EXPECT_EQ(to_text(Millis(7'200'000)), "2h");
  EXPECT_EQ(to_text(Millis(0)), "0ms");
}

TEST(Units, TextFormsRoundTrip) {
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1023}, std::uint64_t{1024},
                                std::uint64_t{1} << 40, (std::uint64_t{1} << 63) + 1, kMax64}) {
    EXPECT_EQ(parse_bytes(to_text(Bytes{n}))->count, n);
  }
  for (const Millis value : {Millis(0), Millis(1), Millis(999), Millis(60'000), Millis(61'000), Millis::max()}) {
    EXPECT_EQ(parse_duration(to_text(value)), value);
  }
}

TEST(Units, ShownTextCannotDriveATerminal) {
  EXPECT_EQ(shown_text("a\x1b[2Jb\n"), "\"a\\x1b[2Jb\\x0a\"");
  EXPECT_EQ(shown_text("\xc2\x9b"), "\"\\xc2\\x9b\"");
  EXPECT_EQ(shown_text(std::string(1000, 'a')), "\"" + std::string(64, 'a') + "...\"");
  EXPECT_NE(parse_bytes("\x1b[31m").error().text().find("\\x1b"), std::string::npos);
}

}  // namespace
}  // namespace cloche
