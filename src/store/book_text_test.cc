#include "store/book_text.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace cloche::store {
namespace {

RunFile started(const std::string& id) {
  return {id, {{"sh", "-c", "echo \"x\"\n@run {}\n@end " + id}, "untrusted", "namespace"}, 12, Moment(Millis(1000)), {},
          {}};
}

RunFile ended(const std::string& id) {
  RunFile file = started(id);
  file.end = RunEnd{"exited", 3};
  file.ended = Moment(Millis(2000));
  return file;
}

const std::string kReport = "{\n  \"id\": 1,\n  \"tail\": \"\\n@end aaaaaaaa\"\n}\n";

std::string whole(const std::string& id) { return book_start(started(id)) + *book_end(ended(id), kReport); }

TEST(BookTextTest, ReadsWhatRunsWroteOneAfterAnother) {
  const std::string text = book_start(started("aaaaaaaa")) + book_start(started("bbbbbbbb")) +
                           *book_end(ended("bbbbbbbb"), kReport) + *book_end(ended("aaaaaaaa"), "");
  const auto runs = read_book(text);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].file, ended("aaaaaaaa"));
  EXPECT_EQ(runs[0].report.size, 0u);
  EXPECT_EQ(runs[1].file, ended("bbbbbbbb"));
  EXPECT_EQ(text.substr(runs[1].report.at, runs[1].report.size), kReport);
  EXPECT_EQ(runs[1].places.size(), 2u);
}

TEST(BookTextTest, ARunWithoutAnEndHasOnlyStarted) {
  const auto runs = read_book(book_start(started("aaaaaaaa")));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].file, started("aaaaaaaa"));
}

TEST(BookTextTest, K7_WhatAKilledRunLeftHalfWrittenIsNoEndAndHarmsNobody) {
  const std::string end = *book_end(ended("aaaaaaaa"), kReport);
  for (std::size_t cut = 0; cut < end.size(); ++cut) {
    const std::string text = book_start(started("aaaaaaaa")) + end.substr(0, cut) + whole("bbbbbbbb");
    const auto runs = read_book(text);
    ASSERT_EQ(runs.size(), 2u) << cut;
    // All but the last break is a whole entry, because the next one begins with a break.
    EXPECT_EQ(runs[0].file.end.has_value(), cut + 1 == end.size()) << cut;
    EXPECT_EQ(runs[1].file, ended("bbbbbbbb")) << cut;
    EXPECT_EQ(text.substr(runs[1].report.at, runs[1].report.size), kReport) << cut;
    EXPECT_EQ(read_book(book_start(started("aaaaaaaa")) + end.substr(0, cut)).size(), 1u) << cut;
  }
}

TEST(BookTextTest, NothingIsLeftWhenItsPlacesAreBlank) {
  for (const char filler : {'\0', '\n'}) {
    std::string text = whole("aaaaaaaa") + whole("bbbbbbbb") + whole("cccccccc");
    const std::vector<BookRun> runs = read_book(text);
    for (const BookRange& place : runs[1].places) {
      text.replace(place.at, place.size, place.size, filler);
      const auto now = read_book(text);
      EXPECT_EQ(now.front().file, ended("aaaaaaaa"));
      EXPECT_EQ(now.back().file, ended("cccccccc"));
    }
    EXPECT_EQ(read_book(text).size(), 2u);
    EXPECT_EQ(text.find("bbbbbbbb"), std::string::npos);
  }
}

TEST(BookTextTest, StrangeTextIsNothing) {
  const std::string json = book_start(started("aaaaaaaa")).substr(6);
  for (const std::string& text :
       {std::string("@run "), std::string("@run {}\n"), std::string("@run null\n@end \n"), "x@run " + json,
        "@run " + json.substr(0, json.size() - 1), std::string("@run ") + std::string(50'000, '[') + "\n",
        "@run " + json.substr(0, json.size() - 1) + std::string(kRunFileLimit, ' ') + "\n", std::string(1000, '\0'),
        std::string("@end aaaaaaaa\n")}) {
    EXPECT_TRUE(read_book(text).empty()) << text.substr(0, 80);
  }
  EXPECT_EQ(read_book("@run " + json).size(), 1u);
  EXPECT_TRUE(read_book(book_start(started("../../xx"))).empty()) << "it is not the name of a run";
}

TEST(BookTextTest, AReportThatCouldBeTakenForAnEntryIsNotWritten) {
  EXPECT_FALSE(book_end(ended("aaaaaaaa"), "@end aaaaaaaa\n"));
  EXPECT_FALSE(book_end(ended("aaaaaaaa"), "{\n@run {}\n}"));
}

}  // namespace
}  // namespace cloche::store
