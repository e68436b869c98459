// Reports for the tests of this room: one that looks like a real run, and any number of random ones.
#pragma once

#include <random>
#include <string>

#include "report/report.h"

namespace cloche::samples {

using Random = std::mt19937_64;

inline std::uint64_t below(Random& random, std::uint64_t n) { return random() % n; }

inline std::string random_bytes(Random& random, std::size_t at_most) {
  std::string out(below(random, at_most + 1), '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Valid UTF-8 with everything in it that JSON and terminals treat specially.
inline std::string random_text(Random& random, std::size_t at_most) {
  static constexpr std::string_view kParts[] = {"a",
                                                "Z",
                                                "\"",
                                                "\\",
                                                "/",
                                                "\n",
                                                "\r",
                                                "\t",
                                                "\x1b[31m",
                                                "\a",
                                                std::string_view("\0", 1),
                                                "\x7f",
                                                "\u0085",
                                                "\u009b31m",
                                                "é",
                                                "日本",
                                                "\U0001f600",
                                                "\u202e",
                                                "\u2028",
                                                "\ufeff",
                                                "\ufffd",
                                                "{",
                                                "}",
                                                "</script>",
                                                "'",
                                                " "};
  std::string out;
  for (std::uint64_t i = below(random, at_most + 1); i > 0; --i) out += kParts[below(random, std::size(kParts))];
  return out;
}

inline std::string random_output(Random& random) {
  return below(random, 2) == 0 ? random_text(random, 40) : random_bytes(random, 80);
}

inline std::uint64_t random_count(Random& random) { return random() >> below(random, 64); }

template <typename Duration>
Duration random_duration(Random& random) {
  return Duration(static_cast<typename Duration::rep>(random_count(random) >> 1));
}

inline Report random_report(Random& random) {
  Report r;
  r.id = random_text(random, 8);
  r.outcome = {static_cast<OutcomeKind>(below(random, kOutcomeKindCount)),
               static_cast<int>(below(random, 256)),
               static_cast<int>(below(random, 65)),
               random_text(random, 20),
               random_text(random, 5),
               random_text(random, 20)};
  if (r.outcome.kind == OutcomeKind::kNetwork)
    r.outcome.network_limit = kNetworkLimits[below(random, kNetworkLimits.size())];
  r.tier = random_text(random, 3);
  r.backend = random_text(random, 3);
  r.policy = random_text(random, 3);
  r.observed = random_text(random, 3);
  for (auto n = below(random, 4); n > 0; --n) r.argv.push_back(random_output(random));
  for (auto n = below(random, 6); n > 0; --n) {
    r.receipt.push_back({static_cast<Guarantee>(below(random, kGuaranteeCount)),
                         static_cast<Standing>(below(random, kStandingCount)), random_text(random, 30),
                         random_text(random, 60)});
  }
  for (auto n = below(random, 3); n > 0; --n) r.weakenings.push_back(random_text(random, 20));
  for (auto n = below(random, 6); n > 0; --n) r.lifecycle.push_back(random_text(random, 4));
  using std::chrono::microseconds;
  r.usage.wall = random_duration<Millis>(random);
  r.usage.cpu_user = random_duration<microseconds>(random) / 2;
  r.usage.cpu_system = random_duration<microseconds>(random) / 2;
  r.usage.memory_peak = {random_count(random)};
  r.usage.pids_peak = random_count(random);
  r.usage.forks_refused = random_count(random);
  r.usage.oom_kills = random_count(random);
  r.usage.stdout_bytes = random_count(random);
  r.usage.stderr_bytes = random_count(random);
  for (auto n = below(random, 3); n > 0; --n) {
    r.denials.push_back({random_text(random, 4), random_text(random, 10), random_count(random), random_text(random, 6),
                         random_text(random, 12), random_text(random, 12)});
  }
  r.out = {random_output(random), random_count(random), below(random, 2) == 0};
  r.err = {random_output(random), random_count(random), below(random, 2) == 0};
  for (auto n = below(random, 3); n > 0; --n) {
    r.outputs.push_back({random_text(random, 9), random_count(random), random_text(random, 3), random_text(random, 3)});
    r.workspaces.push_back({random_text(random, 9), random_text(random, 3), random_count(random), random_count(random),
                            random_count(random), random_text(random, 9)});
  }
  for (auto n = below(random, 4); n > 0; --n) {
    r.timing.push_back({random_text(random, 4), random_duration<microseconds>(random)});
  }
  if (below(random, 2) == 0) {
    NetworkUse use;
    for (auto n = below(random, 3); n > 0; --n) {
      use.connections.push_back(
          {random_duration<microseconds>(random), static_cast<Via>(below(random, kViaCount)), random_text(random, 6),
           random_text(random, 3), static_cast<std::uint16_t>(below(random, 65536)),
           static_cast<Verdict>(below(random, kVerdictCount)), random_text(random, 6), random_count(random),
           random_count(random), random_duration<microseconds>(random), random_count(random)});
      use.calls.push_back({random_duration<microseconds>(random), random_text(random, 3), random_text(random, 3),
                           random_text(random, 3), static_cast<Verdict>(below(random, kVerdictCount)),
                           random_text(random, 3), random_count(random)});
      use.changes.push_back({random_duration<microseconds>(random),
                             static_cast<GrantChange::Turn>(below(random, kGrantTurnCount)), random_text(random, 3),
                             random_text(random, 3), random_text(random, 3),
                             below(random, 2) == 0 ? std::optional<std::chrono::milliseconds>()
                                                   : random_duration<std::chrono::milliseconds>(random)});
    }
    use.connections_total = random_count(random);
    use.denied_total = random_count(random);
    use.calls_total = random_count(random);
    use.calls_denied_total = random_count(random);
    use.bytes_in = random_count(random);
    use.bytes_out = random_count(random);
    use.connections_lost = random_count(random);
    use.rate_waited = random_duration<microseconds>(random);
    r.network = std::move(use);
  }
  return r;
}

// The example of docs/report.md.
inline Report example() {
  using std::chrono::microseconds;
  Report r;
  r.id = "r-7f3a9c";
  r.outcome.kind = OutcomeKind::kWall;
  r.outcome.signal = 15;
  r.tier = "namespace";
  r.backend = "native";
  r.policy = "untrusted";
  r.observed = "files";
  r.argv = {"/usr/bin/python3", "loop.py"};
  r.receipt = {
      {Guarantee::kCapabilities, Standing::kHeld, "capset, bounding set, securebits", "CapBnd 0000000000000000"},
      {Guarantee::kNetwork, Standing::kHeld, "network namespace", "net:[4026532301], interfaces: lo down"},
      {Guarantee::kPids, Standing::kHeld, "cgroup v1 pids", "pids.max = 64"},
      {Guarantee::kCpuShare, Standing::kWeakened, "scheduler affinity only", "1 cpu of 8"},
  };
  r.weakenings = {"limits.mode is best-effort and this host has no writable cpu controller"};
  r.lifecycle = {"prepare", "start", "run", "time-out", "drain", "dispose"};
  r.usage = {Millis(10'004), microseconds(9'612'000), microseconds(201'000), mebibytes(9), 2, 3, 0, 12, 0};
  r.denials = {{"limit", "fork refused by limits.pids", 3}};
  r.out = {"working ...\n", 12, false};
  r.outputs = {{"/work/out/plot.png", 20'480, std::string(64, 'a'), "image/png"}};
  r.workspaces = {{"/home/me/project", "overlay", 2, 1, 0, ""}};
  r.timing = {{"spawn", microseconds(210)},
              {"namespaces", microseconds(190)},
              {"mounts", microseconds(800)},
              {"guest", microseconds(10'001'200)}};
  r.network = NetworkUse{{{microseconds(41'000), Via::kProxy, "api.example.org", "192.0.2.7", 443, Verdict::kAllowed,
                           "api.example.org:443", 5120, 610, microseconds(88'000), 1},
                          {microseconds(150'000), Via::kDns, "evil.example", "", 0, Verdict::kDenied,
                           "no rule allows it", 0, 0, microseconds(0), 2}},
                         {{microseconds(90'000), "/run/hero/a/rpc.sock", "flow.write", "7", Verdict::kDenied,
                           "the method is not allowed", 1}},
                         3,
                         2,
                         1,
                         1,
                         5120,
                         610,
                         {{microseconds(30'000), GrantChange::Turn::kGranted, "host", "api.example.org:443", "uid 1000",
                           std::chrono::minutes(10)}}};
  return r;
}

}  // namespace cloche::samples
