// bench_embed INIT BARE ROUNDS PROGRAM…: from the library's call to the result, interleaved with posix_spawn of the
// same program, and with BARE (bare.c, or "-") for what the kernel alone takes. Prints "latency WAY PROGRAM
// MICROSECONDS" for each run alone and "rate WAY PROGRAM RUNS_PER_SECOND" for each burst of 64 runs, 8 at a time; at
// the end "cells WAY PROGRAM COLD,BLANK,PARKED": where they came from. A PROGRAM that begins with "grant:" is granted
// for execution; the others are below /usr, where a cell finds them anyhow. The way "release" is the part of "parked"
// from the moment in which the cell is let go, by the report; "reused" is a rate alone, of BARE with --reuse.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/interrupt.h"
#include "cloche/cloche.h"

extern "C" char** environ;

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kAtOnce = 8;
constexpr unsigned kRunsOfEach = 8;
constexpr unsigned kRoundsPerBurst = 10;
// After each measurement: what the one before left to do (namespaces, the keeper's next cells) is not the next one's.
constexpr auto kSettle = std::chrono::milliseconds(12);
constexpr auto kSettleAfterBurst = std::chrono::milliseconds(120);

// Where the cells of a row came from: a keeper whose stock is empty does not make anybody wait.
struct Origins {
  std::atomic<unsigned> cold = 0, blank = 0, parked = 0;
  std::atomic<double> released = 0;  // microseconds from release to reaped, of the last parked one

  static double step(const std::string& report, const std::string& name) {
    const auto at = report.find("\"name\": \"" + name + "\"");
    const auto took = at == std::string::npos ? at : report.find("took_us\": ", at);
    return took == std::string::npos ? 0 : std::atof(report.c_str() + took + 10);
  }
  void count(const std::string& report) {
    const bool taken = report.find(R"("take")") != std::string::npos;
    const bool furnished = report.find(R"("mounts")") == std::string::npos;
    ++(!taken ? cold : furnished ? parked : blank);
    released = taken && furnished ? step(report, "exec") + step(report, "guest") + step(report, "reap") : 0;
  }
};

struct Row {
  std::string way;
  std::string program;
  std::function<bool()> run;  // once; nothing where there is a rate alone
  std::shared_ptr<Origins> origins;
  std::function<double()> burst = {};  // runs per second of a program that counts by itself
};

bool spawn_and_reap(std::vector<std::string> words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  char** argv = list.data();
  pid_t pid = -1;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv, environ) != 0) return false;
  int status = -1;
  return ::waitpid(pid, &status, 0) == pid && status == 0;
}

bool run_in_cell(cloche::Runtime& runtime, const cloche::PolicyHandle& policy, const std::string& path,
                 Origins& origins) {
  const cloche::RunResult result = runtime.run(policy, {.argv = {path}});
  if (!result.ok()) std::fprintf(stderr, "bench_embed: %s: %s\n", result.outcome.c_str(), result.message.c_str());
  origins.count(result.report);
  return result.ok();
}

// What a bare launcher says of its own runs; 0 where it says nothing.
double rate_of_reused(const std::string& bare, const std::string& path) {
  const std::string command =
      bare + " --reuse " + std::to_string(kAtOnce * kRunsOfEach) + " " + std::to_string(kAtOnce) + " " + path;
  double rate = 0;
  FILE* out = ::popen(command.c_str(), "r");
  if (out == nullptr) return 0;
  if (std::fscanf(out, "rate %lf", &rate) != 1) rate = 0;
  return ::pclose(out) == 0 ? rate : 0;
}

struct Way {
  const char* name;
  cloche::RuntimeOptions options;
  std::unique_ptr<cloche::Runtime> runtime = {};
};

std::vector<Way> make_ways(const std::string& init) {
  std::vector<Way> ways;
  ways.push_back({"cold", {.init_path = init}});
  ways.push_back({"blank", {.init_path = init, .keeper = true, .keeper_parked = 0}});
  ways.push_back({"parked", {.init_path = init, .keeper = true}});
  for (Way& way : ways) {
    auto made = cloche::Runtime::create(way.options);
    if (!made) {
      std::fprintf(stderr, "bench_embed: %s: %s\n", way.name, made.error().c_str());
      return {};
    }
    way.runtime = std::move(*made);
  }
  return ways;
}

// False where a program has no policy.
bool add_rows(std::vector<Row>& rows, const std::vector<Way>& ways, const std::string& bare, const std::string& word) {
  constexpr std::string_view kGrant = "grant:";
  const bool granted = word.starts_with(kGrant);
  const std::string path = granted ? word.substr(kGrant.size()) : word;
  cloche::PolicyBuilder builder("untrusted");
  if (granted) builder.exec(path);
  if (::geteuid() != 0) builder.limit("mode", "best-effort");
  auto policy = builder.build();
  if (!policy) {
    std::fprintf(stderr, "bench_embed: %s\n", policy.error().c_str());
    return false;
  }
  rows.push_back({"posix_spawn", word, [path] { return spawn_and_reap({path}); }, nullptr});
  // It grants nothing.
  if (bare != "-" && !granted) {
    rows.push_back({"bare", word, [bare, path] { return spawn_and_reap({bare, path}); }, nullptr});
    rows.push_back({"reused", word, {}, nullptr, [bare, path] { return rate_of_reused(bare, path); }});
  }
  for (const Way& way : ways) {
    auto origins = std::make_shared<Origins>();
    rows.push_back({way.name, word,
                    [&runtime = *way.runtime, policy = *policy, path, origins] {
                      return run_in_cell(runtime, policy, path, *origins);
                    },
                    origins});
  }
  return true;
}

bool measure_latency(const Row& row) {
  if (!row.run) return true;
  const auto start = Clock::now();
  const bool fine = row.run();
  const double took = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (fine) std::printf("latency %s %s %.1f\n", row.way.c_str(), row.program.c_str(), took);
  if (fine && row.way == "parked" && row.origins->released > 0) {
    std::printf("latency release %s %.1f\n", row.program.c_str(), row.origins->released.load());
  }
  std::this_thread::sleep_for(kSettle);
  return fine;
}

// Runs per second, 8 at a time; 0 if one failed.
double burst_of(const Row& row) {
  if (row.burst) return row.burst();
  std::vector<char> fine(kAtOnce, 1);
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kAtOnce; ++i) {
      threads.emplace_back([&row, &mine = fine[i]] {
        for (unsigned n = 0; n < kRunsOfEach && mine != 0; ++n) mine = row.run() ? 1 : 0;
      });
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  return std::ranges::all_of(fine, [](char one) { return one != 0; }) ? kAtOnce * kRunsOfEach / took : 0;
}

bool measure_rate(const Row& row) {
  const double rate = burst_of(row);
  if (rate > 0) std::printf("rate %s %s %.1f\n", row.way.c_str(), row.program.c_str(), rate);
  std::this_thread::sleep_for(kSettleAfterBurst);
  return rate > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  if (words.size() < 5) {
    std::fputs("usage: bench_embed INIT BARE|- ROUNDS PROGRAM...\n", stderr);
    return 2;
  }
  const Interrupt interrupt;
  const int rounds = std::atoi(words[3]);
  const std::vector<Way> ways = make_ways(words[1]);
  if (ways.empty()) return 1;
  std::vector<Row> rows;
  for (const char* program : words.subspan(4)) {
    if (!add_rows(rows, ways, words[2], program)) return 1;
  }
  // A policy gets parked cells when it was used twice; the first runs are not measured.
  for (const Row& row : rows) {
    for (int i = 0; i < 3 && row.run && !interrupt.seen(); ++i) {
      if (!row.run()) return 1;
      std::this_thread::sleep_for(kSettle);
    }
  }
  std::mt19937 chance(std::random_device{}());
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(rows, chance);
    for (const Row& row : rows) {
      if (interrupt.seen()) return 130;
      if (!measure_latency(row)) return 1;
    }
    if (round % kRoundsPerBurst != 0) continue;
    for (const Row& row : rows) {
      if (interrupt.seen()) return 130;
      if (!measure_rate(row)) return 1;
    }
  }
  for (const Row& row : rows) {
    if (!row.origins) continue;
    const Origins& from = *row.origins;
    std::printf("cells %s %s %u,%u,%u\n", row.way.c_str(), row.program.c_str(), from.cold.load(), from.blank.load(),
                from.parked.load());
  }
  return 0;
}
