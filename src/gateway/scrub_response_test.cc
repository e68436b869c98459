#include "gateway/scrub_response.h"

#include "base/base64.h"
#include "gateway/secret_test_support.h"
#include "proto/http_target.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;

const std::string kV(kValue), kH(kHolder), kV2(kValue2), kH2(kHolder2);

std::string scrub(const SecretVault& vault, std::string_view text, std::size_t piece) {
  ScrubStream stream(vault);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece) out += stream.feed(text.substr(at, piece));
  return out + stream.finish();
}

SecretVault two_secrets() {
  return vault_of({a_secret(SecretPlace::kHeader, "X-Key"), another_secret(SecretPlace::kBasic)});
}

TEST(ScrubStream, X9_AnEchoIsTurnedBackWhereverItIsCut) {
  const SecretVault vault = two_secrets();
  const std::string body = "a " + kV + kV + " b " + kV2 + " sk-Real+" + kV + " end sk-Real+Value/012345678";
  const std::string wanted = "a " + kH + kH + " b " + kH2 + " sk-Real+" + kH + " end sk-Real+Value/012345678";
  for (std::size_t piece = 1; piece <= body.size(); ++piece) EXPECT_EQ(scrub(vault, body, piece), wanted) << piece;
}

TEST(ScrubStream, X9_FindsOtherFormsAndKeepsTheLength) {
  const SecretVault vault = two_secrets();
  for (const std::string& echo : {proto::percent_encoded(kV), std::string("sk-Real+Value\\/0123456789"),
                                  to_base64("bob:" + kV2), to_base64("bobb:" + kV2), to_base64("bobby:" + kV2)}) {
    const std::string out = scrub(vault, "<" + echo + ">", 7);
    EXPECT_EQ(out.size(), echo.size() + 2);
    EXPECT_EQ(out.find(echo), std::string::npos) << echo;
    EXPECT_EQ(out.find("0123456789"), std::string::npos) << echo;
  }
  EXPECT_EQ(scrub(vault, to_base64("bo:" + kV2), 5), to_base64("bo:" + kH2));
}

// The shorter one ends first; what follows of the longer must not slip through.
TEST(ScrubStream, X9_ASecretInsideOfAnotherHidesNothing) {
  egress::Secret outer = a_secret(SecretPlace::kHeader, "X-Key");
  outer.value = "00" + kV2 + "1234567";
  outer.placeholder = "zzzzzzzzzzzzzzzzzzzzzzzz";
  ASSERT_EQ(outer.value.size(), outer.placeholder.size());
  const SecretVault vault = vault_of({outer, another_secret(SecretPlace::kBasic)});
  for (std::size_t piece = 1; piece < 30; ++piece) {
    EXPECT_EQ(scrub(vault, "<00" + kV2 + "1234567>", piece), "<zzzzzzzzzzzzzzzzzzzzzzzz>");
    EXPECT_EQ(scrub(vault, "<00" + kV2 + "123456>", piece), "<00" + kH2 + "123456>");
  }
}

TEST(ScrubStream, X9_OverlappingEchoesHideNothing) {
  egress::Secret secret = a_secret(SecretPlace::kHeader, "X-Key");
  secret.value = "abcdabcdabcd";
  secret.placeholder = "xxxxyyyyzzzz";
  const SecretVault vault = vault_of({secret});
  const std::string out = scrub(vault, "abcdabcdabcdabcd", 3);
  EXPECT_EQ(out.find("abcd"), std::string::npos) << out;
}

// A guest that makes a server say a guess must not see whether it is the beginning of a value.
TEST(ScrubStream, X9_WhatIsHeldBackDoesNotDependOnTheValues) {
  const SecretVault vault = two_secrets();
  const std::string padding(500, '.');
  for (std::size_t known = 1; known < kV.size(); ++known) {
    const std::string right = padding + kV.substr(0, known);
    const std::string wrong = padding + std::string(known, '!');
    ScrubStream first(vault);
    ScrubStream second(vault);
    EXPECT_EQ(first.feed(right).size(), second.feed(wrong).size()) << known;
    EXPECT_EQ(first.let_go().size(), second.let_go().size()) << known;
  }
}

TEST(ScrubStream, LinesDoNotWait) {
  const SecretVault vault = two_secrets();
  ScrubStream stream(vault);
  EXPECT_EQ(stream.feed("data: tick\n\n"), "data: tick\n\n");
  EXPECT_EQ(stream.feed("data: " + kV + "\n\nda"), "data: " + kH + "\n\n");
  EXPECT_EQ(stream.finish(), "da");
}

TEST(ScrubStream, WhatIsHeldBackIsLetGoAndTheStreamGoesOn) {
  const SecretVault vault = two_secrets();
  ScrubStream stream(vault);
  EXPECT_EQ(stream.feed("data: tick"), "");
  EXPECT_TRUE(stream.holds());
  EXPECT_EQ(stream.let_go(), "data: tick");
  EXPECT_FALSE(stream.holds());
  EXPECT_EQ(stream.feed(kV), "");
  EXPECT_EQ(stream.finish(), kH);
}

TEST(ScrubStream, X9_OfAValueThatIsCutByAPauseTheRestIsTakenOut) {
  const SecretVault vault = two_secrets();
  for (std::size_t cut = 1; cut < kV.size(); ++cut) {
    ScrubStream stream(vault);
    stream.feed(kV.substr(0, cut));
    EXPECT_EQ(stream.let_go(), kV.substr(0, cut));
    std::string rest = stream.feed(kV.substr(cut) + " and on");
    rest += stream.finish();
    EXPECT_EQ(rest, kH.substr(cut) + " and on") << cut;
  }
}

TEST(ScrubStream, X10_ASecretWhoseLeaseIsOverIsStillTakenOut) {
  SecretVault vault = two_secrets();
  vault.revoke("API_KEY");
  EXPECT_EQ(scrub(vault, kV, 4), kH);
}

TEST(ScrubHead, X9_HeadersAreTurnedBackToo) {
  const SecretVault vault = two_secrets();
  proto::HttpResponseHead head;
  head.reason = "Hello " + kV;
  head.headers.list = {
      {"Location", "https://x/?key=" + proto::percent_encoded(kV)}, {"X-Echo", "Bearer " + kV}, {"Set-Cookie", "a=b"}};
  ASSERT_TRUE(scrub_head(vault, head));
  EXPECT_EQ(head.reason, "Hello " + kH);
  EXPECT_EQ(head.headers.find("Location")->value, "https://x/?key=" + proto::percent_encoded(kH));
  EXPECT_EQ(head.headers.find("X-Echo")->value, "Bearer " + kH);
  EXPECT_EQ(head.headers.find("Set-Cookie")->value, "a=b");
}

TEST(PlainBytes, AreAskedForAndInsistedOn) {
  auto head = request("/", {{"accept-encoding", "gzip, br"}, {"TE", "gzip"}, {"Sec-WebSocket-Extensions", "x"}});
  ask_for_plain_bytes(head);
  EXPECT_EQ(head.headers.count("Accept-Encoding"), 1u);
  EXPECT_EQ(head.headers.find("Accept-Encoding")->value, "identity");
  EXPECT_EQ(head.headers.count("TE") + head.headers.count("Sec-WebSocket-Extensions"), 0u);

  proto::HttpResponseHead answer;
  EXPECT_TRUE(check_plain_bytes(answer));
  answer.headers.list = {{"Content-Encoding", "Identity"}};
  EXPECT_TRUE(check_plain_bytes(answer));
  answer.headers.list = {{"content-encoding", "identity, " + kV}};
  const Status refused = check_plain_bytes(answer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text().find(kV), std::string::npos);
}

TEST(PlainBytes, X9_AreNoneInOtherCharactersOrMadeOfAnotherAnswer) {
  auto head = request("/", {{"A-IM", "gzip"}, {"accept-charset", "utf-16"}});
  ask_for_plain_bytes(head);
  EXPECT_EQ(head.headers.count("A-IM") + head.headers.count("Accept-Charset"), 0u);

  const auto is_plain = [](std::string_view name, std::string_view value) {
    proto::HttpResponseHead answer;
    answer.headers.add(name, std::string(value));
    return check_plain_bytes(answer).has_value();
  };
  for (const std::string_view type : {"text/plain", "text/html; charset=utf-8", "text/html;CHARSET=\"UTF-8\"",
                                      "text/html; charset=ISO-8859-15", "text/html; charset='us-ascii'",
                                      "application/json; charset=", "a/b; charset=Windows-1252; x=y", "a/charset-x"}) {
    EXPECT_TRUE(is_plain("Content-Type", type)) << type;
  }
  for (const std::string_view type :
       {"text/plain;charset=utf-16", "text/plain; Charset=\"UTF-16LE\"", "text/plain;charset = utf-32",
        "a/b;charset=ibm037", "a/b; charset=utf-7", "a/b; charset=utf-8; charset=utf-16be", "a/b; charset*=utf-16",
        "a/b; charset='utf-16'"}) {
    EXPECT_FALSE(is_plain("content-type", type)) << type;
  }
  EXPECT_FALSE(is_plain("IM", "gzip"));
  proto::HttpResponseHead answer;
  answer.status = 226;
  EXPECT_FALSE(check_plain_bytes(answer));
}

}  // namespace
}  // namespace cloche::gateway
