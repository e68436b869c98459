#include "report/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/base64.h"
#include "report/outcome_info.h"
#include "report/utf8.h"

namespace cloche {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order of the documentation

// A clock that stepped back must not produce a document that its own schema refuses.
template <typename Duration>
std::int64_t count_of(Duration value) {
  return std::max<std::int64_t>(value.count(), 0);
}

Json measured(std::uint64_t value) { return value == 0 ? Json(nullptr) : Json(value); }

Json outcome_json(const Outcome& outcome) {
  const std::string_view limit = info(outcome.kind).limit;
  return {
      {"kind", to_string(outcome.kind)},
      {"code", outcome.code},
      {"signal", outcome.signal},
      {"limit", limit.empty() ? Json(nullptr) : Json(limit)},
      {"message", outcome.message},
      {"step", outcome.step},
      {"hint", outcome.hint},
      {"exit_code", exit_code(outcome)},
  };
}

Json usage_json(const Usage& usage) {
  return {
      {"wall_ms", count_of(usage.wall)},
      {"cpu_user_us", count_of(usage.cpu_user)},
      {"cpu_system_us", count_of(usage.cpu_system)},
      {"memory_peak_bytes", measured(usage.memory_peak.count)},
      {"pids_peak", measured(usage.pids_peak)},
      {"forks_refused", usage.forks_refused},
      {"oom_kills", usage.oom_kills},
      {"stdout_bytes", usage.stdout_bytes},
      {"stderr_bytes", usage.stderr_bytes},
  };
}

Json stream_json(const Stream& stream) {
  const bool text = valid_utf8(stream.tail);
  Json json = {
      {"tail", stream.tail},
      {"encoding", text ? "utf-8" : "base64"},
  };
  if (!text) json["tail_base64"] = to_base64(stream.tail);
  json["total"] = stream.total;
  json["truncated"] = stream.truncated;
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json = Json::object();
  json["version"] = kReportVersion;
  json["id"] = report.id;
  json["outcome"] = outcome_json(report.outcome);
  json["tier"] = report.tier;
  json["backend"] = report.backend;
  json["policy"] = report.policy;
  json["argv"] = report.argv;
  if (!std::all_of(report.argv.begin(), report.argv.end(), valid_utf8)) {
    Json& exact = json["argv_base64"] = Json::array();
    for (const std::string& arg : report.argv) exact.push_back(to_base64(arg));
  }
  Json& receipt = json["receipt"] = Json::array();
  for (const ReceiptLine& line : report.receipt) {
    receipt.push_back(Json::object({{"guarantee", to_string(line.guarantee)},
                                    {"standing", to_string(line.standing)},
                                    {"mechanism", line.mechanism},
                                    {"evidence", line.evidence}}));
  }
  json["weakenings"] = report.weakenings;
  json["lifecycle"] = report.lifecycle;
  json["usage"] = usage_json(report.usage);
  Json& denials = json["denials"] = Json::array();
  for (const Denial& denial : report.denials) {
    denials.push_back(Json::object({{"what", denial.what}, {"detail", denial.detail}, {"count", denial.count}}));
  }
  json["streams"] = Json::object({{"stdout", stream_json(report.out)}, {"stderr", stream_json(report.err)}});
  json["outputs"] = Json::array();
  Json& timing = json["timing"] = Json::array();
  for (const TimingStep& step : report.timing) {
    timing.push_back(Json::object({{"name", step.name}, {"took_us", count_of(step.took)}}));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace cloche
