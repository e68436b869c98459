// What every run pays before the first system call of the launch: probing, parsing, planning, compiling, encoding.
#include <benchmark/benchmark.h>

#include "filter/filter.h"
#include "host/probe.h"
#include "launch/encode.h"
#include "plan/plan.h"
#include "policy/parse.h"
#include "policy/presets.h"
#include "policy/print.h"

namespace cloche {
namespace {

Request echo_request() {
  Request request;
  request.argv = {"/bin/echo", "hi"};
  return request;
}

void probe_host(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(probe_fast());
}
BENCHMARK(probe_host);

void parse_policy_file(benchmark::State& state) {
  const std::string text = to_toml(*preset("untrusted"));
  for (auto _ : state) benchmark::DoNotOptimize(parse_policy(text, "policy.toml"));
}
BENCHMARK(parse_policy_file);

void compile_filter(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(filter::compile(filter::rules(filter::native_arch(), {}), filter::native_arch()));
  }
}
BENCHMARK(compile_filter);

// Growth with the number of grants: must be linear.
void plan_with_grants(benchmark::State& state) {
  HostFacts host = probe_fast();
  host.init = "/cloche-init";
  Policy policy = *preset("untrusted");
  policy.limits.mode = LimitsMode::kBestEffort;
  for (std::int64_t i = 0; i < state.range(0); ++i) policy.files.read.push_back("/data/" + std::to_string(i));
  const Request request = echo_request();
  for (auto _ : state) {
    auto plan = make_plan(policy, request, host);
    if (!plan) {
      state.SkipWithError(plan.error().text().c_str());
      break;
    }
    benchmark::DoNotOptimize(encode(*plan, {}));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(plan_with_grants)->RangeMultiplier(10)->Range(1, 1000)->Complexity();

}  // namespace
}  // namespace cloche
