#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "report/json.h"
#include "report/text.h"

namespace cloche {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kStep = "report";
constexpr std::string_view kHint = "docs/report.schema.json describes every key";

// A place in the document. The first thing that is wrong anywhere is kept; from then on every read gives a default.
class Place {
 public:
  Place(const Json* node, std::string path, std::optional<Error>& error)
      : node_(node), path_(std::move(path)), error_(&error) {}

  bool has(const char* key) const { return node_ != nullptr && node_->is_object() && node_->contains(key); }

  Place at(const char* key) const {
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (node_ == nullptr) return {nullptr, path, *error_};
    if (!node_->is_object()) {
      expected("an object");
      return {nullptr, path, *error_};
    }
    const auto found = node_->find(key);
    if (found == node_->end()) {
      keep(fmt::format("key {} is missing", path));
      return {nullptr, path, *error_};
    }
    return {&*found, path, *error_};
  }

  std::string text() const {
    if (node_ == nullptr) return {};
    if (!node_->is_string()) return expected("a string"), std::string();
    return node_->get_ref<const std::string&>();
  }

  // Of a key that came later.
  std::string text_or_empty(const char* key) const { return has(key) ? at(key).text() : std::string(); }

  std::string text_or_null() const { return node_ != nullptr && node_->is_null() ? std::string() : text(); }

  bool flag() const {
    if (node_ == nullptr) return false;
    if (!node_->is_boolean()) return expected("true or false"), false;
    return node_->get<bool>();
  }

  template <std::integral T>
  T number(T least = std::numeric_limits<T>::min()) const {
    if (node_ == nullptr) return 0;
    std::optional<T> value;
    if (node_->is_number_unsigned()) {
      if (const auto raw = node_->get<std::uint64_t>(); std::in_range<T>(raw)) value = static_cast<T>(raw);
    } else if (node_->is_number_integer()) {
      if (const auto raw = node_->get<std::int64_t>(); std::in_range<T>(raw)) value = static_cast<T>(raw);
    }
    if (!value || *value < least) {
      expected(fmt::format("a whole number from {} to {}", least, std::numeric_limits<T>::max()));
      return 0;
    }
    return *value;
  }

  template <typename Duration>
  Duration duration() const {
    return Duration(number<typename Duration::rep>(0));
  }

  std::uint64_t measured() const { return node_ != nullptr && node_->is_null() ? 0 : number<std::uint64_t>(); }

  template <typename T>
  T word(std::optional<T> (*parse)(std::string_view)) const {
    const std::string name = text();
    if (node_ == nullptr || !node_->is_string()) return T{};
    const std::optional<T> value = parse(name);
    if (!value) keep(fmt::format("{} has the unknown value \"{}\"", path_, fit(printable(name), 40)));
    return value.value_or(T{});
  }

  std::string bytes() const {
    const std::string encoded = text();
    std::optional<std::string> value = from_base64(encoded);
    if (!value) expected("base64 text");
    return std::move(value).value_or(std::string());
  }

  template <typename T, typename Read>
  std::vector<T> list(Read read) const {
    std::vector<T> out;
    if (node_ == nullptr) return out;
    if (!node_->is_array()) return expected("a list"), out;
    out.reserve(node_->size());
    for (std::size_t i = 0; i < node_->size() && !error_->has_value(); ++i) {
      out.push_back(read(Place(&(*node_)[i], fmt::format("{}[{}]", path_, i), *error_)));
    }
    return out;
  }

  void keep(std::string message) const {
    if (error_->has_value()) return;
    *error_ = Error{ErrorCode::kInvalidInput, std::string(kStep), 0, std::move(message), std::string(kHint)};
  }

 private:
  void expected(std::string_view what) const {
    keep(fmt::format("{} must be {}", path_.empty() ? "the document" : path_, what));
  }

  const Json* node_;
  std::string path_;
  std::optional<Error>* error_;
};

Outcome read_outcome(const Place& at) {
  Outcome outcome;
  outcome.kind = at.at("kind").word(outcome_kind_from);
  outcome.code = at.at("code").number<int>();
  outcome.signal = at.at("signal").number<int>();
  outcome.message = at.at("message").text();
  outcome.step = at.at("step").text();
  outcome.hint = at.at("hint").text();
  // Which of several limits it was is only there; another limit, and exit_code, follow from the kind: what the document
  // says of them is not believed.
  if (outcome.kind != OutcomeKind::kNetwork) return outcome;
  const std::string limit = at.at("limit").text_or_null();
  // Earlier versions name the table that it is in.
  if (std::ranges::find(kNetworkLimits, limit) != kNetworkLimits.end()) outcome.network_limit = limit;
  return outcome;
}

Usage read_usage(const Place& at) {
  Usage usage;
  usage.wall = at.at("wall_ms").duration<Millis>();
  usage.cpu_user = at.at("cpu_user_us").duration<std::chrono::microseconds>();
  usage.cpu_system = at.at("cpu_system_us").duration<std::chrono::microseconds>();
  usage.memory_peak = Bytes{at.at("memory_peak_bytes").measured()};
  usage.pids_peak = at.at("pids_peak").measured();
  usage.forks_refused = at.at("forks_refused").number<std::uint64_t>();
  usage.oom_kills = at.at("oom_kills").number<std::uint64_t>();
  usage.stdout_bytes = at.at("stdout_bytes").number<std::uint64_t>();
  usage.stderr_bytes = at.at("stderr_bytes").number<std::uint64_t>();
  return usage;
}

Stream read_stream(const Place& at) {
  Stream stream;
  const std::string encoding = at.at("encoding").text();
  stream.tail = at.at("tail").text();
  if (encoding == "base64") {
    stream.tail = at.at("tail_base64").bytes();
  } else if (encoding != "utf-8") {
    at.keep("a stream's encoding must be utf-8 or base64");
  }
  stream.total = at.at("total").number<std::uint64_t>();
  stream.truncated = at.at("truncated").flag();
  return stream;
}

Connection read_connection(const Place& at) {
  Connection out;
  out.at = at.at("at_us").duration<std::chrono::microseconds>();
  out.via = at.at("via").word(via_from);
  out.name = at.at("name").text();
  out.address = at.at("address").text();
  out.port = at.at("port").number<std::uint16_t>();
  out.verdict = at.at("verdict").word(verdict_from);
  out.reason = at.at("reason").text();
  out.bytes_in = at.at("bytes_in").number<std::uint64_t>();
  out.bytes_out = at.at("bytes_out").number<std::uint64_t>();
  out.took = at.at("took_us").duration<std::chrono::microseconds>();
  out.count = at.at("count").number<std::uint64_t>();
  return out;
}

Call read_call(const Place& at) {
  Call out;
  out.at = at.at("at_us").duration<std::chrono::microseconds>();
  out.socket = at.at("socket").text();
  out.method = at.at("method").text();
  out.id = at.at("id").text();
  out.verdict = at.at("verdict").word(verdict_from);
  out.reason = at.at("reason").text();
  out.count = at.at("count").number<std::uint64_t>();
  return out;
}

GrantChange read_change(const Place& at) {
  GrantChange out;
  out.at = at.at("at_us").duration<std::chrono::microseconds>();
  out.turn = at.at("change").word(grant_turn_from);
  out.what = at.at("what").text();
  out.text = at.at("text").text();
  out.by = at.at("by").text();
  if (at.has("for_ms")) out.lasts = at.at("for_ms").duration<std::chrono::milliseconds>();
  return out;
}

NetworkUse read_network(const Place& at) {
  NetworkUse out;
  out.connections = at.at("connections").list<Connection>(read_connection);
  out.calls = at.at("calls").list<Call>(read_call);
  out.changes = at.at("changes").list<GrantChange>(read_change);
  out.connections_total = at.at("connections_total").number<std::uint64_t>();
  out.denied_total = at.at("denied_total").number<std::uint64_t>();
  out.calls_total = at.at("calls_total").number<std::uint64_t>();
  out.calls_denied_total = at.at("calls_denied_total").number<std::uint64_t>();
  out.bytes_in = at.at("bytes_in").number<std::uint64_t>();
  out.bytes_out = at.at("bytes_out").number<std::uint64_t>();
  // Reports of earlier versions have none.
  if (at.has("connections_lost")) out.connections_lost = at.at("connections_lost").number<std::uint64_t>();
  if (at.has("rate_waited_us")) out.rate_waited = at.at("rate_waited_us").duration<std::chrono::microseconds>();
  return out;
}

Report read_report(const Place& at) {
  const auto text = [](const Place& place) { return place.text(); };
  Report report;
  report.id = at.at("id").text();
  report.outcome = read_outcome(at.at("outcome"));
  report.tier = at.at("tier").text();
  report.backend = at.at("backend").text();
  report.policy = at.at("policy").text();
  report.observed = at.text_or_empty("observed");
  report.argv = at.at("argv").list<std::string>(text);
  if (at.has("argv_base64")) {
    report.argv = at.at("argv_base64").list<std::string>([](const Place& place) { return place.bytes(); });
  }
  report.receipt = at.at("receipt").list<ReceiptLine>([](const Place& line) {
    return ReceiptLine{line.at("guarantee").word(guarantee_from), line.at("standing").word(standing_from),
                       line.at("mechanism").text(), line.at("evidence").text()};
  });
  report.weakenings = at.at("weakenings").list<std::string>(text);
  report.lifecycle = at.at("lifecycle").list<std::string>(text);
  report.usage = read_usage(at.at("usage"));
  report.denials = at.at("denials").list<Denial>([](const Place& denial) {
    return Denial{
        denial.at("what").text(),        denial.at("detail").text(),    denial.at("count").number<std::uint64_t>(),
        denial.text_or_empty("program"), denial.text_or_empty("allow"), denial.text_or_empty("never")};
  });
  report.out = read_stream(at.at("streams").at("stdout"));
  report.err = read_stream(at.at("streams").at("stderr"));
  report.outputs = at.at("outputs").list<Artifact>([](const Place& file) {
    return Artifact{file.at("path").text(), file.at("size").number<std::uint64_t>(), file.at("sha256").text(),
                    file.at("type").text()};
  });
  // Reports of earlier versions have none.
  if (at.has("workspaces")) {
    report.workspaces = at.at("workspaces").list<WorkspaceChanges>([](const Place& changes) {
      return WorkspaceChanges{changes.at("path").text(),
                              changes.at("mode").text(),
                              changes.at("added").number<std::uint64_t>(),
                              changes.at("modified").number<std::uint64_t>(),
                              changes.at("deleted").number<std::uint64_t>(),
                              changes.at("problem").text()};
    });
  }
  report.timing = at.at("timing").list<TimingStep>([](const Place& step) {
    return TimingStep{step.at("name").text(), step.at("took_us").duration<std::chrono::microseconds>()};
  });
  if (at.has("network")) report.network = read_network(at.at("network"));
  return report;
}

}  // namespace

Result<Report> from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    return fail(ErrorCode::kInvalidInput, std::string(kStep), "this is not a JSON document",
                "give the file that --report wrote");
  }
  std::optional<Error> error;
  const Place root(&document, "", error);
  if (const auto version = root.at("version").number<std::int64_t>(); !error && version != kReportVersion) {
    root.keep(fmt::format("version {} is not known here, only {}", version, kReportVersion));
  }
  Report report = error ? Report{} : read_report(root);
  if (error) return std::unexpected(*std::move(error));
  return report;
}

}  // namespace cloche
