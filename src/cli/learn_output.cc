#include "cli/learn_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/glyph.h"
#include "base/units.h"
#include "cli/console.h"
#include "cli/policy_files.h"
#include "diff/hunks.h"
#include "diff/unified.h"
#include "learn/collect.h"
#include "learn/merge.h"
#include "policy/parse.h"
#include "policy/print.h"
#include "report/json_writer.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr const char* kStep = "learn";
constexpr std::size_t kMaxPolicyFile = 1 << 20;

// Policies are compared by what they say, and the name of the file is not in it.
Status says(const std::string& text, const std::string& file, const Policy& wanted) {
  auto read =
      parse_policy(text, file, [](const std::string& parent) { return sys::read_file(parent, kMaxPolicyFile); });
  if (!read) return std::unexpected(read.error());
  if (to_toml(*read) == to_toml(wanted)) return {};
  return fail(ErrorCode::kInternal, kStep, "the text of the policy does not say what was learnt",
              "nothing was written; learn without --merge");
}

// One line, one answer; whatever is not yes is no.
bool answered_yes() {
  put(STDERR_FILENO, "Write this? [y/N] ");
  std::string line;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n' && line.size() < 16;) line += c;
  return line == "y" || line == "Y" || line == "yes";
}

// Of the file that is widened, too, for a terminal; elsewhere it is a patch.
std::string shown_policy(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += shown_policy_line(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void write_items(JsonWriter& json, std::string_view name, const std::vector<learn::Item>& items) {
  json.name(name).begin_array();
  for (const learn::Item& item : items) {
    json.begin_object();
    json.member("key", to_string(item.kind));
    json.member("what", item.what);
    json.member("note", item.note);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

Result<std::string> checked_text(const learn::Learnt& learnt) {
  std::string text = learn::to_text(learnt);
  CLOCHE_TRY(says(text, "learnt.toml", learnt.policy));
  return text;
}

std::string learn_json(const LearnEnd& end, const std::string& policy) {
  JsonWriter json;
  json.begin_object();
  json.member("version", 1);
  json.member("command", end.learnt.command);
  json.member("extends", end.learnt.extends);
  json.member("policy", policy);
  write_items(json, "granted", end.learnt.items);
  write_items(json, "untried", end.learnt.untried);
  json.name("wanted").begin_array();
  for (const learn::Wanted& one : end.learnt.wanted) {
    json.begin_object();
    json.member("what", one.what);
    json.member("reason", one.reason);
    json.end_object();
  }
  json.end_array();
  json.member("runs", end.runs);
  json.name("used").begin_object();
  const Usage& usage = end.used.usage;
  json.member("wall_ms", usage.wall.count());
  json.member("cpu_us", (usage.cpu_user + usage.cpu_system).count());
  json.member("memory_peak", usage.memory_peak.count);
  json.member("pids_peak", usage.pids_peak);
  json.member("disk", end.used.disk.count);
  json.member("inodes", end.used.inodes);
  json.member("output", usage.stdout_bytes + usage.stderr_bytes);
  json.end_object();
  json.end_object();
  return json.take() + "\n";
}

std::string wanted_text(const std::vector<learn::Wanted>& wanted) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < wanted.size() && i < kMost; ++i) {
    out += fmt::format("cloche: learn: wanted, not granted: {}: {}\n", wanted[i].what, wanted[i].reason);
  }
  if (wanted.size() > kMost) out += fmt::format("cloche: learn: and {} more\n", wanted.size() - kMost);
  return out;
}

std::string summary_text(const LearnEnd& end) {
  std::string out = wanted_text(end.learnt.wanted);
  out += fmt::format("cloche: learn: {} grant{}, checked{}; {} runs\n", end.learnt.items.size(),
                     end.learnt.items.size() == 1 ? "" : "s",
                     end.writes_tried ? "" : " on private copies of what files.write names", end.runs);
  if (!end.learnt.untried.empty()) {
    out +=
        fmt::format("cloche: learn: {} of them were not tried out and may not be needed\n", end.learnt.untried.size());
  }
  return out;
}

int write_merged(const LearnEnd& end, const std::string& path, const ReportFile& file, MergeAnswer answer) {
  const auto text = sys::read_file(path, kMaxPolicyFile);
  if (!text) return complain(text.error(), kExitFailed);
  // It may be another file than the one that was learnt from, by now.
  if (const auto now = load_policy(path); !now || *now != end.learnt.parent) {
    return complain({ErrorCode::kInvalidInput, "--merge", 0, shown_text(path) + " has changed meanwhile", "try again"},
                    kExitFailed);
  }
  const auto merged = learn::merge(*text, path, end.learnt.parent, end.learnt.policy, end.learnt.items);
  if (!merged) return complain(merged.error(), kExitFailed);
  if (*merged == *text) {
    put(STDERR_FILENO, wanted_text(end.learnt.wanted));
    put(STDERR_FILENO, fmt::format("cloche: learn: {} grants all that the command needs\n", shown_text(path)));
    return 0;
  }
  if (Status same = says(*merged, path, end.learnt.policy); !same) return complain(same.error(), kExitFailed);
  const std::string diff = diff::unified(path.substr(path.rfind('/') + 1), diff::diff_lines(*text, *merged), {});
  put(STDOUT_FILENO, ::isatty(STDOUT_FILENO) == 1 ? shown_policy(diff) : diff);
  put(STDERR_FILENO, wanted_text(end.learnt.wanted));
  if (answer == MergeAnswer::kAsk && !answered_yes()) {
    put(STDERR_FILENO, "cloche: learn: nothing was written\n");
    return 1;
  }
  if (Status written = file.replace(*merged); !written) return complain(written.error(), kExitFailed);
  return 0;
}

}  // namespace cloche::cli
