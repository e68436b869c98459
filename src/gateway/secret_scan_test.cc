#include "gateway/secret_scan.h"

#include "base/base64.h"
#include "gateway/secret_test_support.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;

const std::string kH(kHolder), kH2(kHolder2);

SecretVault two_secrets() {
  return vault_of({a_secret(SecretPlace::kHeader, "X-Key"), another_secret(SecretPlace::kBasic)});
}

TEST(SecretScan, X9_ABodyWithAPlaceholderIsStoppedWhereverItIsCut) {
  const SecretVault vault = two_secrets();
  const std::string body = "{\"key\": \"" + kH + "\"}";
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    SecretScan scan(vault);
    std::string passed;
    for (std::size_t at = 0; at < body.size(); at += piece)
      passed += scan.feed(std::string_view(body).substr(at, piece));
    passed += scan.finish();
    EXPECT_TRUE(scan.stopped()) << piece;
    EXPECT_LE(passed.size(), body.find(kH)) << piece;
    EXPECT_EQ(scan.reason(),
              "the placeholder of the secret \"API_KEY\" is in the body; it may be in the header \"X-Key\" of requests "
              "to api.example.org:443 only");
    EXPECT_EQ(scan.feed("more"), "");
  }
}

TEST(SecretScan, X9_FindsEverySecretInEveryForm) {
  const SecretVault vault = two_secrets();
  for (const std::string& body :
       {kH, "x" + kH2, to_base64(kH), to_base64("1" + kH2 + "2"), to_base64("12" + kH),
        std::string("sk-Fake%2BOther%2Fabcdefghij"), std::string("sk-Fake%2bOther%2fabcdefghij"),
        std::string("sk-Fake+Other\\/abcdefghij"), kH.substr(0, 10) + kH, kH2.substr(0, 8) + kH2}) {
    SecretScan scan(vault);
    scan.feed(body);
    EXPECT_TRUE(scan.stopped()) << body;
  }
}

TEST(SecretScan, X9_APlaceholderThatIsCutByAPauseIsStopped) {
  const SecretVault vault = two_secrets();
  for (std::size_t cut = 1; cut < kH.size(); ++cut) {
    SecretScan scan(vault);
    scan.feed(kH.substr(0, cut));
    EXPECT_EQ(scan.let_go(), kH.substr(0, cut));
    EXPECT_EQ(scan.feed(kH.substr(cut) + " and on"), "");
    EXPECT_TRUE(scan.stopped()) << cut;
  }
}

TEST(SecretScan, WhatIsLetGoIsNotSaidTwice) {
  const SecretVault vault = two_secrets();
  SecretScan scan(vault);
  EXPECT_EQ(scan.feed("say " + kH.substr(0, 6)), "say ");
  EXPECT_EQ(scan.let_go(), kH.substr(0, 6));
  EXPECT_EQ(scan.feed(kH.substr(6, 2)), "");
  EXPECT_EQ(scan.feed("!"), kH.substr(6, 2) + "!");
  EXPECT_FALSE(scan.holds());
}

TEST(SecretScan, WhatIsCleanPassesUnchangedAndAtOnce) {
  const SecretVault vault = two_secrets();
  const std::string body = "sk-Fake+Other/abcdefghi pumpkin-pumpki sk-Fake+sk-Fake\n" + std::string(1000, '\0') + "sk-";
  for (std::size_t piece = 1; piece < 70; ++piece) {
    SecretScan scan(vault);
    std::string passed;
    for (std::size_t at = 0; at < body.size(); at += piece) {
      passed += scan.feed(std::string_view(body).substr(at, piece));
      // At most one placeholder's length less one is held back, base64 being its longest form.
      EXPECT_LT(std::min(at + piece, body.size()) - passed.size(), kH.size() * 3);
    }
    EXPECT_EQ(passed + scan.finish(), body);
    EXPECT_FALSE(scan.stopped());
  }
  SecretScan scan(vault);
  EXPECT_EQ(scan.feed("nothing like it"), "nothing like it");
}

TEST(SecretScan, WithoutSecretsEverythingPasses) {
  const SecretVault vault = vault_of({});
  SecretScan scan(vault);
  EXPECT_EQ(scan.feed("anything") + scan.finish(), "anything");
}

TEST(SecretScan, X10_ARevokedPlaceholderIsStoppedAllTheSame) {
  SecretVault vault = two_secrets();
  vault.revoke("API_KEY");
  SecretScan scan(vault);
  scan.feed(kH);
  EXPECT_TRUE(scan.stopped());
}

}  // namespace
}  // namespace cloche::gateway
