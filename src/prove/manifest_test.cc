#include "prove/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/units.h"
#include "sys/file.h"

namespace cloche::prove {
namespace {

constexpr std::string_view kHead = "# attacks of cloche, version 1\n";

Result<std::vector<Attack>> read(std::string_view line) {
  return read_manifest(std::string(kHead) + std::string(line) + "\n");
}

TEST(Manifest, ALineSaysAllThatARunNeeds) {
  const auto read_back = read(
      "59_memory: A memory | args: one 'two words' | process-args: three | options: --memory 64M | bait: --tty | "
      "beside: "
      "listen | after: clean | way-out-args: out | exec-writable-args: w | reads: .ssh any | changes: .bashrc | "
      "not-with: sockets | held: 0,137 | refusal: r x y z w | alone | no-bwrap: b | no-bwrap-root: r | no-cgroups: c | "
      "no-process: "
      "p | "
      "no-process-user: u | fills memory until it ends");
  ASSERT_TRUE(read_back) << read_back.error().text();
  const Attack wanted{.victim = "59_memory",
                      .name = "memory",
                      .threat = Threat::kMistakes,
                      .tries = "fills memory until it ends",
                      .args = {"one", "two words"},
                      .process_args = Words{"three"},
                      .way_out_args = Words{"out"},
                      .exec_writable_args = Words{"w"},
                      .options = {"--memory", "64M"},
                      .bait = {"--tty"},
                      .reads = {".ssh", "any"},
                      .changes = {".bashrc"},
                      .not_with = {"sockets"},
                      .beside = Words{"listen"},
                      .after = Words{"clean"},
                      .held = {0, 137},
                      .refusal = "r x y z w",
                      .company = Company::kAlone,
                      .no_bwrap = "b",
                      .no_bwrap_root = "r",
                      .no_cgroups = "c",
                      .no_process = "p",
                      .no_process_user = "u"};
  EXPECT_EQ(read_back->front(), wanted);
}

TEST(Manifest, AWrongLineIsAnErrorThatNamesIt) {
  for (const char* line : {
           "x: F name | tries to do something",             // no such threat
           "x: A Name | tries to do something",             // not a name
           "x: A name",                                     // says nothing
           "x: A name | short",                             //
           "x: A name | unknown: 1 | tries to do things",   // no such key
           "x: A name | held: 256 | tries to do things",    //
           "x: A name | held: a | tries to do things",      //
           "x: A name | held: 0,126 | tries to do things",  // any refusal would do
           "x: A name | held: 2 | tries to do things",
           "x: A name | args: 'open | tries to do things",
           "x: A name | args: | tries to do things",
           "../x: A name | tries to do something",  // a program outside of the folder
           "A name | tries to do something",
           "x: A name | tries to do \x1b[2J something",
       }) {
    const auto outcome = read(line);
    ASSERT_FALSE(outcome) << line;
    EXPECT_EQ(outcome.error().step, "attack " + shown_text(line)) << outcome.error().text();
  }
}

TEST(Manifest, X3_WordsThatNearlyEveryRefusalHasAreAnError) {
  for (const char* words : {"e", "refused"}) {
    const auto outcome = read("x: A name | held: 0,126 | refusal: " + std::string(words) + " | tries to do things");
    ASSERT_FALSE(outcome) << words;
    EXPECT_THAT(outcome.error().step, testing::StartsWith("attack ")) << outcome.error().text();
    EXPECT_THAT(outcome.error().message, testing::HasSubstr("refusal: has fewer than 8 characters"));
  }
  EXPECT_TRUE(read("x: A name | held: 0,126 | refusal: /dev/nul | tries to do things"));
}

TEST(Manifest, TwoOfOneNameAreAnError) {
  EXPECT_FALSE(read("x: A same | tries to do one thing\ny: B same | tries to do another"));
}

TEST(Manifest, AnotherVersionOrNothingIsAnError) {
  EXPECT_FALSE(read_manifest(""));
  EXPECT_FALSE(read_manifest(kHead));
  EXPECT_FALSE(read_manifest("# attacks of cloche, version 2\nx: A name | tries to do something\n"));
}

TEST(Manifest, SourcesAreReadToTheEndOfTheirHeader) {
  const auto lines = lines_of_source("x",
                                     "// What it is.\n//\n// attack: A one | args: a b |\n//     tries to go on\n"
                                     "// attack: B two | tries to be another\n#include <x.h>\n// attack: C no | x\n");
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_EQ(*lines,
            (std::vector<std::string>{"x: A one | args: a b | tries to go on", "x: B two | tries to be another"}));
}

TEST(Manifest, AWrongLineOfASourceIsNamedByItsFileAndLine) {
  const auto step = [](const char* source) {
    const auto lines = lines_of_source("41_x", source);
    return lines ? std::string() : lines.error().text();
  };
  const std::string good = "// What it is.\n//\n// attack: A one | tries to be right\n";
  using testing::AllOf;
  using testing::HasSubstr;
  using testing::StartsWith;
  EXPECT_THAT(step((good + "// attack: B two |\n//     args: 'open | tries to go on\n").c_str()),
              AllOf(StartsWith("41_x.c:4: attack "), HasSubstr("args: a single quote is not closed")));
  EXPECT_THAT(step((good + "// attack: B two | beside: \"x | tries to go on\n").c_str()),
              AllOf(StartsWith("41_x.c:4: attack "), HasSubstr("beside: a double quote is not closed")));
  EXPECT_THAT(step((good + "// attack: B two | held: x | tries to go on\n").c_str()), StartsWith("41_x.c:4: attack "));
  EXPECT_THAT(step((good + "// and an attack: of another kind\n").c_str()), StartsWith("41_x.c:4: "));
  EXPECT_THAT(step("// Nothing.\nint main;\n"), StartsWith("41_x.c: "));
}

TEST(Manifest, ASourceSaysThatItIsNoneOrHasALine) {
  EXPECT_FALSE(lines_of_source("x", "// Nothing.\nint main;\n"));
  EXPECT_FALSE(lines_of_source("x", "// attack: none\n"));
  EXPECT_FALSE(lines_of_source("x", "// What it is. attack: A one | tries to be overlooked\n"));
  EXPECT_FALSE(lines_of_source("x", "// attack: none; why\n// attack: A one | tries to be both\n"));
  const auto none = lines_of_source("x", "// attack: none; it runs elsewhere\n");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(Manifest, EverySourceOfTheFolderIsReadable) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(CLOCHE_SOURCE_DIR "/attacks")) {
    if (entry.path().extension() != ".c") continue;
    const auto text = sys::read_file(entry.path().string(), kMostManifest);
    ASSERT_TRUE(text);
    const auto lines = lines_of_source(entry.path().stem().string(), *text);
    ASSERT_TRUE(lines) << lines.error().text();
    all.insert(all.end(), lines->begin(), lines->end());
  }
  EXPECT_GE(all.size(), 100U);
  EXPECT_TRUE(make_manifest(all));
}

}  // namespace
}  // namespace cloche::prove
