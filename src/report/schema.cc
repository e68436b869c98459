#include "report/schema.h"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/outcome_info.h"

namespace cloche {
namespace {

using Json = nlohmann::ordered_json;
using enum KeyType;
constexpr Presence kAlways = Presence::kAlways;
constexpr Presence kSometimes = Presence::kSometimes;

// A parent stands before its children.
constexpr std::array kKeys = std::to_array<ReportKey>({
    {"version", kVersion, kAlways, "Version of this format. Keys may be added within a version; ignore unknown ones."},
    {"id", kText, kAlways, "Name of the run, unique on its host."},
    {"outcome", kObject, kAlways, "How the run ended. The first cause wins and is never overwritten."},
    {"outcome.kind", kOutcomeKind, kAlways, "The cause, one word; see the table of outcomes."},
    {"outcome.code", kInteger, kAlways, "Exit code of the guest where it has one, otherwise 0."},
    {"outcome.signal", kInteger, kAlways, "The signal that ended the guest, 0 if none."},
    {"outcome.limit", kLimit, kAlways, "The policy key of the limit that was hit, null if none was."},
    {"outcome.message", kText, kAlways, "One sentence for people; may be empty."},
    {"outcome.step", kText, kAlways, "For `refused` and `failed`: where it happened."},
    {"outcome.hint", kText, kAlways, "For `refused` and `failed`: what to do."},
    {"outcome.exit_code", kCount, kAlways, "The exit code of `cloche run`; follows from kind, code and signal."},
    {"tier", kText, kAlways, "The tier that held the run: `process`, `namespace`, `container` or `microvm`."},
    {"backend", kText, kAlways, "The backend that built the cell, for example `native` or `bwrap`."},
    {"policy", kText, kAlways, "The preset or file that the policy came from."},
    {"observed", kText, kSometimes,
     "How much of the guest was watched for denials: `off`, `calls`, `files` or `all`. Not there where nothing ran."},
    {"argv", kList, kAlways, "The command as the guest saw it."},
    {"argv[]", kText, kAlways, "One argument; bytes that are not UTF-8 are replaced by U+FFFD."},
    {"argv_base64", kList, kSometimes, "The command byte for byte; there only if an argument is not valid UTF-8."},
    {"argv_base64[]", kText, kAlways, "One argument in base64."},
    {"receipt", kList, kAlways, "What was enforced, one line for each guarantee."},
    {"receipt[]", kObject, kAlways, "One guarantee."},
    {"receipt[].guarantee", kGuarantee, kAlways, "Its name; see the table of guarantees."},
    {"receipt[].standing", kStanding, kAlways,
     "`held`: in force. `weakened`: less than the guarantee says, as the policy allows. `absent`: not given."},
    {"receipt[].mechanism", kText, kAlways, "What enforced it."},
    {"receipt[].evidence", kText, kAlways,
     "What was read back to prove it, from the kernel (of `traffic` from the gateway); empty if nothing was."},
    {"weakenings", kList, kAlways, "What the policy gave up, openly."},
    {"weakenings[]", kText, kAlways, "One sentence."},
    {"lifecycle", kList, kAlways, "The steps of the run's life that happened, in order."},
    {"lifecycle[]", kText, kAlways, "`prepare`, `start`, `run`, `time-out`, `cancel`, `drain` or `dispose`."},
    {"usage", kObject, kAlways, "What the whole cell used."},
    {"usage.wall_ms", kCount, kAlways, "Elapsed time in milliseconds."},
    {"usage.cpu_user_us", kCount, kAlways, "Cpu time in user mode, in microseconds."},
    {"usage.cpu_system_us", kCount, kAlways, "Cpu time in the kernel, in microseconds."},
    {"usage.memory_peak_bytes", kMeasuredCount, kAlways, "Most memory at any time, in bytes; null: not measured."},
    {"usage.pids_peak", kMeasuredCount, kAlways, "Most processes and threads at any time; null: not measured."},
    {"usage.forks_refused", kCount, kAlways, "Forks that the process limit refused."},
    {"usage.oom_kills", kCount, kAlways, "Processes that the kernel killed at the memory limit."},
    {"usage.stdout_bytes", kCount, kAlways, "Bytes the guest wrote to stdout."},
    {"usage.stderr_bytes", kCount, kAlways, "Bytes the guest wrote to stderr."},
    {"denials", kList, kAlways, "What the guest tried and was denied."},
    {"denials[]", kObject, kAlways, "One kind of attempt."},
    {"denials[].what", kText, kAlways,
     "What was denied: `read`, `write`, `exec`, `connect`, `socket`, `syscall`, `signal`, `limit` and the like."},
    {"denials[].detail", kText, kAlways, "Which one: path, address, call or key of the policy."},
    {"denials[].count", kCount, kAlways,
     "How often. 0: not seen to be tried; a guest that failed named it in its command or its errors."},
    {"denials[].program", kText, kAlways, "The program that asked, where it is known; else empty."},
    {"denials[].allow", kText, kAlways, "The line of a policy that would allow it, or empty."},
    {"denials[].never", kText, kAlways, "Why no policy allows it, or empty."},
    {"streams", kObject, kAlways, "The end of what the guest printed."},
    {"streams.stdout", kObject, kAlways, "Standard output."},
    {"streams.stdout.tail", kText, kAlways, "Its last bytes; those that are not UTF-8 are replaced by U+FFFD."},
    {"streams.stdout.encoding", kEncoding, kAlways, "`utf-8`: tail is exact. `base64`: tail_base64 is."},
    {"streams.stdout.tail_base64", kText, kSometimes, "The last bytes in base64; there only if encoding is `base64`."},
    {"streams.stdout.total", kCount, kAlways, "Bytes written in all."},
    {"streams.stdout.truncated", kFlag, kAlways, "The tail is not all of it."},
    {"streams.stderr", kObject, kAlways, "Standard error."},
    {"streams.stderr.tail", kText, kAlways, "Its last bytes; those that are not UTF-8 are replaced by U+FFFD."},
    {"streams.stderr.encoding", kEncoding, kAlways, "`utf-8`: tail is exact. `base64`: tail_base64 is."},
    {"streams.stderr.tail_base64", kText, kSometimes, "The last bytes in base64; there only if encoding is `base64`."},
    {"streams.stderr.total", kCount, kAlways, "Bytes written in all."},
    {"streams.stderr.truncated", kFlag, kAlways, "The tail is not all of it."},
    {"outputs", kList, kAlways, "Files that the guest left and the caller asked for (`--artifact`)."},
    {"outputs[]", kObject, kAlways, "One file."},
    {"outputs[].path", kText, kAlways, "Its path in the cell."},
    {"outputs[].size", kCount, kAlways, "Its size in bytes."},
    {"outputs[].sha256", kText, kAlways, "Digest of its content, in hexadecimal; it is kept under this name."},
    {"outputs[].type", kText, kAlways, "Its media type, judged by its first bytes and then by its name."},
    {"workspaces", kList, kAlways, "Directories that the guest could change without changing them."},
    {"workspaces[]", kObject, kAlways, "One of them."},
    {"workspaces[].path", kText, kAlways, "Its path on the host."},
    {"workspaces[].mode", kText, kAlways, "What took the changes: `overlay` or `copy`."},
    {"workspaces[].added", kCount, kAlways, "Files, directories and links that the guest made."},
    {"workspaces[].modified", kCount, kAlways, "Those that it changed."},
    {"workspaces[].deleted", kCount, kAlways, "Those that it removed."},
    {"workspaces[].problem", kText, kAlways, "Why its changes could not be kept; empty if they are."},
    {"timing", kList, kAlways, "Where the time went: consecutive steps, first-output beside guest."},
    {"timing[]", kObject, kAlways, "One step."},
    {"timing[].name", kText, kAlways, "Its name."},
    {"timing[].took_us", kCount, kAlways, "How long it took, in microseconds."},
    {"network", kObject, kSometimes, "What went through the gateway; there only if the run had one."},
    {"network.connections_total", kCount, kAlways,
     "Connections and look-ups that the guest tried, all but those in `connections_lost`."},
    {"network.denied_total", kCount, kAlways, "Those of them that were denied."},
    {"network.connections_lost", kCount, kAlways,
     "Attempts at places without a listener (so none got through) that came faster than they could be told: nothing "
     "else in the report has them. Retransmissions and packets on the cell's own loopback may be counted, too."},
    {"network.calls_total", kCount, kAlways, "Calls on sockets with rules."},
    {"network.calls_denied_total", kCount, kAlways, "Those of them that were denied."},
    {"network.bytes_in", kCount, kAlways, "Bytes that came to the guest."},
    {"network.bytes_out", kCount, kAlways, "Bytes that it sent."},
    {"network.rate_waited_us", kCount, kAlways,
     "For how long `net.limits.rate` held something up, in microseconds; 0 without such a limit."},
    {"network.connections", kList, kAlways,
     "The first 1000 connections, and behind them the first of each place (name or address, port, verdict) that those "
     "do not have, 500 for each verdict. Refusals take 500 at most. What found no room is counted in the last one of "
     "its place."},
    {"network.connections[]", kObject, kAlways, "One connection, or the same again and again."},
    {"network.connections[].at_us", kCount, kAlways, "When, in microseconds since the guest started."},
    {"network.connections[].via", kVia, kAlways,
     "How the guest asked: `direct`, by the `proxy` or as `socks`, `dns` for a name, `socket` for a unix socket."},
    {"network.connections[].name", kText, kAlways,
     "The host's name, or the socket's path; empty if the guest gave an address."},
    {"network.connections[].address", kText, kAlways, "The address that was dialled, or that the guest wanted."},
    {"network.connections[].port", kCount, kAlways, "The port; 0 if there is none."},
    {"network.connections[].verdict", kVerdict, kAlways,
     "`allowed`, `denied`, or `failed`: allowed, but the other side could not be reached."},
    {"network.connections[].reason", kText, kAlways, "The rule that allowed it, or one sentence why not."},
    {"network.connections[].bytes_in", kCount, kAlways, "Bytes that came to the guest."},
    {"network.connections[].bytes_out", kCount, kAlways, "Bytes that it sent."},
    {"network.connections[].took_us", kCount, kAlways, "How long it lasted, in microseconds."},
    {"network.connections[].count", kCount, kAlways,
     "How often: this one, and the same that are not listed; their bytes are in its own."},
    {"network.calls", kList, kAlways,
     "The first 1000 calls on sockets with rules, and behind them the first of each place (socket, method, verdict) "
     "that "
     "those do not have, 500 for each verdict. Refusals take 500 at most. What found no room is counted in the last "
     "one "
     "of its place."},
    {"network.calls[]", kObject, kAlways, "One call, or the same again and again."},
    {"network.calls[].at_us", kCount, kAlways, "When, in microseconds since the guest started."},
    {"network.calls[].socket", kText, kAlways, "The socket's path."},
    {"network.calls[].method", kText, kAlways, "The method."},
    {"network.calls[].id", kText, kAlways, "The id of the first of them, as JSON; empty for a notification."},
    {"network.calls[].verdict", kVerdict, kAlways, "`allowed`, `denied` or `failed`."},
    {"network.calls[].reason", kText, kAlways, "Why not; may be empty."},
    {"network.calls[].count", kCount, kAlways, "How often: this one, and the same that are not listed."},
    {"network.changes", kList, kAlways, "The first 1000 grants that came or went while the run lived."},
    {"network.changes[]", kObject, kAlways, "One of them."},
    {"network.changes[].at_us", kCount, kAlways,
     "When, in microseconds since the guest started; of a grant when it was asked for, which is before all that it "
     "allowed."},
    {"network.changes[].change", kGrantTurn, kAlways,
     "`granted`, `revoked`, or `ended`: the time that it was granted for is over."},
    {"network.changes[].what", kText, kAlways, "`host`, `socket` or `secret`."},
    {"network.changes[].text", kText, kAlways, "The rule, the path or the name."},
    {"network.changes[].by", kText, kAlways,
     "`uid` and its number, `program` for the one that links the library, or `lease`."},
    {"network.changes[].for_ms", kCount, kSometimes,
     "For how long it was granted, in milliseconds; there only for a grant that was not for the rest of the run."},
});

template <typename Rows, typename Name>
Json words(const Rows& rows, Name name) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(name(row));
  return list;
}

std::string_view type_name(KeyType type) {
  switch (type) {
    case kObject:
      return "object";
    case kList:
      return "array";
    case kFlag:
      return "boolean";
    case kInteger:
    case kCount:
    case kVersion:
      return "integer";
    case kMeasuredCount:
      return "integer or null";
    case kLimit:
      return "string or null";
    default:
      return "string";
  }
}

Json key_schema(const ReportKey& key) {
  Json node = Json::object();
  switch (key.type) {
    case kMeasuredCount:
      node["type"] = {"integer", "null"};
      break;
    case kLimit:
      node["type"] = {"string", "null"};
      break;
    default:
      node["type"] = type_name(key.type);
  }
  node["description"] = key.description;
  switch (key.type) {
    case kVersion:
      node["const"] = kReportVersion;
      break;
    case kCount:
      node["minimum"] = 0;
      break;
    case kMeasuredCount:
      node["minimum"] = 1;
      break;
    case kEncoding:
      node["enum"] = {"utf-8", "base64"};
      break;
    case kGuarantee:
      node["enum"] = words(all_guarantees(), [](Guarantee g) { return to_string(g); });
      break;
    case kOutcomeKind:
      node["enum"] = words(all_outcomes(), [](const OutcomeInfo& row) { return row.name; });
      break;
    case kStanding:
      for (std::size_t i = 0; i < kStandingCount; ++i) node["enum"].push_back(to_string(static_cast<Standing>(i)));
      break;
    case kVerdict:
      for (std::size_t i = 0; i < kVerdictCount; ++i) node["enum"].push_back(to_string(static_cast<Verdict>(i)));
      break;
    case kVia:
      for (std::size_t i = 0; i < kViaCount; ++i) node["enum"].push_back(to_string(static_cast<Via>(i)));
      break;
    case kGrantTurn:
      for (std::size_t i = 0; i < kGrantTurnCount; ++i) {
        node["enum"].push_back(to_string(static_cast<GrantChange::Turn>(i)));
      }
      break;
    case kLimit:
      for (const OutcomeInfo& row : all_outcomes()) {
        for (const std::string_view name : limit_keys(row)) node["enum"].push_back(name);
      }
      node["enum"].push_back(nullptr);
      break;
    default:
      break;
  }
  return node;
}

// Walks down to the parent of the path's last part and puts the node there.
void place(Json& root, const ReportKey& key) {
  Json* parent = &root;
  std::string_view path = key.path;
  for (;;) {
    const std::size_t end = path.find_first_of(".[");
    if (end == 0 && path == "[]") {
      (*parent)["items"] = key_schema(key);
      return;
    }
    if (path.starts_with("[].")) {
      parent = &(*parent)["items"];
      path.remove_prefix(3);
      continue;
    }
    const std::string name(path.substr(0, end));
    if (end == std::string_view::npos) {
      (*parent)["properties"][name] = key_schema(key);
      if (key.presence == kAlways) (*parent)["required"].push_back(name);
      return;
    }
    parent = &(*parent)["properties"][name];
    path.remove_prefix(path[end] == '.' ? end + 1 : end);
  }
}

}  // namespace

std::span<const ReportKey> report_keys() { return kKeys; }

std::string report_schema() {
  Json root = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Cloche report"},
      {"description", "What a run did and what held it. Version 1."},
      {"type", "object"},
  };
  for (const ReportKey& key : kKeys) place(root, key);
  return root.dump(2) + "\n";
}

std::string report_key_table() {
  std::string out = "| key | type | meaning |\n|---|---|---|\n";
  for (const ReportKey& key : kKeys) {
    out += fmt::format("| `{}` | {}{} | {} |\n", key.path, type_name(key.type),
                       key.presence == kSometimes ? ", optional" : "", key.description);
  }
  return out;
}

std::string outcome_table() {
  std::string out = "| outcome | exit code | limit | how it is decided |\n|---|---|---|---|\n";
  for (const OutcomeInfo& row : all_outcomes()) {
    std::string limit;
    for (const std::string_view key : limit_keys(row)) limit += fmt::format("{}`{}`", limit.empty() ? "" : ", ", key);
    out += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.exit_text, limit, row.decided);
  }
  return out;
}

std::string guarantee_table() {
  std::string out = "| guarantee | promise |\n|---|---|\n";
  for (const Guarantee guarantee : all_guarantees()) {
    out += fmt::format("| `{}` | {} |\n", to_string(guarantee), describe(guarantee));
  }
  return out;
}

}  // namespace cloche
