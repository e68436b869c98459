// Which denial the line after a run names, where the guest did without or nobody saw it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/render.h"
#include "report/report.h"
#include "report/text.h"

namespace cloche {
namespace {

using testing::HasSubstr;

// sed -i: the file that it made cannot have the owner of the old one, which it does without; and then it cannot take
// the place of a mount.
TEST(Denials, X4_AFileThatCannotTakeThePlaceOfAMountLeads) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 4, 0, "", "", ""};
  report.denials = {{"write", "/srv/d/sedX", 1, "sed", "", std::string(kNoOwners)},
                    {"write", "/srv/d/f", 1, "sed", "", "what is granted by itself"}};
  report.err.tail = "sed: cannot rename /srv/d/sedX: Device or resource busy\n";
  EXPECT_EQ(denial_summary(report), "write /srv/d/f; and 1 more");
  report.err.tail = "chown: changing ownership of '/srv/d/sedX': Operation not permitted\n";
  EXPECT_EQ(denial_summary(report), "write /srv/d/sedX; and 1 more");
}

TEST(Denials, X4_ALimitThatErrorsSoundLikeIsPerhapsTheReason) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.denials = {{"limit", "limits.memory: its errors sound like it", 0, "", "limits.memory = \"1G\""}};
  EXPECT_EQ(denial_summary(report),
            "perhaps limit limits.memory: its errors sound like it; allowed by limits.memory = \"1G\"");
  EXPECT_THAT(render_denials(report, {}), HasSubstr("not seen to be reached"));
}

TEST(Denials, X4_WhatIsUsualIsTheReasonWhereErrorsNameIt) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.observed = "files";
  report.denials = {{"read", "/proc/meminfo", 1, "free", "", std::string(kOwnProc)},
                    {"read", "/proc/uptime", 1, "free", "", std::string(kOwnProc)}};
  EXPECT_THAT(denial_summary(report), HasSubstr("nothing but what most programs do without"));
  for (const char* said : {"free: Memory information file /proc/meminfo does not exist\n",
                           "cat: /proc/meminfo: No such\n", "ps: Unable to get total memory\n"}) {
    report.err.tail = said;
    EXPECT_EQ(denial_summary(report), "read /proc/meminfo; " + std::string(kOwnProc) + "; and 1 more") << said;
  }
  report.err.tail = "cannot open /proc/meminfo2, nor /x/proc/meminfo\n";
  EXPECT_THAT(denial_summary(report), HasSubstr("nothing but what most programs do without")) << "other names";
  report.outcome.code = 0;
  report.err.tail = "no /proc/meminfo here\n";
  EXPECT_EQ(denial_summary(report), "") << "it did without";
}

TEST(Denials, X4_ASocketThatMostDoWithoutIsTheReasonWhereErrorsSpeakOfIt) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.observed = "files";
  report.denials = {{"socket", "AF_NETLINK, raw", 1, "ip", "", "it leads into the kernel"}};
  EXPECT_THAT(denial_summary(report), HasSubstr("nothing but what most programs do without"));
  report.err.tail = "Cannot open netlink socket: Operation not permitted\n";
  EXPECT_EQ(denial_summary(report), "socket AF_NETLINK, raw; it leads into the kernel");
  report.outcome.code = 0;
  EXPECT_EQ(denial_summary(report), "") << "it did without";
}

TEST(Denials, X4_WhereALibraryPlacesMemoryIsNoNews) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 0, 0, "", "", ""};
  report.denials = {{"read", "/sys/devices/system/cpu/possible", 1, "ps", "files.read = [\"x\"]"},
                    {"read", "/sys/devices/system/node", 1, "ps", "files.read = [\"x\"]"},
                    {"syscall", "set_mempolicy", 1, "ps", "", "no"}};
  EXPECT_EQ(denial_summary(report), "");
  report.denials[0].what = "write";
  EXPECT_THAT(denial_summary(report), HasSubstr("write /sys/devices")) << "nobody writes there by the way";
}

TEST(Denials, X4_WhatAGuestDidWithoutIsNoNews) {
  Report report;
  report.outcome.kind = OutcomeKind::kExited;
  report.denials = {{"write", "/home/me/b/f", 1, "mv", "", std::string(kApart) + ", or so"},
                    {"read", "/etc/resolv.conf", 1, "git", "", "name the host"}};
  EXPECT_EQ(denial_summary(report), "") << "it was copied, and nobody asked for a socket";
  report.outcome.code = 1;
  EXPECT_EQ(denial_summary(report), "write /home/me/b/f; and 1 more");
  report.denials = {{"write", "/run/mount", 1, "mount", "", "no"}, {"syscall", "mount", 1, "mount", "", "no"}};
  EXPECT_EQ(denial_summary(report), "syscall mount; and 1 more");
}

// As git status does where it may not write: it refreshes its index if it can.
TEST(Denials, X4_ALockThatGitDidWithoutIsNoNews) {
  Report report;
  report.outcome.kind = OutcomeKind::kExited;
  report.denials = {{"write", "/srv/p/.git/index.lock", 1, "git", "workspace.path = [\"/srv/p/.git\"]"}};
  EXPECT_EQ(denial_summary(report), "");
  EXPECT_THAT(render_denials(report, {}), HasSubstr("/srv/p/.git/index.lock")) << "it is in the list";
  report.outcome.code = 128;
  EXPECT_THAT(denial_summary(report), HasSubstr("write /srv/p/.git/index.lock"));
  report.outcome.code = 0;
  report.denials[0].detail = "/srv/p/.git/HEAD.lock";
  EXPECT_NE(denial_summary(report), "") << "no other of its locks";
  report.denials[0].detail = "/srv/p/index.lock";
  EXPECT_NE(denial_summary(report), "");
  report.denials[0] = {"write", "/srv/p/.git/index.lock", 1, "git, sh"};
  EXPECT_NE(denial_summary(report), "");
}

TEST(Denials, X4_ALongNameIsShortInTheLineAndWholeInTheList) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  std::string name = "/home/me";
  while (name.size() < 4000) name += "/a-directory-of-many";
  name += "/the-file.txt";
  for (const std::uint64_t count : {0, 1}) {
    report.denials = {{"read", name, count, "cat", "files.read = [\"" + name + "\"]"}};
    const std::string line = denial_summary(report);
    EXPECT_LT(line.size(), 320u);
    EXPECT_THAT(line, HasSubstr("read \"/home/me/a-directory"));
    EXPECT_THAT(line, HasSubstr("…"));
    EXPECT_THAT(line, HasSubstr("/the-file.txt\""));
    EXPECT_THAT(line, HasSubstr("; the line that allows it is too long")) << "half a line is none";
    EXPECT_THAT(render_denials(report, {}), HasSubstr(name + "  "));
    EXPECT_THAT(render_denials(report, {}), HasSubstr("files.read = [\"" + name + "\"]"));
  }
}

TEST(Denials, X4_ALongNameIsCutInNoCharacterAndNoEscape) {
  for (const std::string piece :
       {"\xe6\x96\x87", "\xf0\x9f\x98\x80", "\x1b", "\xe2\x80\xae", "\xff", "\xc3", "\\", "a"}) {
    std::string name = "/";
    while (name.size() < 2000) name += piece;
    for (std::size_t columns = 0; columns < 60; ++columns) {
      const std::string shown = shortened(name, columns);
      std::string_view head = shown;
      const std::string_view mark = "…";
      const std::size_t at = head.find(mark);
      ASSERT_NE(at, std::string_view::npos);
      // Whole pieces, before and behind.
      const std::string_view tail = head.substr(at + mark.size());
      head = head.substr(0, at);
      EXPECT_EQ(head.empty() ? 0 : (head.size() - 1) % piece.size(), 0u);
      EXPECT_EQ(tail.size() % piece.size(), 0u);
      EXPECT_LE(display_width(printable(shown)), std::max<std::size_t>(columns, 1));
    }
  }
  EXPECT_EQ(shortened("/short", 6), "/short");
  EXPECT_EQ(shortened("", 0), "");
}

}  // namespace
}  // namespace cloche
