#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prove/proof.h"
#include "report/paint.h"

namespace cloche::prove {
namespace {

using testing::HasSubstr;
using testing::Not;

Proof sample() {
  Proof proof{.version = "1", .date = "today", .host = {{"system", "<script>alert(1)</script>"}}};
  proof.columns = {{Kind::kAgainst, "against", "x\x1b[2J'\"><img src=//evil>"},
                   {Kind::kNative, "native", "tier 1, native"}};
  const auto row = [](const char* name, Outcome first, Outcome second) {
    return Row{{.victim = "v", .name = name, .threat = Threat::kSideEffects, .tries = "tries"}, {first, second}};
  };
  proof.rows.push_back(
      row("one", {.verdict = Verdict::kBreached, .text = "</td>\x1b[2J & more"}, {.verdict = Verdict::kHeld}));
  proof.rows.push_back(
      row("two", {.verdict = Verdict::kNotTried, .text = "why"}, {.verdict = Verdict::kNotPromised, .text = "reason"}));
  proof.rows.push_back(row("three", {.verdict = Verdict::kLeftOut, .text = "grant"}, {.verdict = Verdict::kHeld}));
  proof.notes = {"<i>note"};
  proof.unusable = {{{Kind::kBwrap, "bwrap", "<b>title"}, "<b>why"}};
  return proof;
}

TEST(Proof, HoldsOnlyIfSomethingWasTriedAndNothingIsOpen) {
  Proof proof = sample();
  EXPECT_FALSE(proof.all_held());
  proof.rows[0].outcomes[0].verdict = Verdict::kHeld;
  EXPECT_FALSE(proof.all_held()) << "one could not be tried";
  proof.rows[1].outcomes[0].verdict = Verdict::kLeftOut;
  EXPECT_TRUE(proof.all_held());
  proof.rows.clear();
  EXPECT_FALSE(proof.all_held()) << "nothing was tried";
}

TEST(Html, NothingOfOthersIsMarkup) {
  const std::string page = to_html(sample());
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("x\\x1b[2J&#39;&quot;&gt;&lt;img src=//evil&gt;"));
  EXPECT_THAT(page, HasSubstr("&lt;/td&gt;\\x1b[2J &amp; more"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  for (const char* shown : {"&lt;i&gt;note", "&lt;b&gt;title", "&lt;b&gt;why"}) EXPECT_THAT(page, HasSubstr(shown));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Proof, AttacksOnWhatIsGrantedAreCounted) {
  Granted granted;
  granted.others["sockets"] = "sockets.allow grants \"/x\"";
  const auto row = [](Attack attack, Verdict verdict) { return Row{std::move(attack), {{.verdict = verdict}}}; };
  const Attack granted_one{.not_with = {"sockets"}}, needs_one{.options = {"--write", "/x"}, .not_with = {"sockets"}};
  EXPECT_EQ(count_granted({row(granted_one, Verdict::kLeftOut), row(needs_one, Verdict::kLeftOut),
                           row(granted_one, Verdict::kNotPromised), row({}, Verdict::kHeld)},
                          granted),
            1U);
}

TEST(Proof, APolicyThatGrantsSecretsIsWarnedOfFirst) {
  Proof proof{.version = "1", .date = "today"};
  proof.columns = {{Kind::kPolicy, "policy", "p.toml"}};
  proof.rows = {Row{{.name = "one", .tries = "tries"}, {{.verdict = Verdict::kHeld}}}};
  EXPECT_THAT(to_html(proof), HasSubstr("<p class=\"verdict held\">All 1 attempts"));
  EXPECT_THAT(render(proof, Extent::kSummary, Colour::kNever), Not(HasSubstr("warning")));
  proof.left_out_by_grant = 2;
  EXPECT_THAT(to_html(proof), HasSubstr("were stopped. 2 attacks were left out because the policy grants what they"));
  proof.granted_secrets = {"files.read \"~/<i>\""};
  proof.notes = {"other"};
  const std::string page = to_html(proof);
  EXPECT_THAT(page,
              HasSubstr("<p class=\"verdict warned\">Warning: the policy grants places of secrets, and 2 attacks"));
  EXPECT_THAT(page, HasSubstr("files.read &quot;~/&lt;i&gt;&quot;.<br>All 1 attempts"));
  EXPECT_THAT(render(proof, Extent::kSummary, Colour::kNever),
              HasSubstr("warning: the policy grants places of secrets"));
  EXPECT_THAT(to_json(proof), testing::ContainsRegex("\"notes\": \\[[^a-z]*\"warning: the policy"));
  proof.rows[0].outcomes[0].verdict = Verdict::kBreached;
  EXPECT_THAT(to_html(proof), HasSubstr("<p class=\"verdict breached\">Warning: ")) << "and worse";
}

TEST(Html, WhatIsNotPromisedIsNeverShownAsHeld) {
  Proof proof{.version = "1", .date = "today"};
  proof.columns = {{Kind::kNative, "native", "native"}};
  proof.rows = {Row{{.name = "one", .tries = "tries"}, {{.verdict = Verdict::kHeld}}},
                Row{{.name = "two", .tries = "tries"}, {{.verdict = Verdict::kNotPromised, .text = "the reason"}}}};
  const std::string page = to_html(proof);
  EXPECT_THAT(page,
              HasSubstr("All 1 attempts that are promised to be stopped were stopped. 1 attempt is not promised"));
  EXPECT_THAT(page,
              HasSubstr("<span class=\"held\">1 held</span>, <span class=\"not-promised\">1 not promised</span>"));
  EXPECT_THAT(page,
              HasSubstr("<td class=\"not-promised\">not promised<br><span class=\"small\">the reason</span></td>"));
  const std::string text = render(proof, Extent::kSummary, Colour::kAlways);
  EXPECT_THAT(text, HasSubstr(paint("1 not promised", Hue::kDim, Colour::kAlways)));
  EXPECT_THAT(render(proof, Extent::kSummary, Colour::kNever), HasSubstr("– 1 not promised"));
  EXPECT_THAT(to_json(proof), HasSubstr("\"not-promised\": 1"));
}

TEST(Html, NeedsNoOtherFile) {
  const std::string page = to_html(sample());
  for (const char* word : {"http://", "https://", "<link", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Text, SaysWhatWasNotHeldAndWhy) {
  for (const Extent extent : {Extent::kWhole, Extent::kSummary}) {
    const std::string text = render(sample(), extent, Colour::kNever);
    EXPECT_THAT(text, HasSubstr("against: </td>\\x1b[2J & more (one)"));
    EXPECT_THAT(text, HasSubstr("against: why (two)"));
    EXPECT_THAT(text, HasSubstr("native: reason (two)"));
    EXPECT_THAT(text, HasSubstr("against: grant (three)"));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  }
}

TEST(Json, HasEveryResult) {
  const std::string text = to_json(sample());
  for (const char* part :
       {"\"version\": 1", "\"all_held\": false", "\"result\": \"breached\"", "\"result\": \"not-tried\"",
        "\"result\": \"not-promised\"", "\"result\": \"left-out\"", "\"result\": \"held\"", "\"threat\": \"D\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace cloche::prove
