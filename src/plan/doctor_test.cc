#include "plan/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/sample_hosts.h"
#include "report/text.h"

namespace cloche {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<HostFacts> every_host() {
  return {HostFacts{},          samples::stock_user(),      samples::root_v1(),          samples::v2_session(),
          samples::container(), samples::ubuntu_apparmor(), samples::without_landlock(), samples::v1_nothing_writable(),
          samples::old_kernel()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

TEST(Doctor, NoLineIsWiderThanAHundredColumns) {
  std::vector<HostFacts> hosts = every_host();
  hosts.push_back(samples::stock_user());
  hosts.back().cgroup.why_not = std::string(5'000, 'x') + " is long";
  hosts.back().kernel = std::string(300, '6');
  for (const HostFacts& host : hosts) {
    for (const std::string& line : lines_of(render(examine(host), Colour::kNever))) {
      EXPECT_LE(display_width(line), 100u) << line;
    }
  }
}

TEST(Doctor, ListsEveryTierAndSaysWhichAreNotInThisVersion) {
  const std::string text = render(examine(samples::root_v1()), Colour::kNever);
  EXPECT_THAT(text, HasSubstr("tier 0 process, backend native: "));
  EXPECT_THAT(text, HasSubstr("tier 1 namespace, backend native: 30 of 30 guarantees held"));
  EXPECT_THAT(text, HasSubstr("tier 1 namespace, backend bwrap: "));
  EXPECT_THAT(text, HasSubstr("tier 2 container: not in this version"));
  EXPECT_THAT(text, HasSubstr("tier 3 microvm: not in this version"));
  for (const Guarantee guarantee : all_guarantees()) EXPECT_THAT(text, HasSubstr(std::string(to_string(guarantee))));
}

TEST(Doctor, AgreesWithTheOffers) {
  for (const HostFacts& host : every_host()) {
    for (const DoctorEntry& entry : examine(host).entries) {
      if (!entry.backend) continue;
      EXPECT_EQ(entry.offers, offers(*entry.backend, host));
      EXPECT_EQ(entry.obstacle, obstacle(*entry.backend, host));
    }
  }
}

TEST(Doctor, X2_ShowsTheHintOfEachLackAndOnceOnly) {
  const std::string text = render(examine(samples::v1_nothing_writable()), Colour::kNever);
  EXPECT_THAT(text, HasSubstr("→ as root: for c in pids memory cpu cpuacct"));
  EXPECT_THAT(text, HasSubstr("→ as above"));
}

TEST(Doctor, UnusableBackendShowsItsObstacleAndNoMarks) {
  const std::string text = render(examine(samples::ubuntu_apparmor()), Colour::kNever);
  const std::size_t start = text.find("tier 1 namespace, backend native: not usable");
  ASSERT_NE(start, std::string::npos);
  const std::string part = text.substr(start, text.find("\n\n", start) - start);
  EXPECT_THAT(part, HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"));
  EXPECT_THAT(part, Not(HasSubstr("✓")));
}

TEST(Doctor, ColourIsSentOnlyWhenAskedFor) {
  const DoctorReport report = examine(samples::stock_user());
  EXPECT_THAT(render(report, Colour::kNever), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render(report, Colour::kAlways), HasSubstr("\x1b[32m✓\x1b[0m"));
}

TEST(Doctor, HostTextCannotSteerTheTerminal) {
  HostFacts host = samples::stock_user();
  host.cgroup.why_not = "cgroup v2: \x1b]0;owned\x07";
  host.user_namespaces = false;
  host.user_namespaces_why = "a\x1b[2Jb";
  host.init =
      "/tmp/\x9b"
      "2J";
  const std::string text = render(examine(host), Colour::kNever);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_THAT(text, Not(HasSubstr("\x9b")));
}

TEST(Doctor, JsonCarriesHostAndOffers) {
  const auto json = nlohmann::json::parse(to_json(examine(samples::root_v1())));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["host"]["landlock_abi"], 6);
  EXPECT_EQ(json["host"]["cgroup"]["version"], 1);
  EXPECT_EQ(json["host"]["cgroup"]["parents"]["pids"], "/sys/fs/cgroup/pids/cloche");
  ASSERT_EQ(json["backends"].size(), 6u);
  EXPECT_EQ(json["backends"][1]["tier"], "namespace");
  EXPECT_EQ(json["backends"][1]["usable"], true);
  EXPECT_EQ(json["backends"][1]["offers"].size(), kGuaranteeCount);
  EXPECT_EQ(json["backends"][3]["in_this_version"], false);
  EXPECT_EQ(json["backends"][3]["usable"], false);
}

TEST(Doctor, JsonOfAHostWithBrokenTextStillParses) {
  HostFacts host = samples::container();
  host.cgroup.why_not = "\xff\xfe\x01";
  host.init = std::string("\xc3", 1);
  const auto json = nlohmann::json::parse(to_json(examine(host)));
  EXPECT_FALSE(json["backends"][1]["obstacle"].is_null());
}

}  // namespace
}  // namespace cloche
