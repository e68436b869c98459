#include "prove/verdict.h"

#include <gtest/gtest.h>

namespace cloche::prove {
namespace {

const Attack kAttack{.victim = "x", .name = "x", .tries = "tries"};

Verdict verdict(const Attack& attack, Kind kind, int code, std::string output) {
  return judge(attack, kind, {.code = code, .output = std::move(output)}).verdict;
}

TEST(Verdict, HeldIsBelievedOnlyFromTheVictimItself) {
  EXPECT_EQ(verdict(kAttack, Kind::kNative, 0, "begun\nheld\n"), Verdict::kHeld);
  EXPECT_EQ(verdict(kAttack, Kind::kNative, 0, "begun\r\nheld\r\n"), Verdict::kHeld) << "on a terminal";
  // A sandbox that starts nothing also ends with 0.
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 0, ""), Verdict::kNotTried);
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 0, "begun\n"), Verdict::kNotTried);
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 1, "bwrap: no permission\n"), Verdict::kNotTried);
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 127, ""), Verdict::kNotTried);
}

TEST(Verdict, WhoeverDoesNotKnowTheAnswerSaysNothing) {
  const std::string answer = answer_to("word");
  EXPECT_EQ(answer_to("a"), "af63dc4c8601ec8c") << "FNV-1a";
  const auto judged = [&](int code, const std::string& output) {
    return judge({.held = {0, 137}}, Kind::kAgainst, {.code = code, .output = output, .answer = answer}).verdict;
  };
  EXPECT_EQ(judged(0, "begun " + answer + "\r\nheld " + answer + "\r\n"), Verdict::kHeld);
  EXPECT_EQ(judged(137, "begun " + answer + "\n"), Verdict::kHeld);
  for (const char* said : {"begun\nheld\n", "begun word\nheld word\n", "begun --word=word\nheld --word=word\n"}) {
    EXPECT_EQ(judged(0, said), Verdict::kNotTried) << said;
    EXPECT_EQ(judged(137, said), Verdict::kNotTried) << said;
  }
  EXPECT_EQ(judged(0, "begun " + answer + "0\nheld " + answer + "0\n"), Verdict::kNotTried);
}

TEST(Verdict, ABreachCountsWhateverElseIsSaid) {
  const Outcome outcome = judge(kAttack, Kind::kNative, {.code = 0, .output = "begun\nbreached: it\nheld\n"});
  EXPECT_EQ(outcome.verdict, Verdict::kBreached);
  EXPECT_EQ(outcome.text, "it");
}

TEST(Verdict, AChangeOnTheHostIsABreachWhateverTheGuestSays) {
  const Outcome outcome = judge(kAttack, Kind::kNative,
                                {.code = 0, .output = "begun\nheld\n", .canary_change = "home/.bashrc has changed"});
  EXPECT_EQ(outcome.verdict, Verdict::kBreached);
  EXPECT_EQ(outcome.text, "on the host home/.bashrc has changed");
}

TEST(Verdict, WhatEndsTooLateOrCannotIsNotTried) {
  const Attack killed{.held = {0, 77, 137}};
  EXPECT_EQ(judge(killed, Kind::kNative, {.code = 137, .time = Ended::Time::kOver, .output = "begun\n"}).verdict,
            Verdict::kNotTried);
  const Outcome outcome = judge(kAttack, Kind::kNative, {.code = 77, .output = "begun\ncannot be tried: no fork\n"});
  EXPECT_EQ(outcome.verdict, Verdict::kNotTried);
  EXPECT_EQ(outcome.text, "no fork");
  EXPECT_EQ(verdict(killed, Kind::kNative, 77, "begun\n"), Verdict::kNotTried);
}

TEST(Verdict, OnlyAProgramThatBeganCanMissAGrant) {
  const Attack attack{.options = {"--write", "@WRITE@"}};
  const std::string cannot = "cannot be tried: no file\n";
  const Outcome outcome = judge(attack, Kind::kAgainst, {.code = 77, .output = "begun\n" + cannot});
  EXPECT_EQ(outcome.verdict, Verdict::kLeftOut);
  EXPECT_EQ(outcome.text, "the command does not grant what it needs: no file");
  EXPECT_EQ(verdict(attack, Kind::kAgainst, 0, ""), Verdict::kNotTried);
  EXPECT_EQ(verdict(attack, Kind::kAgainst, 127, "sh: not found\n"), Verdict::kNotTried);
  EXPECT_EQ(verdict(attack, Kind::kAgainst, 77, cannot), Verdict::kNotTried);
  EXPECT_EQ(verdict(attack, Kind::kNative, 77, "begun\n" + cannot), Verdict::kNotTried) << "ours had the grant";
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 77, "begun\n" + cannot), Verdict::kNotTried) << "it needs none";
}

TEST(Verdict, AProgramThatASandboxHidesIsTold) {
  const auto told = [](int code, const char* output, Kind kind = Kind::kAgainst) {
    const Outcome outcome = judge(kAttack, kind, {.code = code, .output = output, .program = "/s/victims/x"});
    EXPECT_EQ(outcome.verdict, Verdict::kNotTried) << output;
    return outcome.text.find("@PROGRAMS@") != std::string::npos;
  };
  EXPECT_TRUE(told(1, "bwrap: execvp /s/victims/x: No such file or directory\n"));
  EXPECT_TRUE(told(127, "sh: 1: /s/victims/x: not found\n"));
  EXPECT_TRUE(told(126, "cannot run /s/victims/x: Permission denied\nbye\n"));
  EXPECT_FALSE(told(1, "bwrap: Can't find /no: No such file or directory\n")) << "another file";
  EXPECT_FALSE(told(1, "runs /s/victims/x\nno such file\n")) << "another line";
  EXPECT_FALSE(told(1, "begun\n/s/victims/x: No such file or directory\n")) << "it was there";
  EXPECT_FALSE(told(1, "")) << "nothing is known";
  EXPECT_FALSE(told(1, "cloche: /s/victims/x: No such file\n", Kind::kNative)) << "ours show it";
}

TEST(Verdict, AnExpectedEndNeedsAVictimThatBegan) {
  Attack attack = kAttack;
  attack.held = {0, 137};
  EXPECT_EQ(verdict(attack, Kind::kNative, 137, "begun\n"), Verdict::kHeld);
  EXPECT_EQ(verdict(attack, Kind::kNative, 137, ""), Verdict::kNotTried);
  EXPECT_EQ(verdict(attack, Kind::kNative, 139, "begun\n"), Verdict::kNotTried);
}

TEST(Verdict, ARefusalCountsWhereTheAttackExpectsIt) {
  Attack attack = kAttack;
  attack.held = {126};
  attack.refusal = "cloche: a link";
  EXPECT_EQ(verdict(attack, Kind::kNative, 126, "cloche: a link\n"), Verdict::kHeld);
  EXPECT_EQ(verdict(attack, Kind::kAgainst, 126, "sh: not found\n"), Verdict::kNotTried);
  EXPECT_EQ(verdict(kAttack, Kind::kNative, 126, "cloche: refused\n"), Verdict::kNotTried);
}

TEST(Verdict, X3_ARefusalOfSomethingElseIsNoWall) {
  Attack attack = kAttack;
  attack.held = {0, 125, 126};
  attack.refusal = "device /dev/null";
  const auto judged = [&](int code, const char* output) {
    return judge(attack, Kind::kNative, {.code = code, .output = output});
  };
  EXPECT_EQ(judged(125, "cloche: failed: device /dev/null (1:3): no such device\n").verdict, Verdict::kHeld);
  const Outcome other = judged(126, "cloche: refused: grant /no: it cannot be reached\n");
  EXPECT_EQ(other.verdict, Verdict::kNotTried);
  EXPECT_NE(other.text.find("grant /no: it cannot be reached"), std::string::npos) << "it says why";
  EXPECT_EQ(judged(126, "").verdict, Verdict::kNotTried);
  attack.refusal.clear();
  EXPECT_EQ(judged(126, "cloche: refused: grant /no\n").verdict, Verdict::kNotTried);
}

TEST(Verdict, AFilterThatKillsHolds) {
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 159, "begun\n"), Verdict::kHeld);
  EXPECT_EQ(verdict(kAttack, Kind::kAgainst, 159, ""), Verdict::kNotTried);
}

TEST(Promises, FollowTierUserAndCgroups) {
  const Attack attack{.tries = "", .no_bwrap = "b", .no_cgroups = "c", .no_process = "", .no_process_user = "u"};
  const Caller root{User::kRoot, Cgroups::kUsable};
  const Caller user{User::kOrdinary, Cgroups::kUsable};
  const Caller bare{User::kOrdinary, Cgroups::kMissing};
  EXPECT_EQ(not_promised(attack, Kind::kNative, {}, user), "");
  EXPECT_EQ(not_promised(attack, Kind::kNative, {}, bare), "c");
  EXPECT_EQ(not_promised(attack, Kind::kBwrap, {}, user), "b");
  EXPECT_EQ(not_promised(attack, Kind::kProcess, {}, root), "");
  EXPECT_EQ(not_promised(attack, Kind::kProcess, {}, user), "u");
  EXPECT_EQ(not_promised(attack, Kind::kAgainst, {}, bare), "") << "another sandbox promised us nothing";
}

TEST(Promises, X3_WhatBwrapUnderRootRefusesIsNotPromisedToRootAlone) {
  const Attack attack{.tries = "", .no_bwrap_root = "r"};
  const Caller root{User::kRoot, Cgroups::kUsable};
  EXPECT_EQ(not_promised(attack, Kind::kBwrap, {}, root), "r");
  EXPECT_EQ(not_promised(attack, Kind::kBwrap, {}, {User::kOrdinary, Cgroups::kUsable}), "");
  EXPECT_EQ(not_promised(attack, Kind::kNative, {}, root), "");
  EXPECT_EQ(not_promised(attack, Kind::kAgainst, {}, root), "");
}

TEST(Promises, APolicyIsJudgedByWhatItRunsOn) {
  const Attack attack{.tries = "", .args = {"all"}, .process_args = Words{"some"}, .no_bwrap = "b", .no_process = "p"};
  const Caller user{User::kOrdinary, Cgroups::kUsable};
  const auto on = [](Backend backend) {
    Granted granted;
    granted.backend = backend;
    return granted;
  };
  EXPECT_EQ(not_promised(attack, Kind::kPolicy, on(Backend::kNamespace), user), "");
  EXPECT_EQ(not_promised(attack, Kind::kPolicy, on(Backend::kBwrap), user), "b");
  EXPECT_EQ(not_promised(attack, Kind::kPolicy, on(Backend::kProcess), user), "p");
  EXPECT_EQ(not_promised(attack, Kind::kNative, on(Backend::kProcess), user), "") << "no policy's";
  EXPECT_EQ(args_on(attack, Kind::kPolicy, on(Backend::kProcess)), Words{"some"});
  EXPECT_EQ(args_on(attack, Kind::kPolicy, on(Backend::kBwrap)), Words{"all"});
  EXPECT_EQ(walls_of(Kind::kPolicy, on(Backend::kBwrap)), Kind::kBwrap);
  EXPECT_EQ(title_of(walls_of(Kind::kPolicy, on(Backend::kProcess))), "tier 0, process");
}

TEST(Promises, WhatMayBeExecutedIsToldToTheProgram) {
  const Attack attack{.args = {"x"}, .way_out_args = Words{"out"}, .exec_writable_args = Words{"w"}};
  Granted granted;
  EXPECT_EQ(args_on(attack, Kind::kPolicy, granted), Words{"x"});
  granted.others["exec-writable"] = "why";
  EXPECT_EQ(args_on(attack, Kind::kPolicy, granted), (Words{"x", "w"}));
  EXPECT_EQ(args_on(attack, Kind::kNative, granted), Words{"x"});
  granted.net = Granted::Net::kSome;
  EXPECT_EQ(args_on(attack, Kind::kPolicy, granted), (Words{"out", "w"}));
}

TEST(Promises, OnlyAGrantThatAPolicyDoesNotHaveLeavesAnAttackOut) {
  const Attack attack{.tries = "", .options = {"--write", "/x"}};
  EXPECT_EQ(left_out(attack, Kind::kNative, {}), "");
  EXPECT_EQ(left_out(attack, Kind::kProcess, {}), "");
  EXPECT_EQ(left_out(attack, Kind::kAgainst, {}), "") << "tried, and judged by what the command says";
  EXPECT_NE(left_out(attack, Kind::kPolicy, {}), "");
}

TEST(Promises, AUsersPolicyIsNarrowedAndNeverWidened) {
  EXPECT_TRUE(narrowing_options({"--memory", "64M", "--stdin"}));
  EXPECT_TRUE(narrowing_options({}));
  EXPECT_FALSE(narrowing_options({"--write", "/x"}));
  EXPECT_FALSE(narrowing_options({"--memory", "64M", "--read", "/x"}));
  EXPECT_FALSE(narrowing_options({"--allow-net", "x:1"}));
}

}  // namespace
}  // namespace cloche::prove
