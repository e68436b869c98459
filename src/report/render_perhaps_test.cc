// Which denial the line after a run names, where the guest did without or nobody saw it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/render.h"
#include "report/report.h"

namespace cloche {
namespace {

using testing::HasSubstr;

TEST(Denials, X4_ALimitThatErrorsSoundLikeIsPerhapsTheReason) {
  Report report;
  report.outcome = Outcome{OutcomeKind::kExited, 1, 0, "", "", ""};
  report.denials = {{"limit", "limits.memory: its errors sound like it", 0, "", "limits.memory = \"1G\""}};
  EXPECT_EQ(denial_summary(report),
            "perhaps limit limits.memory: its errors sound like it; allowed by limits.memory = \"1G\"");
  EXPECT_THAT(render_denials(report, {}), HasSubstr("not seen to be reached"));
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

}  // namespace
}  // namespace cloche
