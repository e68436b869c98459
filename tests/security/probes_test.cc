// Properties that only show from outside: the host looks at /proc and cgroupfs while a cell runs and after it ended.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "outside.h"
#include "stage.h"

namespace cloche::security {
namespace {

struct Site {
  const Stage& stage;
  Lane lane;
  Cellar cellar;
  std::string token;

  std::vector<std::string> linger(const std::vector<std::string>& options, const std::string& mode) const {
    return stage.among_bait({}, stage.cloche_run(cellar, options, "00_linger", {token, mode}));
  }
  Running start(const std::vector<std::string>& options, const std::string& mode) const {
    return Running::start(linger(options, mode), stage.environment());
  }
  Ended end(const std::vector<std::string>& command, const std::vector<std::string>& bait = {}) const {
    return run(stage.among_bait(bait, command), stage.environment());
  }
  pid_t engine() const {
    const auto found = processes_of(stage.path("bin/cloche"));
    return found.empty() ? -1 : found.front();
  }
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void exec_errors_are_explained(const Site& site) {
  const std::string report = site.stage.path("home/report.json");
  const std::string plain = site.stage.path("victims/plain");
  std::ofstream(plain) << "no program\n";
  for (const std::string& program : {std::string("/no/such/program"), plain, site.stage.path("victims")}) {
    auto command = site.stage.cloche_run(site.cellar, {"--report", report}, "00_linger", {});
    command.back() = program;
    const Ended ended = site.end(command);
    EXPECT_TRUE(ended.code == 125 || ended.code == 126) << program << ": " << ended.code << " " << ended.output;
    const std::string json = text_of(report);
    EXPECT_NE(json.find("exec"), std::string::npos) << json;
    EXPECT_NE(json.find("\"hint\""), std::string::npos) << json;
  }
}

void options_end_at_the_dashes(const Site& site) {
  for (const char* word : {"--version", "--help", "-h"}) {
    auto command = site.stage.cloche_run(site.cellar, {}, "00_linger", {});
    command.back() = word;
    EXPECT_NE(site.end(command).code, 0) << word << " was taken as an option";
  }
}

void cell_dies_with_engine(const Site& site) {
  Running running = site.start({}, "tree");
  ASSERT_TRUE(running.saw("READY")) << running.finish().output;
  ASSERT_GE(guests_with(site.token).size(), 4u);
  const pid_t engine = site.engine();
  ASSERT_GT(engine, 0);
  ASSERT_EQ(kill_one(engine), Killed::kYes);
  EXPECT_TRUE(all_gone(site.token)) << "processes outlive the engine";
  (void)running.finish();
}

void cell_dies_with_its_init(const Site& site) {
  Running running = site.start({}, "tree");
  ASSERT_TRUE(running.saw("READY")) << running.finish().output;
  const auto guests = guests_with(site.token);
  ASSERT_FALSE(guests.empty());
  // Up from the guest to the process that is pid 1 of the innermost namespace.
  pid_t init = guests.front();
  const auto is_init = [](pid_t pid) { return status_field(pid, "NSpid").ends_with("\t1"); };
  while (init > 1 && !is_init(init)) init = parent_of(init);
  ASSERT_GT(init, 1);
  ASSERT_EQ(kill_one(init), Killed::kYes);
  EXPECT_TRUE(all_gone(site.token));
  EXPECT_NE(running.finish().code, 0);
}

void nothing_stays_behind(const Site& site) {
  const auto before = run_cgroups();
  const Ended ended = site.end(site.stage.cloche_run(site.cellar, {}, "00_linger", {site.token, "orphan"}));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(guests_with(site.token).empty()) << "orphans outlive the run";
  EXPECT_EQ(run_cgroups(), before);
}

void engine_is_not_dumpable(const Site& site) {
  Running running = site.start({}, "idle");
  ASSERT_TRUE(running.saw("READY")) << running.finish().output;
  // Its own stage: the first bait's directory is in use.
  const Stage second(site.lane);
  const Ended ended = run(second.among_bait({}, {second.victim("25_trace_engine"), std::to_string(site.engine())}),
                          second.environment());
  EXPECT_EQ(ended.code, site.lane == Lane::kRoot ? 77 : 0) << ended.output;
  (void)kill_one(site.engine());
}

void refuses_to_run_set_uid(const Site& site) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact missing: only root can make a set-uid copy of the engine";
  const std::string engine = site.stage.path("bin/cloche");
  ASSERT_EQ(::chown(engine.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(engine.c_str(), 04755), 0);
  const Ended ended = site.end(site.stage.cloche_run(site.cellar, {}, "17_no_new_privs", {}));
  EXPECT_EQ(ended.code, 126) << ended.output;
}

void pivots_instead_of_chroot(const Site& site) {
  Running running = site.start({}, "idle");
  ASSERT_TRUE(running.saw("READY")) << running.finish().output;
  const auto guests = guests_with(site.token);
  ASSERT_FALSE(guests.empty());
  const Seen seen = seen_from_namespace_root(guests.front(), site.stage.bait_dir() + "/secret");
  EXPECT_NE(seen, Seen::kYes) << "the host's root is still mounted in the cell's namespace";
  if (seen == Seen::kCannot) {
    EXPECT_NE(::geteuid(), 0u) << "root could not enter the cell's mount namespace";
  }
  (void)kill_one(site.engine());
}

void writes_only_to_a_real_proc(const Site& site) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact missing: only root can mount a false /proc";
  const auto command = site.stage.cloche_run(site.cellar, {}, "17_no_new_privs", {});
  const Ended ended = site.end(command, {"--evil-proc"});
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_NE(ended.code, 0) << "the sanitizer needs a real /proc itself";
#else
  EXPECT_TRUE(ended.code == 125 || ended.code == 126) << ended.code << " " << ended.output;
#endif
  EXPECT_EQ(ended.output.find("breached"), std::string::npos) << ended.output;
}

void cells_cannot_reach_each_other(const Site& site) {
  Running listener = Running::start(
      site.stage.among_bait({}, site.stage.cloche_run(site.cellar, {}, "57_two_cells", {"listen", site.token})),
      site.stage.environment());
  ASSERT_TRUE(listener.saw("READY")) << listener.finish().output;
  // Its own stage: the first bait's directory is in use.
  const Stage second(site.lane);
  const Ended ended =
      run(second.among_bait({}, second.cloche_run(site.cellar, {}, "57_two_cells", {"reach", site.token})),
          second.environment());
  EXPECT_EQ(ended.code, 0) << ended.output;
  (void)kill_one(site.engine());
}

void limits_kill_every_descendant(const Site& site) {
  const Ended wall =
      run(site.linger({"--wall", "1s", "--set", "limits.grace=200ms"}, "tree"), site.stage.environment());
  EXPECT_EQ(wall.code, 124) << wall.output;
  EXPECT_TRUE(guests_with(site.token).empty()) << "the wall clock left processes behind";
  const Ended cpu = run(site.linger({"--cpu-time", "1s"}, "spin"), site.stage.environment());
  EXPECT_EQ(cpu.code, 137) << cpu.output;
  EXPECT_TRUE(guests_with(site.token).empty()) << "the cpu limit left processes behind";
}

void missing_features_refuse_or_are_reported(const Site& site) {
  if (site.lane == Lane::kRoot) GTEST_SKIP() << "fact missing: root has every feature; the user lane takes one away";
  auto extra = site.stage.environment();
  extra["CLOCHE_CGROUP"] = "no-such-delegation";
  auto command = site.stage.cloche_run(site.cellar, {"--set", "limits.mode=require"}, "17_no_new_privs", {});
  const Ended strict = run(site.stage.among_bait({}, command), extra);
  EXPECT_EQ(strict.code, 126) << strict.output;
  const std::string report = site.stage.path("home/report.json");
  command = site.stage.cloche_run(site.cellar, {"--set", "limits.mode=best-effort", "--report", report},
                                  "17_no_new_privs", {});
  EXPECT_EQ(run(site.stage.among_bait({}, command), extra).code, 0);
  EXPECT_NE(text_of(report).find("\"weakened\""), std::string::npos) << "the missing cgroups are not in the receipt";
}

void receipt_says_what_was_read(const Site& site) {
  const std::string report = site.stage.path("home/report.json");
  Running running = site.start({"--report", report, "--wall", "3s", "--set", "limits.grace=100ms"}, "idle");
  ASSERT_TRUE(running.saw("READY")) << running.finish().output;
  const auto guests = guests_with(site.token);
  ASSERT_FALSE(guests.empty());
  const pid_t guest = guests.front();
  EXPECT_EQ(status_field(guest, "NoNewPrivs"), "1");
  EXPECT_EQ(status_field(guest, "Seccomp"), "2");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(status_field(guest, set), "0000000000000000") << set;
  }
  EXPECT_NE(status_field(guest, "Uid").substr(0, 2), "0\t") << "the guest is root on the host";
  const auto descriptors = descriptors_of(site.engine());
  // A filter whose decisions are taken outside would judge pointers that the guest can still change (54).
  EXPECT_TRUE(std::ranges::none_of(
      descriptors, [](const std::string& target) { return target.find("seccomp notify") != std::string::npos; }));
  (void)running.finish();
  const std::string json = text_of(report);
  for (const char* evidence : {"\"evidence\"", "all five sets 0", "\"held\""}) {
    EXPECT_NE(json.find(evidence), std::string::npos) << evidence << " is not in " << json;
  }
}

struct Probe {
  int number;
  const char* variant;
  void (*body)(const Site&);
  bool user_only = false;
};
constexpr Probe kProbes[] = {{6, "options_end", options_end_at_the_dashes},
                             {7, "", exec_errors_are_explained},
                             {12, "", cell_dies_with_engine},
                             {13, "", cell_dies_with_its_init},
                             {16, "outside", nothing_stays_behind},
                             {25, "", engine_is_not_dumpable},
                             {26, "", refuses_to_run_set_uid, true},
                             {28, "", pivots_instead_of_chroot},
                             {33, "", writes_only_to_a_real_proc},
                             {57, "", cells_cannot_reach_each_other},
                             {61, "", limits_kill_every_descendant},
                             {62, "", missing_features_refuse_or_are_reported, true},
                             {63, "", receipt_says_what_was_read}};

class ProbeTest : public testing::Test {
 public:
  ProbeTest(const Probe& probe, Lane lane, Cellar cellar) : probe_(probe), lane_(lane), cellar_(cellar) {}
  void TestBody() override {
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    ASSERT_TRUE(stage.has("cloche")) << "cloche is not built";
    probe_.body({stage, lane_, cellar_, fmt::format("token-{}-{}", ::getpid(), probe_.number)});
  }

 private:
  const Probe& probe_;
  Lane lane_;
  Cellar cellar_;
};

const bool kRegistered = [] {
  for (const Probe& probe : kProbes) {
    for (const Lane lane : {Lane::kRoot, Lane::kUser}) {
      if (!lane_possible(lane) || (probe.user_only && lane == Lane::kRoot)) continue;
      for (const Cellar cellar : {Cellar::kNative, Cellar::kBwrap}) {
        const Case named{.number = probe.number, .variant = probe.variant};
        testing::RegisterTest(
            "Containment", test_name(named, lane, cellar).c_str(), nullptr, nullptr, __FILE__, __LINE__,
            [&probe, lane, cellar]() -> testing::Test* { return new ProbeTest(probe, lane, cellar); });
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace cloche::security
