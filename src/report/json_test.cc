#include "report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "report/sample_reports.h"

namespace cloche {
namespace {

using nlohmann::json;
using samples::Random;

TEST(Json, X1_EveryReportReadsBackAsItWas) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Report report = samples::random_report(random);
    const std::string text = to_json(report);
    const Result<Report> back = from_json(text);
    ASSERT_TRUE(back.has_value()) << back.error().text() << "\n" << text;
    ASSERT_EQ(*back, report) << text;
  }
}

TEST(Json, K6_TailThatIsNotTextSurvivesByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  Report report = samples::example();
  report.out = {every_byte, 256, false};
  report.err = {"caf\xc3", 4, true};  // a ring may cut a character in two
  report.argv = {"plain", "\xff\xfe"};
  const std::string text = to_json(report);
  EXPECT_EQ(from_json(text).value(), report);
  const json document = json::parse(text);
  EXPECT_EQ(document["streams"]["stderr"]["encoding"], "base64");
  EXPECT_EQ(document["streams"]["stderr"]["tail"], "caf\ufffd");
  EXPECT_EQ(document["argv"][0], "plain");
}

TEST(Json, K6_TailThatIsTextIsNotEncodedTwice) {
  const json document = json::parse(to_json(samples::example()));
  EXPECT_EQ(document["streams"]["stdout"]["tail"], "working ...\n");
  EXPECT_EQ(document["streams"]["stdout"]["encoding"], "utf-8");
  EXPECT_FALSE(document["streams"]["stdout"].contains("tail_base64"));
  EXPECT_FALSE(document.contains("argv_base64"));
}

TEST(Json, X1_NoStringOfAGuestBreaksTheDocumentOrReachesTheTerminal) {
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    Report report = samples::random_report(random);
    // Not even where only our own words are expected.
    report.outcome.message = samples::random_bytes(random, 60);
    report.id = "\",\"outcome\":{\"kind\":\"exited\"},\"x\":\"\xed\xa0\x80";
    report.receipt.push_back(
        {Guarantee::kPids, Standing::kHeld, samples::random_bytes(random, 60), std::string("\xc0\xaf\0", 3)});
    report.denials.push_back({"syscall", samples::random_bytes(random, 60), 1});
    const std::string text = to_json(report);
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
    const Result<Report> back = from_json(text);
    ASSERT_TRUE(back.has_value()) << back.error().text();
    EXPECT_EQ(back->outcome.kind, report.outcome.kind);
    EXPECT_EQ(back->out, report.out);
    EXPECT_EQ(to_json(*back), text);
  }
}

TEST(Json, X8_NamesTheLimitAndTheExitCode) {
  Report report;
  report.outcome.kind = OutcomeKind::kOom;
  json document = json::parse(to_json(report));
  EXPECT_EQ(document["outcome"]["limit"], "limits.memory");
  EXPECT_EQ(document["outcome"]["exit_code"], 137);
  for (const std::string_view key : kNetworkLimits) {
    report.outcome.kind = OutcomeKind::kNetwork;
    report.outcome.network_limit = key;
    document = json::parse(to_json(report));
    EXPECT_EQ(document["outcome"]["limit"], key);
    EXPECT_EQ(from_json(document.dump())->outcome, report.outcome);
    document["outcome"]["limit"] = "net.limits";
    EXPECT_EQ(from_json(document.dump())->outcome.network_limit, "") << "as earlier versions wrote it";
  }
  report.outcome = Outcome{OutcomeKind::kExited, 3, 0, "", "", ""};
  document = json::parse(to_json(report));
  EXPECT_TRUE(document["outcome"]["limit"].is_null());
  EXPECT_EQ(document["outcome"]["exit_code"], 3);
}

TEST(Json, X1_NotMeasuredIsNullAndNotZero) {
  const json document = json::parse(to_json(Report{}));
  EXPECT_TRUE(document["usage"]["memory_peak_bytes"].is_null());
  EXPECT_TRUE(document["usage"]["pids_peak"].is_null());
  EXPECT_EQ(document["usage"]["forks_refused"], 0);
}

// Each change of a good document is refused, and the message names the key.
TEST(Json, RefusesWhatIsNotAReportAndNamesTheKey) {
  const json good = json::parse(to_json(samples::example()));
  const auto error = [&](auto change) {
    json document = good;
    change(document);
    const Result<Report> back = from_json(document.dump());
    return back ? std::string("no error") : back.error().text();
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(error([](json& d) { d.erase("usage"); }), "usage is missing"));
  EXPECT_TRUE(has(error([](json& d) { d["version"] = 2; }), "version 2"));
  EXPECT_TRUE(has(error([](json& d) { d["version"] = "1"; }), "version must be"));
  EXPECT_TRUE(has(error([](json& d) { d["outcome"] = 1; }), "outcome must be an object"));
  EXPECT_TRUE(has(error([](json& d) { d["outcome"]["kind"] = "fine\x1b[0m"; }), "\"fine\\x1b[0m\""));
  EXPECT_TRUE(has(error([](json& d) { d["outcome"]["code"] = 1e300; }), "outcome.code must be a whole number"));
  EXPECT_TRUE(has(error([](json& d) { d["outcome"]["code"] = 1ull << 40; }), "outcome.code must be"));
  EXPECT_TRUE(has(error([](json& d) { d["usage"]["wall_ms"] = -1; }), "usage.wall_ms must be a whole number from 0"));
  EXPECT_TRUE(has(error([](json& d) { d["usage"]["wall_ms"] = ~0ull; }), "usage.wall_ms"));
  EXPECT_TRUE(has(error([](json& d) { d["receipt"][1]["guarantee"] = "magic"; }), "receipt[1].guarantee"));
  EXPECT_TRUE(has(error([](json& d) { d["argv"][0] = 3; }), "argv[0] must be a string"));
  EXPECT_TRUE(has(error([](json& d) { d["streams"]["stdout"]["encoding"] = "rot13"; }), "encoding"));
  EXPECT_TRUE(has(error([](json& d) { d["streams"]["stdout"]["encoding"] = "base64"; }), "tail_base64 is missing"));
  EXPECT_TRUE(has(error([](json& d) { d["streams"]["stdout"]["truncated"] = 0; }), "truncated must be true or false"));
  EXPECT_EQ(error([](json& d) { d["later_key"] = 1; }), "no error");
  for (const char* text : {"", "{", "[]", "null", "\"\xff\"", "{} {}"}) EXPECT_FALSE(from_json(text)) << text;
  EXPECT_FALSE(from_json(std::string(200'000, '[')));
}

TEST(Json, ANegativeClockStillGivesADocumentThatReadsBack) {
  Report report;
  report.usage.wall = Millis(-5);
  EXPECT_EQ(from_json(to_json(report)).value().usage.wall, Millis(0));
}

TEST(Base64, ReadsBackAndRefusesOtherSpellings) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const std::string bytes = samples::random_bytes(random, 50);
    ASSERT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  for (const char* text : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm 9", "Zg==Zg==", "=Zg=", "Zm9v\n", "Zm-v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

TEST(Utf8, RefusesEveryFormThatUnicodeForbids) {
  for (const char* text : {"", "a", "é", "日", "\U0001f600", "\U0010ffff", "\ud7ff"})
    EXPECT_TRUE(valid_utf8(text)) << text;
  for (const char* text :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82", "\xc3(", "\xfe", "\xff"}) {
    EXPECT_FALSE(valid_utf8(text));
  }
}

}  // namespace
}  // namespace cloche
