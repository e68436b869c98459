#include "outputs/output.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::outputs {
namespace {

std::string one(const std::string& members) { return R"({"outputs": [)" + members + "]}"; }

std::string error_of(const std::string& text, const Limits& limits = {}) {
  const auto outputs = read_outputs(text, limits, Protected::kRefuse);
  return outputs ? "no error" : outputs.error().text();
}

void expect_error(const std::string& text, std::string_view named, const Limits& limits = {}) {
  const std::string error = error_of(text, limits);
  EXPECT_NE(error.find(named), std::string::npos) << text << "\n" << error;
}

TEST(ReadOutputs, R4_ReadsBothEncodings) {
  const auto outputs = read_outputs(one(R"({"path": "a/b", "body": "x\u0000\n"},
                                           {"executable": true, "body": "AP8=", "encoding": "base64", "path": "c"},
                                           {"path": "d", "body": "", "encoding": "utf-8", "executable": false})"),
                                    {}, Protected::kRefuse);
  ASSERT_TRUE(outputs) << outputs.error().text();
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ((*outputs)[0], (Output{"a/b", std::string("x\0\n", 3), false}));
  EXPECT_EQ((*outputs)[1], (Output{"c", std::string("\0\xff", 2), true}));
  EXPECT_EQ((*outputs)[2], (Output{"d", "", false}));
  EXPECT_TRUE(read_outputs(one(""), {}, Protected::kRefuse)->empty());
}

TEST(ReadOutputs, R4_ErrorsNameTheIndexAndThePath) {
  expect_error(one(R"({"path": "ok", "body": ""}, {"path": "a/../b", "body": ""})"),
               "outputs[1] (a/../b): the path has");
  expect_error(one(R"({"body": ""})"), "outputs[0]: path is missing");
  expect_error(one(R"({"path": "a"})"), "outputs[0] (a): body is missing");
  expect_error(one(R"({"path": 7, "body": ""})"), "path must be text");
  expect_error(one(R"({"path": "a", "body": true})"), "body must be text");
  expect_error(one(R"({"path": "a", "body": "", "executable": "yes"})"), "executable must be true or false");
  expect_error(one(R"({"path": "a", "body": "", "mode": "777"})"), "\"mode\" is not known");
  expect_error(R"({"outputs": [], "version": 1})", "\"version\" is not known");
}

TEST(ReadOutputs, R4_EncodingIsChecked) {
  expect_error(one(R"({"path": "a", "body": "", "encoding": "latin1"})"), "encoding must be");
  for (const char* body : {"A", "AA", "AA=", "A===", "AAA =", "AAB=", "AAA*"}) {
    expect_error(one(std::string(R"({"path": "a", "encoding": "base64", "body": ")") + body + "\"}"), "not base64");
  }
}

TEST(ReadOutputs, R4_LimitsHoldToTheByte) {
  const std::string two =
      one(R"({"path": "a", "body": "1234"}, {"path": "b", "body": "MTIzNA==", "encoding": "base64"})");
  Limits limits{2, {4}, {two.size()}};
  EXPECT_TRUE(read_outputs(two, limits, Protected::kRefuse));
  limits.count = 1;
  expect_error(two, "more than 1 entries", limits);
  limits = {2, {3}, {two.size()}};
  expect_error(two, "outputs[0] (a): body has more than 3 bytes", limits);
  limits = {2, {4}, {two.size() - 1}};
  expect_error(two, "the document has more than", limits);
}

TEST(ReadOutputs, R4_DuplicatesAndFilesAboveOthersAreRefused) {
  expect_error(one(R"({"path": "a", "body": ""}, {"path": "b", "body": ""}, {"path": "A", "body": ""})"),
               "outputs[2] (A): a is the same path");
  expect_error(one(R"({"path": "a/b", "body": ""}, {"path": "a", "body": ""})"), "outputs[0] (a/b): a is a file above");
}

TEST(ReadOutputs, R4_ProtectedNamesNeedAWord) {
  for (const char* path : {".git/hooks/pre-commit", ".bashrc", "x/.vscode/tasks.json", ".SSH/config", ".git"}) {
    const std::string text = one(std::string(R"({"path": ")") + path + R"(", "body": ""})");
    expect_error(text, "protected");
    EXPECT_TRUE(read_outputs(text, {}, Protected::kAllow)) << path;
  }
}

TEST(ReadOutputs, R4_TheManifestIsNeverAnOutput) {
  const std::string text = one(R"({"path": ".cloche-outputs.json", "body": ""})");
  EXPECT_FALSE(read_outputs(text, {}, Protected::kRefuse));
  EXPECT_FALSE(read_outputs(text, {}, Protected::kAllow));
}

}  // namespace
}  // namespace cloche::outputs
