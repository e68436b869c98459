#include "engine/secrets.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

namespace cloche {
namespace {

constexpr const char* kValue = "sk-0123456789abcdefABCDEF";

class Secrets : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_), nullptr); }
  void TearDown() override {
    ::unlink(path().c_str());
    ::rmdir(folder_);
  }
  std::string path() const { return std::string(folder_) + "/value"; }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  static SecretGrant grant(SecretGrant::Source source, std::string from) {
    SecretGrant out;
    out.name = "API_KEY";
    out.source = source;
    out.from = std::move(from);
    return out;
  }

  char folder_[32] = "/tmp/cloche-secret-XXXXXX";
};

TEST_F(Secrets, ComeFromAFileWithoutItsLineEnd) {
  for (const char* end : {"", "\n", "\r\n"}) {
    write(std::string(kValue) + end);
    auto value = read_secret(grant(SecretGrant::Source::kFile, path()), {});
    ASSERT_TRUE(value) << value.error().text();
    EXPECT_EQ(*value, kValue);
  }
}

TEST_F(Secrets, ComeFromTheCallersEnvironment) {
  auto value = read_secret(grant(SecretGrant::Source::kEnv, "REAL"), {{"REAL", kValue}});
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, kValue);
  auto missing = read_secret(grant(SecretGrant::Source::kEnv, "OTHER"), {{"REAL", kValue}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kRefused);
}

TEST_F(Secrets, ComeFromACommandThatSeesTheCallersEnvironmentOnly) {
  const std::map<std::string, std::string> env{{"REAL", kValue}, {"PATH", "/usr/bin:/bin"}};
  auto value = read_secret(grant(SecretGrant::Source::kCommand, "test -z \"$HOME\" && echo \"$REAL\""), env);
  ASSERT_TRUE(value) << value.error().text();
  EXPECT_EQ(*value, kValue);
}

TEST_F(Secrets, ACommandThatFailsIsRefusedWhateverItSaid) {
  const std::map<std::string, std::string> env{{"PATH", "/usr/bin:/bin"}};
  for (const std::string& command :
       {std::string("echo ") + kValue + "; exit 3", std::string("echo ") + kValue + "; kill -9 $$",
        std::string("/no/such/program"), std::string("true"), std::string("yes 0123456789abcdef | head -c 100000")}) {
    auto value = read_secret(grant(SecretGrant::Source::kCommand, command), env);
    ASSERT_FALSE(value) << command;
    EXPECT_EQ(value.error().code, ErrorCode::kRefused);
    EXPECT_EQ(value.error().text().find("0123456789"), std::string::npos) << value.error().text();
  }
}

TEST_F(Secrets, WhatIsNoLineOfTextIsRefusedAndNotRepeated) {
  for (const std::string& text : {std::string(), std::string("\n"), std::string(kValue) + "\nsecond line",
                                  std::string(kValue) + "\x01", std::string("sk-short"), std::string(100'000, 'x')}) {
    write(text);
    auto value = read_secret(grant(SecretGrant::Source::kFile, path()), {});
    ASSERT_FALSE(value) << text.size();
    EXPECT_EQ(value.error().code, ErrorCode::kRefused);
    const std::string said = value.error().text();
    EXPECT_EQ(said.find("sk-"), std::string::npos) << said;
    EXPECT_NE(said.find("API_KEY"), std::string::npos) << said;
  }
}

TEST_F(Secrets, AFileThatIsNoneIsRefused) {
  EXPECT_FALSE(read_secret(grant(SecretGrant::Source::kFile, path()), {}));
  EXPECT_FALSE(read_secret(grant(SecretGrant::Source::kFile, "/tmp"), {}));
}

}  // namespace
}  // namespace cloche
