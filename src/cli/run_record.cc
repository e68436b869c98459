#include "cli/run_record.h"

#include <utility>

#include "engine/left_behind.h"
#include "store/collect.h"

namespace cloche::cli {
namespace {

bool is_off(const Parsed& parsed, const Environment& env) {
  const auto found = env.find("CLOCHE_RECORD");
  return parsed.has("--no-record") || (found != env.end() && found->second == "0");
}

}  // namespace

void RunRecord::arm(const Environment& env, const std::string& id, const Policy& policy) {
  for (const char* name : {"CLOCHE_STATE_DIR", "XDG_STATE_HOME", "HOME", "CLOCHE_RECORD", "CLOCHE_KEEP_AGE",
                           "CLOCHE_KEEP_SIZE", "CLOCHE_KEEP_RUNS"}) {
    if (const auto found = env.find(name); found != env.end()) env_.insert(*found);
  }
  id_ = id;
  facts_ = {parsed_->operands, policy.name, std::string(to_string(policy.tier))};
  armed_ = !is_off(*parsed_, env_);
}

Status RunRecord::try_begin(Need need) {
  CLOCHE_TRY_ASSIGN(place_, store::choose_place(env_));
  if (need == Need::kNone) {
    CLOCHE_TRY_ASSIGN(plain_, store::PlainRecord::begin(place_, id_, facts_));
  } else {
    CLOCHE_TRY_ASSIGN(record_, store::Record::begin(place_, id_, facts_));
  }
  return {};
}

Status RunRecord::begin(Need need) {
  must_ = must_ || need == Need::kMust;
  if (record_) return {};
  if (need == Need::kMust && !armed_) {
    return fail(ErrorCode::kInvalidInput, "record", "this run keeps something, and records are switched off",
                "leave out --no-record, and CLOCHE_RECORD=0");
  }
  if (!armed_) return {};
  // Whoever must have one is told why there is none, also when it was tried before.
  if (std::exchange(tried_, true) && need != Need::kMust) return {};
  const Status begun = try_begin(need);
  return need == Need::kMust ? begun : Status{};
}

Status RunRecord::finish(const Report& report, std::string_view json, std::optional<std::vector<std::string>> keeps) {
  // A run that never started has a record, too: it says why.
  (void)begin(Need::kNone);
  if (!record_ && !plain_) return {};
  // On a full disk it stays without an end, and counts as crashed: what it is for whoever looks for its report.
  const store::RunEnd end{std::string(to_string(report.outcome.kind)), exit_code(report.outcome), std::move(keeps)};
  const Status finished = record_ ? record_->finish(end, json) : plain_->finish(end, json);
  record_.reset();
  plain_.reset();
  store::collect_if_due(place_, env_, sweep_of_host());
  return must_ ? finished : Status{};
}

}  // namespace cloche::cli
