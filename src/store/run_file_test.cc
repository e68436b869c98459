#include "store/run_file.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/units.h"
#include "base/utf8.h"

namespace cloche::store {
namespace {

RunFile sample() {
  return {"abcdefgh", {{"sh", "-c", "echo \"x\"\n\x1b[2J"}, "untrusted", "namespace", {"workspace"}},
          12,         Moment(Millis(1000)),
          {},         {}};
}

std::string with(std::string from, const std::string& what, const std::string& by) {
  const std::size_t at = from.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return from.replace(at, what.size(), by);
}

TEST(RunFileTest, ReadsWhatItWrote) {
  RunFile file = sample();
  EXPECT_EQ(*decode(encode(file)), file);
  file.end = RunEnd{"exited", 3};
  file.ended = Moment(Millis(2000));
  EXPECT_EQ(*decode(encode(file)), file);
}

TEST(RunFileTest, TheEndSaysWhatIsKept) {
  RunFile file = sample();
  file.end = RunEnd{"exited", 0, std::vector<std::string>{"outputs"}};
  EXPECT_EQ(decode(encode(file))->facts.keeps, std::vector<std::string>{"outputs"});
}

TEST(RunFileTest, RefusesWhatItWouldNotHaveWritten) {
  RunFile file = sample();
  file.end = RunEnd{"exited", 3};
  const std::string good = encode(file);
  ASSERT_TRUE(decode(good));
  const std::pair<const char*, const char*> changes[] = {
      {"\"version\": 1", "\"version\": 2"},
      {"\"version\": 1", "\"version\": \"1\""},
      {"\"id\": \"abcdefgh\"", "\"id\": 5"},
      {"\"pid\": 12", "\"pid\": -1"},
      {"\"pid\": 12", "\"pid\": 1e3"},
      {"\"pid\": 12", "\"pid\": 18446744073709551615"},
      {"\"started_ms\": 1000", "\"started_ms\": -5"},
      {"\"started_ms\": 1000", "\"started_ms\": 9223372036854775807"},
      {"\"state\": \"done\"", "\"state\": \"odd\""},
      {"\"exit_code\": 3", "\"exit_code\": 256"},
      {"\"exit_code\": 3", "\"other\": 3"},
      {"\"workspace\"", "[]"},
  };
  for (const auto& [what, by] : changes) EXPECT_FALSE(decode(with(good, what, by))) << by;
  for (const char* text : {"", "null", "[]", "{", "{}", "\x80"}) EXPECT_FALSE(decode(text)) << text;
  EXPECT_FALSE(decode(std::string(50'000, '[')));
}

TEST(RunFileTest, LongCommandsAreCut) {
  const std::vector<std::string> many(1000, "word");
  EXPECT_EQ(bounded(many).size(), 65u);
  EXPECT_EQ(bounded(many).back(), "…");
  std::string euros;
  for (int i = 0; i < 3000; ++i) euros += "€";
  const auto cut = bounded({"x", euros, "last"});
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_TRUE(valid_utf8(cut[1]));
  EXPECT_LE(cut[1].size(), 4100u);
  EXPECT_EQ(bounded({"a", "b"}), (std::vector<std::string>{"a", "b"}));
  // Also of the worst bytes, which take six characters each.
  RunFile file = sample();
  file.facts.argv = bounded({std::string(100'000, '\x01')});
  EXPECT_LE(encode(file).size(), kRunFileLimit);
}

}  // namespace
}  // namespace cloche::store
