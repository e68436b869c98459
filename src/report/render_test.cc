#include "report/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "report/outcome_info.h"
#include "report/sample_reports.h"
#include "report/text.h"

namespace cloche {
namespace {

using samples::Random;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t at = text.find('\n');
    lines.emplace_back(text.substr(0, at));
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  }
  return lines;
}

// Takes our own colours out; whatever else begins with ESC stays in.
std::string without_our_colours(std::string text) {
  for (const std::string_view code : {"\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"}) {
    for (std::size_t at = 0; (at = text.find(code, at)) != std::string::npos;) text.erase(at, code.size());
  }
  return text;
}

testing::AssertionResult harmless(std::string_view text) {
  if (!valid_utf8(text)) return testing::AssertionFailure() << "not UTF-8";
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const bool control = (c.code < 0x20 && c.code != '\n') || (c.code >= 0x7f && c.code <= 0x9f);
    const bool direction = (c.code >= 0x2028 && c.code <= 0x202e) || (c.code >= 0x2066 && c.code <= 0x2069);
    if (control || direction) return testing::AssertionFailure() << "code point " << static_cast<unsigned>(c.code);
    text.remove_prefix(c.length);
  }
  return testing::AssertionSuccess();
}

TEST(Text, X1_NoControlOfAGuestIsPrintable) {
  EXPECT_EQ(printable("plain text, é 日本 😀"), "plain text, é 日本 😀");
  EXPECT_EQ(printable("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("over\rwritten"), "over\\rwritten");
  EXPECT_EQ(printable("two\nlines\tand"), "two\\nlines\\tand");
  EXPECT_EQ(printable("\u009b31m"), "\\u{9b}31m");  // CSI as one C1 character
  EXPECT_EQ(printable("\u0085"), "\\u{85}");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");  // the same as a lone byte
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("gpj.\u202egnp"), "gpj.\\u{202e}gnp");
  EXPECT_EQ(printable("\u2066\u200b\ufeff"), "\\u{2066}\\u{200b}\\u{feff}");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");  // an overlong form is no way around
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Text, X1_TwoTextsNeverLookAlike) {
  EXPECT_NE(printable("\\x1b"), printable("\x1b"));
  EXPECT_NE(printable("\\u{9b}"), printable("\u009b"));
}

TEST(Text, X1_AnyBytesBecomePrintable) {
  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    const std::string bytes = samples::random_output(random);
    const std::string text = printable(bytes);
    ASSERT_TRUE(harmless(text)) << text;
    ASSERT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Text, QuotesArgumentsSoThatTheirBordersShow) {
  EXPECT_EQ(printable_command({"/bin/echo", "-n", "a b", "", "it's", "\x1b"}),
            "/bin/echo -n 'a b' '' 'it'\\''s' '\\x1b'");
  EXPECT_EQ(printable_command({}), "");
}

TEST(Text, FitsAndWrapsByColumnsNotBytes) {
  EXPECT_EQ(display_width("é日"), 3u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 5), "abcd…");
  EXPECT_EQ(fit("日本語", 5), "日本…");
  EXPECT_EQ(fit("日本語", 4), "日…");
  EXPECT_EQ(fit("abc", 0), "");
  EXPECT_EQ(wrap("one two three", 7, 9), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefgh", 3, 9), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("one two three four", 5, 2), (std::vector<std::string>{"one", "two …"}));
  EXPECT_TRUE(wrap("", 5, 2).empty());
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(human(Bytes{1}), "1 byte");
  EXPECT_EQ(human(Bytes{1023}), "1023 bytes");
  EXPECT_EQ(human(Bytes{1024}), "1K");
  EXPECT_EQ(human(mebibytes(1)), "1M");
  EXPECT_EQ(human(Bytes{mebibytes(1).count - 1}), "1M");
  EXPECT_EQ(human(Bytes{~0ull}), "16E");
  using namespace std::chrono_literals;
  EXPECT_EQ(human(250us), "250us");
  EXPECT_EQ(human(1500us), "1.5ms");
  EXPECT_EQ(human(999'960us), "1s");
  EXPECT_EQ(human(10'004ms), "10s");
  EXPECT_EQ(human(59'990ms), "1m 0s");
  EXPECT_EQ(human(725s), "12m 5s");
  EXPECT_EQ(human(2h), "2h 0m");
  EXPECT_EQ(human(-1s), "0us");
  EXPECT_EQ(human(Millis::max()).back(), 'm');
}

TEST(Render, X1_NoSequenceOfAGuestReachesTheTerminal) {
  Random random(4);
  for (std::size_t i = 0; i < 500; ++i) {
    Report report = samples::random_report(random);
    report.outcome.message = samples::random_bytes(random, 40);
    report.denials.push_back({samples::random_bytes(random, 9), samples::random_bytes(random, 9), 1});
    report.receipt.push_back({{}, {}, samples::random_bytes(random, 40), samples::random_bytes(random, 40)});
    for (const Detail detail : {Detail::kNormal, Detail::kDebug}) {
      const RenderOptions plain{.colour = Colour::kNever, .detail = detail, .columns = 20 + i % 100};
      ASSERT_TRUE(harmless(render(report, plain)));
      ASSERT_TRUE(harmless(render_summary(report, plain)));
      RenderOptions coloured = plain;
      coloured.colour = Colour::kAlways;
      ASSERT_EQ(without_our_colours(render(report, coloured)), render(report, plain));
      ASSERT_EQ(without_our_colours(render_summary(report, coloured)), render_summary(report, plain));
    }
  }
}

TEST(Render, NoLineIsWiderThanTheTerminal) {
  Random random(6);
  for (std::size_t columns = 20; columns < 200; ++columns) {
    const Report report = columns % 2 == 0 ? samples::example() : samples::random_report(random);
    const std::string text = render(report, {.colour = Colour::kNever, .detail = Detail::kDebug, .columns = columns});
    for (const std::string& line : lines_of(text)) ASSERT_LE(display_width(line), columns) << line;
  }
}

TEST(Render, X8_OutcomeComesFirstAndInItsColour) {
  const RenderOptions options{.colour = Colour::kAlways, .detail = Detail::kNormal, .columns = 80};
  Report report = samples::example();
  EXPECT_THAT(render(report, options), StartsWith("\x1b[31mwall: stopped after 10s (limits.wall)\x1b[0m\n"));
  report.outcome = Outcome{OutcomeKind::kExited, 0, 0, "", "", ""};
  EXPECT_THAT(render(report, options), StartsWith("\x1b[32mexited: the guest ended with code 0\x1b[0m\n"));
  report.outcome.code = 3;
  EXPECT_THAT(render(report, options), StartsWith("\x1b[33mexited: the guest ended with code 3\x1b[0m\n"));
}

TEST(Render, X1_ReceiptShowsMarkGuaranteeMechanismAndEvidence) {
  const std::string text = render(samples::example(), {});
  EXPECT_THAT(text, HasSubstr("receipt   3 held, 1 weakened, 0 absent\n"));
  bool pids = false;
  bool share = false;
  for (const std::string& line : lines_of(text)) {
    pids = pids || (line.starts_with("✓ pids ") && line.find(" cgroup v1 pids ") != std::string::npos &&
                    line.ends_with(" pids.max = 64"));
    share = share || line.starts_with("! cpu-share ");
  }
  EXPECT_TRUE(pids) << text;
  EXPECT_TRUE(share) << text;
}

TEST(Render, X2_EveryWeakeningIsShown) {
  EXPECT_THAT(render(samples::example(), {.columns = 200}),
              HasSubstr("weakened  limits.mode is best-effort and this host has no writable cpu controller\n"));
}

TEST(Render, K6_FailureCarriesTheTailAndDebugAllOfIt) {
  Report report = samples::example();
  report.err.tail.clear();
  for (int i = 1; i <= 30; ++i) report.err.tail += "line " + std::to_string(i) + "\r\n";
  const std::string normal = render(report, {});
  EXPECT_THAT(normal, HasSubstr("  | line 30\\r\n"));
  EXPECT_THAT(normal, HasSubstr("  | line 21\\r\n"));
  EXPECT_THAT(normal, Not(HasSubstr("  | line 20\\r\n")));
  EXPECT_THAT(normal, Not(HasSubstr("working ...")));
  const std::string debug = render(report, {.detail = Detail::kDebug});
  EXPECT_THAT(debug, HasSubstr("  | line 1\\r\n"));
  EXPECT_THAT(debug, HasSubstr("  | working ...\n"));
  EXPECT_THAT(debug, HasSubstr("life      prepare, start, run, time-out, drain, dispose\n"));
  report.outcome = Outcome{OutcomeKind::kExited, 0, 0, "", "", ""};
  EXPECT_THAT(render(report, {}), Not(HasSubstr("  | line 30")));
}

TEST(Summary, X8_SaysWhatHappenedAndWhatToChangeForEveryOutcome) {
  for (const OutcomeInfo& row : all_outcomes()) {
    Report report;
    report.outcome.kind = row.kind;
    const std::string text = render_summary(report, {});
    if (row.kind == OutcomeKind::kExited) {
      EXPECT_EQ(text, "");
      report.outcome.code = 7;
      EXPECT_EQ(render_summary(report, {}), "cloche: exited: the guest ended with code 7\n");
      continue;
    }
    EXPECT_THAT(text, StartsWith("cloche: " + std::string(row.name) + ": "));
    EXPECT_THAT(text, HasSubstr("; " + std::string(row.hint) + "\n"));
    EXPECT_FALSE(row.hint.empty()) << row.name;
    EXPECT_THAT(text, HasSubstr(row.limit.empty() ? "" : "(" + std::string(row.limit) + ")"));
    EXPECT_EQ(lines_of(text).size(), 1u);
  }
}

TEST(Summary, X8_WallNamesTheLimitAndTheFlag) {
  Report report = samples::example();
  report.denials.clear();
  report.workspaces.clear();
  report.network.reset();
  EXPECT_EQ(render_summary(report, {}),
            "cloche: wall: stopped after 10s (limits.wall); raise it with --wall or limits.wall\n");
}

TEST(Summary, X2_RefusalShowsWhereAndTheReportsOwnHint) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kRefused, 0, 0, "user namespaces are off", "plan", "set a sysctl"};
  EXPECT_EQ(render_summary(report, {}), "cloche: refused: plan: user namespaces are off; set a sysctl\n");
}

TEST(Denials, X4_ALineOfAPolicyIsShownAsOneCanPasteIt) {
  Report report;
  report.denials = {{"read", "/p/\u202ex", 1}};
  for (const char* allow : {"files.read = [\"/p/\u202ex\"]", R"(files.read = ["/p/\u202ex"])"}) {
    report.denials[0].allow = allow;
    EXPECT_THAT(render_denials(report, {}), HasSubstr(R"(allow: files.read = ["/p/\u202ex"])"));
    EXPECT_THAT(denial_summary(report), HasSubstr(R"(allowed by files.read = ["/p/\u202ex"])"));
  }
  report.denials[0].allow = "x\n\u009b2J\xff";
  EXPECT_THAT(render_denials(report, {}), HasSubstr(R"(allow: x\u000a\u009b2J\xff)"));
}

TEST(Denials, X4_WhySaysWhereInAPolicyALineGoes) {
  Report report;
  report.denials = {{"read", "/a", 1, "", "", "no"}};
  EXPECT_THAT(render_denials(report, {}), Not(HasSubstr("[table]")));
  report.denials.push_back({"read", "/b", 1, "", "files.read = [\"/b\"]", ""});
  EXPECT_THAT(render_denials(report, {}),
              AllOf(HasSubstr("above the first [table]"), HasSubstr("read = ... in [files]"),
                    HasSubstr("cloche learn --merge FILE")));
}

TEST(Denials, X4_WhoWantedTheNetworkIsNotToldOfResolvConf) {
  Report report;
  report.denials = {{"read", "/etc/resolv.conf", 1, "curl"}};
  EXPECT_THAT(denial_summary(report), StartsWith("read /etc/resolv.conf"));
  report.denials.push_back({"socket", "AF_INET", 1, "curl", "", "name the host: net.allow"});
  EXPECT_EQ(denial_summary(report), "socket AF_INET; name the host: net.allow");
}

TEST(Denials, X4_WhatRuntimesAskForAtEveryStartIsNoNews) {
  Report report;
  report.outcome.kind = OutcomeKind::kExited;
  report.denials = {{"read", "/sys/fs/cgroup/memory/memory.limit_in_bytes", 1, "node"},
                    {"write", "/work/x", 1, "cp", "", std::string(kNoOwners)}};
  EXPECT_EQ(denial_summary(report), "");
  report.denials[0].what = "write";
  EXPECT_THAT(denial_summary(report), StartsWith("write /sys/fs/cgroup"));
}

TEST(Denials, X4_ButAGuestMayHaveFailedOfIt) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.denials = {{"read", "/proc/meminfo", 1, "free", "", "no"}, {"more", "attempts", 4}};
  EXPECT_EQ(denial_summary(report),
            "read /proc/meminfo, which most programs do without; 4 attempts are not listed one by one");
  report.denials.push_back({"socket", "AF_NETLINK, raw", 1, "ip"});
  report.denials.push_back({"write", "/work/x", 1, "tar"});
  EXPECT_EQ(denial_summary(report), "write /work/x; and at least 2 more") << "what is usual comes last";
  report.outcome.code = 0;
  EXPECT_EQ(denial_summary(report), "write /work/x");
}

TEST(Denials, X4_WhatExplainsNothingIsNotNamedAsTheReason) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.observed = "files";
  report.denials = {{"read", "/proc/filesystems", 1, "cp"}};
  EXPECT_EQ(
      denial_summary(report),
      "nothing but what most programs do without, such as read /proc/filesystems; --observe all also tells of names "
      "that are only looked at");
  report.receipt = {{Guarantee::kMemory, Standing::kWeakened, "RLIMIT_AS per process", ""}};
  EXPECT_THAT(denial_summary(report), HasSubstr("looked at, and limits are not seen to be reached without cgroups"));
  report.observed = "all";
  EXPECT_THAT(denial_summary(report), HasSubstr("/proc/filesystems; limits are not seen"));
  report.receipt.clear();
  EXPECT_EQ(denial_summary(report), "read /proc/filesystems, which most programs do without") << "all was seen";
  report.observed = "files";
  report.denials.push_back({"read", "/home/me/x", 1, "cp"});
  EXPECT_EQ(denial_summary(report), "read /home/me/x; and 1 more");
}

TEST(Denials, X4_WhatAGuestNamedIsPerhapsTheReason) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.observed = "files";
  report.denials = {{"read", "/proc/filesystems", 1, "cp"},
                    {"read", "/home/me/w", 0, "", "files.read = [\"/home/me/w\"]"}};
  EXPECT_EQ(denial_summary(report),
            "perhaps read /home/me/w, which its command or its errors name; allowed by files.read = [\"/home/me/w\"]");
  EXPECT_THAT(render_denials(report, {}),
              HasSubstr("/home/me/w  not seen to be tried: its command or its errors name it"));
  report.denials.push_back({"write", "/usr/x", 1, "cp"});
  EXPECT_THAT(denial_summary(report), StartsWith("perhaps read /home/me/w")) << "it was stopped on its way there";
  std::swap(report.denials[1], report.denials[2]);
  EXPECT_EQ(denial_summary(report), "write /usr/x; and 1 more") << "what was seen and comes before";
}

TEST(Denials, X4_WhatNameServicesAndNodeAskForIsNoNews) {
  Report report;
  report.outcome.kind = OutcomeKind::kExited;
  report.denials = {{"read", "/etc/ssl/openssl.cnf", 1, "node"}, {"socket", "AF_UNIX", 1, "ls"}};
  EXPECT_EQ(denial_summary(report), "");
  report.outcome.code = 1;
  EXPECT_THAT(denial_summary(report), StartsWith("socket AF_UNIX; and 1 more")) << "it may have needed that one";
  report.err.tail = "tmux: no server: Operation not permitted\n";
  EXPECT_THAT(denial_summary(report), StartsWith("socket AF_UNIX; and 1 more"));
  report.err.tail = "cat: none: No such file or directory\n";
  EXPECT_THAT(denial_summary(report), StartsWith("socket AF_UNIX, which most programs do without"));
}

TEST(Denials, X4_WhyNamesLimitsThatNobodySeesReached) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 2, 0, "", "", ""};
  report.receipt = {{Guarantee::kMemory, Standing::kWeakened, "RLIMIT_AS per process", ""},
                    {Guarantee::kPids, Standing::kHeld, "RLIMIT_NPROC per user namespace", ""}};
  const auto told = [&] { return render_denials(report, {}); };
  EXPECT_THAT(told(), HasSubstr("limits.pids and limits.memory are not seen to be reached"));
  report.receipt[0].mechanism = "cgroup v2 memory";
  EXPECT_THAT(told(), AllOf(HasSubstr("limits.pids is not seen to be reached"), Not(HasSubstr("limits.memory"))));
  report.receipt[1].mechanism = "cgroup v2 pids and RLIMIT_NPROC";
  EXPECT_THAT(told(), Not(HasSubstr("to be reached")));
  report.receipt[1].mechanism = "RLIMIT_NPROC per user namespace";
  report.outcome.code = 0;
  EXPECT_THAT(told(), Not(HasSubstr("to be reached")));
}

TEST(Denials, X4_WhySaysWhatWasNotWatched) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 2, 0, "", "", ""};
  report.observed = "files";
  const auto told = [&] { return render_denials(report, {}); };
  EXPECT_THAT(told(), HasSubstr("as far as it was watched (observe = \"files\")"));
  for (const char* level : {"off", "calls", "files"}) {
    report.observed = level;
    EXPECT_THAT(told(), HasSubstr("\nnot watched: ")) << level;
  }
  report.denials = {{"read", "/x", 1}};
  EXPECT_THAT(told(), HasSubstr("\nnot watched: "));
  report.observed = "all";
  EXPECT_THAT(told(), Not(HasSubstr("not watched")));
  report.observed = "files";
  report.outcome.code = 0;
  EXPECT_THAT(told(), Not(HasSubstr("not watched")));
  report.outcome.kind = OutcomeKind::kWall;
  EXPECT_THAT(told(), Not(HasSubstr("not watched"))) << "a limit ended it";
}

TEST(Summary, X4_OfWhatOthersDoWithoutReadsComeLast) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.denials = {{"read", "/etc/localtime", 1}, {"socket", "AF_NETLINK, raw", 1}};
  EXPECT_THAT(render_summary(report, {}), HasSubstr("denied: socket AF_NETLINK, raw, which most programs do without"));
}

TEST(Denials, X4_OneOfSeveralPrograms) {
  Report report;
  report.denials = {{"connect", "a.example:1", 1, "sh or a b or c"}};
  EXPECT_THAT(render_denials(report, {}), HasSubstr("once, by sh or \"a b\" or c\n"));
  report.denials[0].what = "read";
  EXPECT_THAT(render_denials(report, {}), HasSubstr("once, by \"sh or a b or c\"\n")) << "the name of one";
  report.denials[0].program = "sh, a b, \xe2\x80\xa6";
  EXPECT_THAT(render_denials(report, {}), HasSubstr("once, by sh, \"a b\", \xe2\x80\xa6\n"));
}

TEST(Summary, X4_DenialsGetTheSecondLine) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kSignaled, 0, 11, "", "", ""};
  report.denials = {{"syscall", "ptrace", 3}, {"limit", "fork", 1}};
  EXPECT_THAT(render_summary(report, {}), StartsWith("cloche: signaled: the guest died of SIGSEGV; "));
  EXPECT_THAT(render_summary(report, {}), HasSubstr("\ncloche: denied: syscall ptrace; and 1 more (cloche why "));
}

TEST(Summary, X4_AGuestCannotWriteItsOwnAdvice) {
  Report report;
  report.denials = {{"read", "/etc/hosts; allowed by tier = \"process\"", 1, "a b"}};
  EXPECT_THAT(render_summary(report, {}),
              HasSubstr("cloche: denied: read \"/etc/hosts; allowed by tier = \\\"process\\\"\" (cloche why"));
  EXPECT_THAT(render_denials(report, {}),
              HasSubstr("\"/etc/hosts; allowed by tier = \\\"process\\\"\"  once, by \"a b\""));
  EXPECT_THAT(render(report, {}), HasSubstr("read: \"/etc/hosts; allowed by tier = \\\"process\\\"\", 1 time"));
  report.denials = {{"read", "/home/me/a_b-c.d:@,+=~%", 1}};
  EXPECT_THAT(render_summary(report, {}), HasSubstr("denied: read /home/me/a_b-c.d:@,+=~% (cloche why"));
  report.denials = {{"socket", "AF_NETLINK, neither (TCP)", 1}};
  EXPECT_THAT(render_summary(report, {}), HasSubstr("denied: socket AF_NETLINK, neither (TCP) (cloche why"));
}

TEST(Network, X4_AMethodCannotEndInAdvice) {
  NetworkUse network;
  network.calls = {{{}, "/run/s", "get: fine. Add tier = 1", "1", Verdict::kDenied, "no"}};
  EXPECT_THAT(network_lines(network, 9).back(), HasSubstr("call of \"get: fine. Add tier = 1\" on /run/s: no"));
}

TEST(Summary, X4_ALineOfAPolicyCanBePasted) {
  Report report;
  report.denials = {{"read", "x", 1, "", "files.read = [\"/a\\\\b\\\"\xe2\x80\xae\"]", ""}};
  EXPECT_THAT(render_denials(report, {}), HasSubstr("allow: files.read = [\"/a\\\\b\\\"\\u202e\"]\n"));
  EXPECT_THAT(render_summary(report, {}), HasSubstr("; allowed by files.read = [\"/a\\\\b\\\"\\u202e\"]"));
}

TEST(Summary, X4_WhatIsNotListedIsNotCounted) {
  Report report;
  report.denials = {{"read", "a", 1}, {"read", "b", 1}, {"more", "attempts", 40}};
  EXPECT_THAT(render_summary(report, {}), HasSubstr("denied: read a; and at least 1 more"));
}

TEST(Summary, X8_AKillFromOutsideIsNotCalledACrash) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kSignaled, 0, 9, "", "", ""};
  EXPECT_THAT(render_summary(report, {}), HasSubstr("it killed itself, or something outside did"));
}

TEST(Summary, LongMessageDoesNotHideTheHint) {
  Report report;
  report.outcome.kind = OutcomeKind::kFailed;
  report.outcome.message = std::string(100'000, 'A');
  const std::string text = render_summary(report, {});
  EXPECT_LT(text.size(), 2000u);
  EXPECT_THAT(text, HasSubstr("cloche doctor"));
}

TEST(RenderNetwork, R8_WhatWasDeniedComesFirstAndTheRestIsBounded) {
  NetworkUse use;
  use.connections_total = 40;
  use.denied_total = 1;
  use.bytes_in = 2048;
  for (int i = 0; i < 39; ++i)
    use.connections.push_back({{}, Via::kDirect, "good.org", "", 443, Verdict::kAllowed, ""});
  use.connections.push_back({{}, Via::kProxy, "", "2001:db8::1", 25, Verdict::kDenied, "no rule allows it"});
  use.connections.back().count = 3;
  use.calls.push_back({{}, "/run/s", "flow.write", "1", Verdict::kDenied, "not listed"});
  use.calls_total = use.calls_denied_total = 1;
  const auto lines = network_lines(use, 5);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "40 connections, 1 denied, 2K in, 0 bytes out; 1 call, 1 denied");
  EXPECT_EQ(lines[1], "denied [2001:db8::1]:25 (proxy): no rule allows it, 3 times");
  EXPECT_EQ(lines[2], "denied call of flow.write on /run/s: not listed");
  EXPECT_EQ(lines[3], "allowed good.org:443 (direct)");
  EXPECT_EQ(lines[5], "and 37 more in the report");
}

TEST(RenderNetwork, X1_NothingOfAGuestsReachesTheTerminal) {
  Report report;
  NetworkUse use;
  const std::string bad = "\x1b[31m\n\u202e" + std::string(100'000, 'x');
  use.connections.push_back({{}, Via::kDns, bad, bad, 1, Verdict::kDenied, bad});
  use.calls.push_back({{}, bad, bad, bad, Verdict::kDenied, bad});
  use.denied_total = 1;
  report.network = use;
  for (const std::string& text : {render(report, {}), render_summary(report, {})}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_LT(text.size(), 5000u);
    EXPECT_NE(text.find("denied"), std::string::npos);
  }
}

TEST(Denials, X4_WhatIsNotListedIsSaidOfAGuestThatFailed) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.denials = {{"more", "attempts", 40}, {"more", "names", 2}};
  EXPECT_EQ(denial_summary(report), "42 attempts are not listed one by one");
  report.denials.insert(report.denials.begin(), {"write", "/usr/x", 1, "cp", "", "no"});
  EXPECT_EQ(denial_summary(report), "write /usr/x; 42 attempts are not listed one by one");
  report.outcome.code = 0;
  report.denials.erase(report.denials.begin());
  EXPECT_EQ(denial_summary(report), "");
}

}  // namespace
}  // namespace cloche
