#include "gateway/secret_rules.h"

#include "base/base64.h"
#include "gateway/secret_test_support.h"
#include "proto/http_target.h"

namespace cloche::gateway {
namespace {

using egress::SecretPlace;
using Kind = SecretVerdict::Kind;
using Names = std::vector<std::string>;

const std::string kV(kValue), kH(kHolder), kV2(kValue2), kH2(kHolder2);

SecretVerdict apply(const SecretVault& vault, proto::HttpRequestHead& head, std::string_view name = "api.example.org",
                    std::uint16_t port = 443) {
  const proto::HttpRequestHead before = head;
  SecretVerdict verdict = SecretRules(vault).apply(head, host(name), port);
  if (verdict.kind != Kind::kInjected) {
    EXPECT_EQ(head, before);
    EXPECT_EQ(render(head).find(kV), std::string::npos);
  }
  EXPECT_EQ(verdict.kind == Kind::kStopped, !verdict.reason.empty());
  EXPECT_EQ(verdict.reason.find(kV), std::string::npos);
  return verdict;
}

Kind kind_of(const SecretVault& vault, proto::HttpRequestHead head, std::string_view name = "api.example.org",
             std::uint16_t port = 443) {
  return apply(vault, head, name, port).kind;
}

std::string basic(const std::string& both) { return "Basic " + to_base64(both); }

TEST(SecretRules, WithoutAPlaceholderNothingChanges) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Authorization")});
  EXPECT_EQ(kind_of(vault, request("/a?b=c", {{"Authorization", "Bearer abc"}})), Kind::kUnchanged);
  EXPECT_EQ(kind_of(vault, request("/"), "other.example"), Kind::kUnchanged);
  EXPECT_EQ(kind_of(vault_of({}), request("/" + kH)), Kind::kUnchanged);
}

TEST(SecretRules, X9_PutsTheValueIntoTheHeader) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Authorization")});
  for (const std::string name : {"Authorization", "authorization", "AUTHORIZATION"}) {
    auto head = request("/", {{name, "Bearer " + kH}});
    const SecretVerdict verdict = apply(vault, head);
    EXPECT_EQ(verdict, (SecretVerdict{Kind::kInjected, {"API_KEY"}, {}}));
    EXPECT_EQ(head.headers.find("authorization")->value, "Bearer " + kV);
    EXPECT_EQ(head.headers.list.size(), 2u);
  }
}

TEST(SecretRules, X9_PutsTheValueInAsOftenAsThePlaceholderIsThere) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "X-Key")});
  auto head = request("/", {{"X-Key", kH + kH}, {"x-key", "a " + kH}});
  EXPECT_EQ(apply(vault, head).names, Names{"API_KEY"});
  EXPECT_EQ(head.headers.list[1].value, kV + kV);
  EXPECT_EQ(head.headers.list[2].value, "a " + kV);
}

TEST(SecretRules, X9_PutsTheValueIntoTheParameter) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kQuery, "key")});
  auto head = request("/a?x=1&key=" + proto::percent_encoded(kH) + "&y=2");
  EXPECT_EQ(apply(vault, head).kind, Kind::kInjected);
  EXPECT_EQ(head.target, "/a?x=1&key=" + proto::percent_encoded(kV) + "&y=2");
  EXPECT_EQ(proto::query_values(head.target, "key"), Names{kV});
  // A bare "+" is a blank in a query: this is not the placeholder, but looks like it.
  EXPECT_EQ(kind_of(vault, request("/a?key=" + kH)), Kind::kStopped);
  EXPECT_EQ(kind_of(vault, request("/a?other=" + proto::percent_encoded(kH))), Kind::kStopped);
  EXPECT_EQ(kind_of(vault, request("/a?key=x" + proto::percent_encoded(kH))), Kind::kStopped);
}

TEST(SecretRules, X9_PutsTheValueIntoBasicCredentials) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kBasic)});
  auto head = request("/", {{"authorization", basic("bob:" + kH)}});
  EXPECT_EQ(apply(vault, head).kind, Kind::kInjected);
  EXPECT_EQ(head.headers.find("Authorization")->value, basic("bob:" + kV));
  head = request("/", {{"Authorization", basic(kH + ":")}});
  EXPECT_EQ(apply(vault, head).kind, Kind::kInjected);
  EXPECT_EQ(head.headers.find("Authorization")->value, basic(kV + ":"));
  EXPECT_EQ(kind_of(vault, request("/", {{"Authorization", "Bearer " + kH}})), Kind::kStopped);
  EXPECT_EQ(kind_of(vault, request("/", {{"Proxy-Authorization", basic("bob:" + kH)}})), Kind::kStopped);
}

TEST(SecretRules, X9_APlaceholderForAnotherHostIsStopped) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Authorization")});
  const auto head = request("/", {{"Authorization", "Bearer " + kH}});
  for (const std::string_view other :
       {"example.org", "evil.example", "x.api.example.org", "api.example.org.evil.example", "api.example.orgx",
        "aapi.example.org", "api-example.org"}) {
    EXPECT_EQ(kind_of(vault, head, other), Kind::kStopped) << other;
  }
  EXPECT_EQ(kind_of(vault, head, "api.example.org", 80), Kind::kStopped);
  EXPECT_EQ(kind_of(vault, head, "API.example.org."), Kind::kInjected);
}

TEST(SecretRules, X9_TheConnectionCountsAndNotWhatTheHeadSays) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Authorization")});
  auto head = request("http://api.example.org/", {{"Authorization", kH}});
  EXPECT_EQ(apply(vault, head, "evil.example").kind, Kind::kStopped);
}

TEST(SecretRules, X9_APlaceholderAnywhereElseIsStopped) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Authorization")});
  const std::string encoded = proto::percent_encoded(kH);
  std::string all_encoded;
  for (const char c : kH) all_encoded += "%" + std::string(1, "0123456789abcdef"[c >> 4]) + "0123456789abcdef"[c & 15];
  std::string twice;
  for (const char c : all_encoded) twice += c == '%' ? "%25" : std::string(1, c);
  for (const std::string& target :
       {"/" + kH, "/?q=" + kH, "/" + encoded, "/?q=" + all_encoded, "/a/" + twice + "/b", "/?" + kH + "=1",
        "http://api.example.org/" + kH, "/" + to_base64(kH), "/" + to_base64("x" + kH), "/" + to_base64("xy" + kH)}) {
    EXPECT_EQ(kind_of(vault, request(target)), Kind::kStopped) << target;
  }
  for (const proto::HttpHeader& header : {proto::HttpHeader{"X-Other", kH},
                                          {"Cookie", "a=" + encoded},
                                          {"Referer", "https://x/?" + all_encoded},
                                          {"X-" + kH, "1"},
                                          {"Authorization", basic("bob:" + kH)},
                                          {"Authorization", basic("b:" + kH + "!")},
                                          {"Authorization", "basic  " + to_base64("bo:" + kH)},
                                          {"X-Json", "{\"a\":\"" + kH + "\"}"}}) {
    EXPECT_EQ(kind_of(vault, request("/", {header})), Kind::kStopped) << header.name << ": " << header.value;
  }
  auto head = request("/");
  head.headers.list[0].value = kH + ".example.org";
  EXPECT_EQ(apply(vault, head).kind, Kind::kStopped);
  // Beside the right place, too.
  EXPECT_EQ(kind_of(vault, request("/" + kH, {{"Authorization", kH}})), Kind::kStopped);
}

TEST(SecretRules, X9_TwoSecretsKeepToTheirPlaces) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "X-Key"), another_secret(SecretPlace::kBasic)});
  auto head = request("/", {{"X-Key", kH}, {"Authorization", basic("bob:" + kH2)}});
  EXPECT_EQ(apply(vault, head).names, (Names{"API_KEY", "PASSWORD"}));
  EXPECT_EQ(head.headers.find("X-Key")->value, kV);
  EXPECT_EQ(head.headers.find("Authorization")->value, basic("bob:" + kV2));
  EXPECT_EQ(kind_of(vault, request("/", {{"X-Key", kH2}, {"Authorization", basic("bob:" + kH)}})), Kind::kStopped);
  EXPECT_EQ(kind_of(vault, request("/", {{"X-Key", kH + kH2}})), Kind::kStopped);
}

TEST(SecretRules, TwoSecretsInOneHeader) {
  const SecretVault vault =
      vault_of({a_secret(SecretPlace::kHeader, "X-Key"), another_secret(SecretPlace::kHeader, "x-key")});
  auto head = request("/", {{"X-Key", kH + ":" + kH2 + ":" + kH}});
  EXPECT_EQ(apply(vault, head).kind, Kind::kInjected);
  EXPECT_EQ(head.headers.find("X-Key")->value, kV + ":" + kV2 + ":" + kV);
}

// Were the value looked at, a guest could put bytes beside the placeholder that complete one with the value's first.
TEST(SecretRules, X9_TheVerdictDoesNotDependOnTheValue) {
  egress::Secret secret = a_secret(SecretPlace::kHeader, "X-Key");
  secret.value = std::string(kH.substr(kH.size() - 1)) + kV.substr(1);
  const SecretVault vault = vault_of({secret});
  auto head = request("/", {{"X-Key", kH.substr(0, kH.size() - 1) + kH}});
  EXPECT_EQ(apply(vault, head).kind, Kind::kInjected);
}

// A server that undoes escapes would take the first of a value for the end of one, and nobody finds the rest in its
// answer.
TEST(SecretRules, X9_APlaceholderBehindTheBeginningOfAnEscapeIsStopped) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "Cookie"), another_secret(SecretPlace::kBasic)});
  const auto kind = [&](const std::string& before) {
    const Kind one = kind_of(vault, request("/", {{"Cookie", "id=" + before + kH}}));
    EXPECT_EQ(kind_of(vault, request("/", {{"Authorization", basic("bob:" + before + kH2)}})), one) << before;
    EXPECT_EQ(kind_of(vault, request("/", {{"Cookie", "a=" + kH + "; id=" + before + kH}})), one) << before;
    return one;
  };
  for (const std::string before : {"%", "%4", "x%4", "%u", "%u004", "%25", "%254", "\\", "\\x", "\\x4", "\\u004",
                                   "\\u{4", "\\1", "\\12", "&#", "&#1", "&#x4", "\xc3", "\x81"}) {
    EXPECT_EQ(kind(before), Kind::kStopped) << before;
  }
  for (const std::string before : {"", "x", "%20", "%C3%A9", "\\x41", "\\u0041", "\\101", "&#65;", "a&", "100% ",
                                   "a\\b=", "\xc3\xa9:", "#", "{"}) {
    EXPECT_EQ(kind(before), Kind::kInjected) << before;
  }
  auto head = request("/", {{"Cookie", "id=%" + kH}});
  EXPECT_NE(apply(vault, head).reason.find("is behind the beginning of an escape in the header \"Cookie\""),
            std::string::npos);
}

TEST(SecretRules, X10_WhatIsRevokedIsStopped) {
  SecretVault vault = vault_of({a_secret(SecretPlace::kHeader, "X-Key")});
  const auto head = request("/", {{"X-Key", kH}});
  EXPECT_EQ(kind_of(vault, head), Kind::kInjected);
  vault.revoke("API_KEY");
  auto stopped = head;
  EXPECT_EQ(apply(vault, stopped).reason,
            "the placeholder of the secret \"API_KEY\" is in the header \"X-Key\", and the secret is not granted now");
  vault.grant("API_KEY");
  EXPECT_EQ(kind_of(vault, head), Kind::kInjected);
}

TEST(SecretRules, TheReasonSaysWhatWouldBeRight) {
  const SecretVault vault = vault_of({a_secret(SecretPlace::kQuery, "key")});
  auto head = request("/", {{"X-Other", kH}});
  EXPECT_EQ(apply(vault, head).reason,
            "the placeholder of the secret \"API_KEY\" is in the header \"X-Other\"; it may be in the parameter "
            "\"key\" of requests to api.example.org:443 only");
}

TEST(SecretRules, AValueThatHttpCannotCarryIsNotSent) {
  egress::Secret secret = a_secret(SecretPlace::kHeader, "X-Key");
  secret.value.front() = ' ';  // blanks at the ends of a header's value get lost
  const SecretVault vault = vault_of({secret});
  auto head = request("/", {{"X-Key", kH}});
  EXPECT_EQ(apply(vault, head).kind, Kind::kStopped);
}

}  // namespace
}  // namespace cloche::gateway
