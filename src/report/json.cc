#include "report/json.h"

#include <algorithm>

#include "base/base64.h"
#include "base/utf8.h"
#include "report/json_writer.h"
#include "report/outcome_info.h"

namespace cloche {
namespace {

// Keys come in the order of the documentation.

// A clock that stepped back must not produce a document that its own schema refuses.
template <typename Duration>
std::int64_t count_of(Duration value) {
  return std::max<std::int64_t>(value.count(), 0);
}

void measured(JsonWriter& json, std::string_view key, std::uint64_t value) {
  json.name(key);
  if (value == 0) {
    json.null();
  } else {
    json.value(value);
  }
}

void write(JsonWriter& json, const Outcome& outcome) {
  const std::string_view limit = limit_of(outcome);
  json.name("outcome").begin_object();
  json.member("kind", to_string(outcome.kind));
  json.member("code", outcome.code);
  json.member("signal", outcome.signal);
  json.name("limit");
  if (limit.empty()) {
    json.null();
  } else {
    json.value(limit);
  }
  json.member("message", outcome.message);
  json.member("step", outcome.step);
  json.member("hint", outcome.hint);
  json.member("exit_code", exit_code(outcome));
  json.end_object();
}

void write(JsonWriter& json, const Usage& usage) {
  json.name("usage").begin_object();
  json.member("wall_ms", count_of(usage.wall));
  json.member("cpu_user_us", count_of(usage.cpu_user));
  json.member("cpu_system_us", count_of(usage.cpu_system));
  measured(json, "memory_peak_bytes", usage.memory_peak.count);
  measured(json, "pids_peak", usage.pids_peak);
  json.member("forks_refused", usage.forks_refused);
  json.member("oom_kills", usage.oom_kills);
  json.member("stdout_bytes", usage.stdout_bytes);
  json.member("stderr_bytes", usage.stderr_bytes);
  json.end_object();
}

void write(JsonWriter& json, std::string_view key, const Stream& stream) {
  const bool text = valid_utf8(stream.tail);
  json.name(key).begin_object();
  json.member("tail", stream.tail);
  json.member("encoding", text ? "utf-8" : "base64");
  if (!text) json.member("tail_base64", to_base64(stream.tail));
  json.member("total", stream.total);
  json.member("truncated", stream.truncated);
  json.end_object();
}

void write(JsonWriter& json, const std::vector<std::string>& argv) {
  json.strings("argv", argv);
  if (std::ranges::all_of(argv, valid_utf8)) return;
  json.name("argv_base64").begin_array();
  for (const std::string& arg : argv) json.value(to_base64(arg));
  json.end_array();
}

void write(JsonWriter& json, const ReceiptLine& line) {
  json.begin_object();
  json.member("guarantee", to_string(line.guarantee));
  json.member("standing", to_string(line.standing));
  json.member("mechanism", line.mechanism);
  json.member("evidence", line.evidence);
  json.end_object();
}

void write(JsonWriter& json, const Denial& denial) {
  json.begin_object();
  json.member("what", denial.what);
  json.member("detail", denial.detail);
  json.member("count", denial.count);
  json.member("program", denial.program);
  json.member("allow", denial.allow);
  json.member("never", denial.never);
  json.end_object();
}

void write(JsonWriter& json, const TimingStep& step) {
  json.begin_object();
  json.member("name", step.name);
  json.member("took_us", count_of(step.took));
  json.end_object();
}

void write(JsonWriter& json, const Artifact& artifact) {
  json.begin_object();
  json.member("path", artifact.path);
  json.member("size", artifact.size);
  json.member("sha256", artifact.sha256);
  json.member("type", artifact.type);
  json.end_object();
}

void write(JsonWriter& json, const WorkspaceChanges& changes) {
  json.begin_object();
  json.member("path", changes.path);
  json.member("mode", changes.mode);
  json.member("added", changes.added);
  json.member("modified", changes.modified);
  json.member("deleted", changes.deleted);
  json.member("problem", changes.problem);
  json.end_object();
}

void write(JsonWriter& json, const Connection& connection) {
  json.begin_object();
  json.member("at_us", count_of(connection.at));
  json.member("via", to_string(connection.via));
  json.member("name", connection.name);
  json.member("address", connection.address);
  json.member("port", connection.port);
  json.member("verdict", to_string(connection.verdict));
  json.member("reason", connection.reason);
  json.member("bytes_in", connection.bytes_in);
  json.member("bytes_out", connection.bytes_out);
  json.member("took_us", count_of(connection.took));
  json.member("count", connection.count);
  json.end_object();
}

void write(JsonWriter& json, const Call& call) {
  json.begin_object();
  json.member("at_us", count_of(call.at));
  json.member("socket", call.socket);
  json.member("method", call.method);
  json.member("id", call.id);
  json.member("verdict", to_string(call.verdict));
  json.member("reason", call.reason);
  json.member("count", call.count);
  json.end_object();
}

void write(JsonWriter& json, const GrantChange& change) {
  json.begin_object();
  json.member("at_us", count_of(change.at));
  json.member("change", to_string(change.turn));
  json.member("what", change.what);
  json.member("text", change.text);
  json.member("by", change.by);
  if (change.lasts) json.member("for_ms", count_of(*change.lasts));
  json.end_object();
}

template <typename T>
void write_all(JsonWriter& json, std::string_view key, const std::vector<T>& values) {
  json.name(key).begin_array();
  for (const T& value : values) write(json, value);
  json.end_array();
}

void write(JsonWriter& json, const NetworkUse& network) {
  json.name("network").begin_object();
  json.member("connections_total", network.connections_total);
  json.member("denied_total", network.denied_total);
  json.member("connections_lost", network.connections_lost);
  json.member("calls_total", network.calls_total);
  json.member("calls_denied_total", network.calls_denied_total);
  json.member("bytes_in", network.bytes_in);
  json.member("bytes_out", network.bytes_out);
  json.member("rate_waited_us", count_of(network.rate_waited));
  write_all(json, "connections", network.connections);
  write_all(json, "calls", network.calls);
  write_all(json, "changes", network.changes);
  json.end_object();
}

}  // namespace

std::string denials_json(const Report& report) {
  JsonWriter json;
  json.begin_object();
  json.member("id", report.id);
  write_all(json, "denials", report.denials);
  json.end_object();
  return std::move(json).take();
}

std::string to_json(const Report& report) {
  JsonWriter json;
  json.begin_object();
  json.member("version", kReportVersion);
  json.member("id", report.id);
  write(json, report.outcome);
  json.member("tier", report.tier);
  json.member("backend", report.backend);
  json.member("policy", report.policy);
  if (!report.observed.empty()) json.member("observed", report.observed);
  write(json, report.argv);
  write_all(json, "receipt", report.receipt);
  json.strings("weakenings", report.weakenings);
  json.strings("lifecycle", report.lifecycle);
  write(json, report.usage);
  write_all(json, "denials", report.denials);
  json.name("streams").begin_object();
  write(json, "stdout", report.out);
  write(json, "stderr", report.err);
  json.end_object();
  write_all(json, "outputs", report.outputs);
  write_all(json, "workspaces", report.workspaces);
  write_all(json, "timing", report.timing);
  if (report.network) write(json, *report.network);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace cloche
