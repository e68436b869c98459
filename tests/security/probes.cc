#include "probes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "outside.h"
#include "report/json.h"

namespace cloche::security {

std::vector<std::string> Site::command(const std::vector<std::string>& options, const std::string& victim,
                                       const std::vector<std::string>& args) const {
  return stage.cloche_run(cellar, options, victim, args, without);
}
Running Site::start(const std::vector<std::string>& options, const std::string& mode,
                    const std::vector<std::string>& bait) const {
  return Running::start(stage.among_bait(bait, command(options, "00_linger", {token, mode})), stage.environment());
}
Ended Site::end(const std::vector<std::string>& command, const std::vector<std::string>& bait) const {
  return run(stage.among_bait(bait, command), stage.environment());
}
pid_t Site::engine() const {
  const auto found = processes_of(stage.engine(without));
  return found.empty() ? -1 : found.front();
}

namespace {

Finding held(std::string text = {}) { return {Finding::Kind::kHeld, std::move(text)}; }
Finding breached(std::string text) { return {Finding::Kind::kBreached, std::move(text)}; }
Finding cannot(std::string text) { return {Finding::Kind::kCannot, std::move(text)}; }

Result<Report> report_at(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return from_json(text.str());
}

Finding exec_errors_are_explained(const Site& site) {
  const std::string report = site.stage.path("home/report.json");
  const std::string plain = site.stage.path("victims/plain");
  std::ofstream(plain) << "no program\n";
  for (const std::string& program : {std::string("/no/such/program"), plain, site.stage.path("victims")}) {
    auto command = site.command({"--report", report}, "00_linger", {});
    command.back() = program;
    const Ended ended = site.end(command);
    if (ended.code != 125 && ended.code != 126) {
      return cannot(fmt::format("{}: code {}, {}", program, ended.code, ended.output));
    }
    const auto told = report_at(report);
    if (!told) return cannot("there is no report: " + ended.output);
    if (!told->outcome.step.starts_with("exec ") || told->outcome.hint.empty()) {
      return breached(fmt::format("{} failed in '{}', {}", program, told->outcome.step, told->outcome.message));
    }
  }
  return held();
}

Finding options_end_at_the_dashes(const Site& site) {
  for (const char* word : {"--version", "--help", "-h"}) {
    auto command = site.command({}, "00_linger", {});
    command.back() = word;
    if (site.end(command).code == 0) return breached(fmt::format("{} was taken as an option", word));
  }
  return held();
}

Finding cell_dies_with_engine(const Site& site) {
  Running running = site.start({}, "tree");
  if (!running.saw("READY")) return cannot(running.finish().output);
  if (guests_with(site.token).size() < 4) return cannot("the tree is not there");
  if (kill_one(site.engine()) != Killed::kYes) return cannot("the engine was not found");
  return all_gone(site.token, site.patience()) ? held() : breached("processes outlive the engine");
}

// Up from the guest to the process that made it.
pid_t init_of(pid_t guest) {
  while (guest > 1 && !proc_file(guest, "comm").starts_with("cloche-init") &&
         !status_field(guest, "NSpid").ends_with("\t1")) {
    guest = parent_of(guest);
  }
  return guest;
}

Finding cell_dies_with_its_init(const Site& site) {
  Running running = site.start({}, "tree");
  if (!running.saw("READY")) return cannot(running.finish().output);
  pid_t init = -1;
  for (const pid_t guest : guests_with(site.token)) init = std::max(init, init_of(guest));
  if (kill_one(init) != Killed::kYes) return cannot("init was not found");
  if (!all_gone(site.token, site.patience())) return breached("processes outlive their init");
  return running.finish().code != 0 ? held() : breached("the engine reports success");
}

Finding nothing_stays_behind(const Site& site) {
  const std::string report = site.stage.path("home/report.json");
  const Ended ended = site.end(site.command({"--report", report}, "00_linger", {site.token, "orphan"}));
  if (ended.code != 0) return cannot(ended.output);
  if (!guests_with(site.token).empty()) return breached("orphans outlive the run");
  const auto told = report_at(report);
  if (!told) return cannot("there is no report");
  const auto left = cgroups_of(told->id);
  return left.empty() ? held() : breached("a cgroup outlives the run: " + left.front());
}

// Root as it is in many a container: what an ordinary user lacks anyway has to be taken from it.
std::vector<std::string> lacking(Lane lane, const char* what) {
  return lane == Lane::kRoot ? std::vector<std::string>{"--lacking", what} : std::vector<std::string>{};
}

Finding engine_is_not_dumpable(const Site& site) {
  const auto bait = lacking(site.lane, "trace");
  Running running = site.start({}, "idle", bait);
  if (!running.saw("READY")) return cannot(running.finish().output);
  // Its own stage: the first bait's directory is in use.
  const Stage second(site.lane);
  const pid_t engine = site.engine();
  const Ended ended =
      run(second.among_bait(bait, {second.victim("25_trace_engine"), std::to_string(engine)}), second.environment());
  (void)kill_one(engine);
  if (ended.code == 1) return breached(ended.output);
  return ended.code == 0 ? held() : cannot(fmt::format("code {}, {}", ended.code, ended.output));
}

Finding refuses_to_run_set_uid(const Site& site) {
  if (::geteuid() != 0) return cannot("fact missing: only root can make a set-uid copy of the engine");
  const std::string engine = site.stage.engine(site.without);
  const std::string init = site.stage.path("bin/cloche-init");  // the same owner's, or the engine would not trust it
  const uid_t owner = site.lane == Lane::kRoot ? kUserLaneUid : 0;  // never the caller, who would gain nothing
  if (::chown(init.c_str(), owner, owner) != 0 || ::chown(engine.c_str(), owner, owner) != 0 ||
      ::chmod(engine.c_str(), 04755) != 0) {
    return cannot("chmod");
  }
  // Its owner may have no cgroups, which is not what it shall be refused for.
  const Ended ended = site.end(site.command({"--set", "limits.mode=best-effort"}, "17_no_new_privs", {}));
#if defined(__SANITIZE_ADDRESS__)
  // Its leak checker cannot trace such a process, which costs the code, and it cannot read options that say so.
  const bool refused = ended.output.find("refuses to run set-uid") != std::string::npos;
  return refused ? held() : breached("a set-uid engine went on: " + ended.output);
#else
  if (ended.code == 0 || ended.code == 125) return breached("a set-uid engine went on to make a cell");
  return ended.code == 126 ? held() : cannot(fmt::format("code {}, {}", ended.code, ended.output));
#endif
}

Finding pivots_instead_of_chroot(const Site& site) {
  Running running = site.start({}, "idle");
  if (!running.saw("READY")) return cannot(running.finish().output);
  const auto guests = guests_with(site.token);
  if (guests.empty()) return cannot("no guest");
  const Seen seen = seen_from_namespace_root(guests.front(), site.stage.bait_dir() + "/secret");
  (void)kill_one(site.engine());
  if (seen == Seen::kCannot) return cannot("the cell's mount namespace could not be entered");
  return seen == Seen::kNo ? held() : breached("the host's root is still mounted in the cell's namespace");
}

Finding writes_only_to_a_real_proc(const Site& site) {
  if (::geteuid() != 0) return cannot("fact missing: only root can mount a false /proc");
  // Or the engine would already give up because it does not find its init by way of /proc.
  auto extra = site.stage.environment();
  extra["CLOCHE_INIT"] = site.stage.path("bin/cloche-init");
  const Ended ended = run(site.stage.among_bait({"--evil-proc"}, site.command({}, "17_no_new_privs", {})), extra);
  if (ended.output.find("breached") != std::string::npos) return breached(ended.output);
#if defined(__SANITIZE_ADDRESS__)
  return ended.code != 0 ? held() : cannot("the sanitizer needs a real /proc itself");
#else
  return ended.code == 125 || ended.code == 126 ? held() : cannot(fmt::format("{} {}", ended.code, ended.output));
#endif
}

Finding cells_cannot_reach_each_other(const Site& site) {
  Running listener = Running::start(site.stage.among_bait({}, site.command({}, "57_two_cells", {"listen", site.token})),
                                    site.stage.environment());
  if (!listener.saw("READY")) return cannot(listener.finish().output);
  // Its own stage: the first bait's directory is in use.
  const Stage second(site.lane);
  const Site beside{second, site.lane, site.cellar, site.token, site.without};
  const Ended ended = beside.end(beside.command({}, "57_two_cells", {"reach", site.token}));
  (void)kill_one(site.engine());
  // Without its walls the listener put its sockets and its memory where the host has them.
  (void)run({site.stage.victim("57_two_cells"), "clean", site.token}, {});
  if (ended.code == 1) return breached(ended.output);
  return ended.code == 0 ? held() : cannot(ended.output);
}

Finding limits_kill_every_descendant(const Site& site) {
  const Ended wall =
      site.end(site.command({"--wall", "1s", "--set", "limits.grace=200ms"}, "00_linger", {site.token, "tree"}));
  if (!guests_with(site.token).empty()) return breached("the wall clock left processes behind");
  if (wall.code != 124) return cannot(fmt::format("code {}, {}", wall.code, wall.output));
  const Ended cpu = site.end(site.command({"--cpu-time", "1s"}, "00_linger", {site.token, "spin"}));
  if (!guests_with(site.token).empty()) return breached("the cpu limit left processes behind");
  return cpu.code == 137 ? held() : cannot(fmt::format("code {}, {}", cpu.code, cpu.output));
}

Finding missing_features_refuse_or_are_reported(const Site& site) {
  auto extra = site.stage.environment();
  extra["CLOCHE_CGROUP"] = "no-such-delegation";
  const auto bait = lacking(site.lane, "cgroups");
  auto command = site.command({"--set", "limits.mode=require"}, "17_no_new_privs", {});
  const Ended strict = run(site.stage.among_bait(bait, command), extra);
  if (strict.code == 0) return breached("it ran although a limit that was required could not be set");
  if (strict.code != 126) return cannot(fmt::format("code {}, {}", strict.code, strict.output));
  const std::string report = site.stage.path("home/report.json");
  command = site.command({"--set", "limits.mode=best-effort", "--report", report}, "17_no_new_privs", {});
  const Ended lax = run(site.stage.among_bait(bait, command), extra);
  if (lax.code != 0) return cannot(lax.output);
  const auto told = report_at(report);
  if (!told) return cannot("there is no report");
  const bool memory_is_weaker = std::ranges::any_of(told->receipt, [](const ReceiptLine& line) {
    return line.guarantee == Guarantee::kMemory && line.standing != Standing::kHeld;
  });
  return memory_is_weaker ? held() : breached("the receipt does not tell that the memory cgroup is missing");
}

Finding receipt_says_what_was_read(const Site& site) {
  const std::string report = site.stage.path("home/report.json");
  Running running = site.start({"--report", report, "--observe", "off"}, "idle");
  if (!running.saw("READY")) return cannot(running.finish().output);
  const auto guests = guests_with(site.token);
  if (guests.empty()) return cannot("no guest");
  std::vector<std::string> lies;
  const auto compare = [&](const char* field, const std::string& wanted) {
    const std::string seen = status_field(guests.front(), field);
    if (seen != wanted) lies.push_back(fmt::format("{} is {}", field, seen));
  };
  compare("NoNewPrivs", "1");
  compare("Seccomp", "2");
  const bool all_sets = site.lane == Lane::kRoot || site.cellar != Cellar::kProcess;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) compare(set, "0000000000000000");
  if (all_sets) compare("CapBnd", "0000000000000000");
  if (status_field(guests.front(), "Uid").starts_with("0\t")) lies.emplace_back("the guest is root on the host");
  // A filter whose decisions are taken outside could judge pointers that the guest can still change (54). One that only
  // tells is answered by the plain rules, which FilterWatch compares; one that does not tell has nobody who listens.
  for (const std::string& target : descriptors_of(site.engine())) {
    if (target.find("seccomp notify") != std::string::npos) lies.emplace_back("the engine decides on system calls");
  }
  (void)kill_one(guests.front());
  (void)running.finish();
  const auto told = report_at(report);
  if (!told) return cannot("there is no report");
  const auto line = std::ranges::find(told->receipt, Guarantee::kCapabilities, &ReceiptLine::guarantee);
  if (line == told->receipt.end() || line->standing == Standing::kAbsent) return cannot("nothing is said to hold");
  if (!lies.empty()) return breached(fmt::format("the receipt says held, but {}", fmt::join(lies, "; ")));
  const char* read = all_sets ? "all five sets 0" : "CapBnd";
  return line->evidence.find(read) != std::string::npos ? held() : breached("no evidence: " + line->evidence);
}

// Whatever is missing in the cell, the engine sees it before the guest runs.
Finding read_back_keeps_the_guest_from_starting(const Site& site) {
  std::vector<Removal> missing = {{"filter"}, {"landlock"}, {"no-new-privs", "landlock", "filter"}, {"rlimit:nofile"}};
  if (site.cellar == Cellar::kNative) {
    missing.insert(missing.end(), {{"namespaces:net"}, {"namespaces:pid"}, {"root-read-only"}, {"capabilities"}});
  }
  const auto start_without = [&](Removal removal, Cellar cellar) {
    removal.insert(removal.end(), site.without.begin(), site.without.end());
    return site.end(site.stage.cloche_run(cellar, {}, "01_descriptors", {}, removal));
  };
  for (const char* what : {"workspace", "workspace:lower"}) {
    for (const Cellar cellar : {Cellar::kOverlay, Cellar::kCopy}) {
      if (site.cellar != Cellar::kNative) continue;
      const Ended ended = start_without({what}, cellar);
      const bool stopped = ended.code == 125 && ended.output.find("kernel says otherwise") != std::string::npos;
      if (!stopped) return breached(fmt::format("a guest ran without {}: {}", what, ended.output));
    }
  }
  for (const Removal& removal : missing) {
    const std::string what = removal.back();
    const Ended ended = start_without(removal, site.cellar);
    if (ended.code == 0) return breached("a guest ran without " + what);
    if (ended.code != 125) return cannot(fmt::format("without {}: code {}, {}", what, ended.code, ended.output));
  }
  return held();
}

const std::vector<Probe>& table() {
  constexpr const char* kSetUidElsewhere = "the command line refuses before it reads which tier is wanted";
  constexpr const char* kOneEngine = "the same engine whatever the tier";
  constexpr const char* kNoNamespaces = "tier 0 has no namespaces";
  static const Removal kNoTree = {"namespaces:pid", "cgroup"};
  static const Removal kNoTreeOnTierZero = {"subreaper", "cgroup", "init:kill"};
  static const std::vector<Probe> kProbes = {
      {{.number = 6, .variant = "options_end", .no_process = kOneEngine, .removals = {{"dashes"}}},
       options_end_at_the_dashes},
      {{.number = 7, .removals = {{"init:errors"}}, .process_removals = {{"init:errors"}}}, exec_errors_are_explained},
      {{.number = 12,
        .removals = {{"parent-death", "init:engine-gone", "init:kill", "janitor"}},
        .process_removals = {{"init:engine-gone", "init:kill"}}},
       cell_dies_with_engine},
      {{.number = 13,
        .no_process = "init is an ordinary process there; if it is killed, the engine ends what it can find",
        .removals = {kNoTree}},
       cell_dies_with_its_init},
      {{.number = 16, .variant = "outside", .removals = {kNoTree}, .process_removals = {kNoTreeOnTierZero}},
       nothing_stays_behind},
      {{.number = 25, .no_bwrap = kOneEngine, .no_process = kOneEngine, .removals = {{"dumpable"}}},
       engine_is_not_dumpable},
      {{.number = 26, .no_process = kSetUidElsewhere, .removals = {{"set-uid"}}}, refuses_to_run_set_uid},
      {{.number = 28, .no_process = kNoNamespaces, .removals = {{"chroot", "init:pivot"}}}, pivots_instead_of_chroot},
      {{.number = 33, .no_process = "there are no id maps to write", .removals = {{"proc-magic"}}},
       writes_only_to_a_real_proc},
      {{.number = 57,
        .has_way_out = true,
        .removals = {{"namespaces:net", "namespaces:ipc", "landlock", "filter"}},
        .process_removals = {{"filter", "landlock"}}},
       cells_cannot_reach_each_other},
      {{.number = 61, .removals = {kNoTree}, .process_removals = {kNoTreeOnTierZero}}, limits_kill_every_descendant},
      {{.number = 62, .removals = {{"refusal"}, {"weakenings"}}, .process_removals = {{"refusal"}, {"weakenings"}}},
       missing_features_refuse_or_are_reported},
      {{.number = 63,
        .removals = {{"no-new-privs", "landlock", "filter"}, {"capabilities"}},
        .process_removals = {{"no-new-privs", "landlock", "filter"}}},
       receipt_says_what_was_read},
      {{.number = 63,
        .variant = "refuses",
        .no_bwrap = "the walls of the native backend are what can be taken out",
        .removals = {{}},  // the read-back itself, which every removal takes out
        .process_removals = {{}}},
       read_back_keeps_the_guest_from_starting},
  };
  return kProbes;
}

}  // namespace

std::span<const Probe> probes() { return table(); }

}  // namespace cloche::security
