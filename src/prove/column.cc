#include "prove/column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"

namespace cloche::prove {
namespace {

struct Known {
  Tier tier;
  Backend backend;
  const char* tier_name;
  const char* backend_name;
  Column column;
};

const std::array<Known, 3>& known() {
  static const std::array<Known, 3> kKnown = {{
      {Tier::kProcess, Backend::kProcess, "process", "native", {Kind::kProcess, "process", "tier 0, process"}},
      {Tier::kNamespace, Backend::kNamespace, "namespace", "native", {Kind::kNative, "native", "tier 1, native"}},
      {Tier::kNamespace, Backend::kBwrap, "namespace", "bwrap", {Kind::kBwrap, "bwrap", "tier 1, bwrap"}},
  }};
  return kKnown;
}

std::string why_unusable(const DoctorReport& doctor, const Known& one) {
  for (const DoctorEntry& entry : doctor.entries) {
    if (entry.tier != one.tier || entry.backend != one.backend) continue;
    if (!entry.obstacle) return {};
    return entry.obstacle->hint.empty() ? entry.obstacle->what
                                        : fmt::format("{}; {}", entry.obstacle->what, entry.obstacle->hint);
  }
  return "not in this version";
}

}  // namespace

Result<Columns> columns_for(const DoctorReport& doctor, const std::string& tier, const std::string& backend) {
  Columns out;
  const auto wrong = [](std::string_view option, const std::string& given, const char* hint) {
    return fail(ErrorCode::kInvalidInput, std::string(option), fmt::format("there is no {}", shown_text(given)), hint);
  };
  const auto is_tier = [&tier](const Known& one) { return tier.empty() || tier == one.tier_name; };
  const auto is_backend = [&backend](const Known& one) { return backend.empty() || backend == one.backend_name; };
  if (std::ranges::none_of(known(), is_tier)) return wrong("--tier", tier, "write process or namespace");
  if (std::ranges::none_of(known(), is_backend)) return wrong("--backend", backend, "write native or bwrap");
  for (const Known& one : known()) {
    if (!is_tier(one) || !is_backend(one)) continue;
    std::string why = why_unusable(doctor, one);
    if (why.empty()) {
      out.usable.push_back(one.column);
    } else {
      out.unusable.push_back({one.column, std::move(why)});
    }
  }
  if (out.usable.empty() && out.unusable.empty()) {
    return fail(ErrorCode::kInvalidInput, "--backend", "that tier does not have this backend",
                "tier process has native alone");
  }
  return out;
}

Kind walls_of(Kind kind, const Granted& granted) {
  if (kind != Kind::kPolicy) return kind;
  const auto found = std::ranges::find(known(), granted.backend, &Known::backend);
  return found == known().end() ? kind : found->column.kind;
}

std::string title_of(Kind walls) {
  const auto found = std::ranges::find_if(known(), [walls](const Known& one) { return one.column.kind == walls; });
  return found == known().end() ? "no tier" : found->column.title;
}

std::string not_promised(const Attack& attack, Kind kind, const Granted& granted, const Caller& caller) {
  const Kind walls = walls_of(kind, granted);
  if (walls == Kind::kAgainst) return {};
  if (caller.cgroups == Cgroups::kMissing && !attack.no_cgroups.empty()) return attack.no_cgroups;
  if (walls == Kind::kBwrap) {
    const bool here = !attack.no_bwrap.empty() || caller.user == User::kOrdinary;
    return here ? attack.no_bwrap : attack.no_bwrap_root;
  }
  if (walls != Kind::kProcess) return {};
  if (!attack.no_process.empty()) return attack.no_process;
  return caller.user == User::kOrdinary ? attack.no_process_user : "";
}

std::string left_out(const Attack& attack, Kind kind, const Granted& granted) {
  if (kind == Kind::kPolicy && !narrowing_options(attack.options)) {
    return fmt::format("it needs a grant of its own ({}), which is not in the policy", fmt::join(attack.options, " "));
  }
  return kind == Kind::kPolicy ? grant_of(attack, granted) : "";
}

Words args_on(const Attack& attack, Kind kind, const Granted& granted) {
  const bool has_network = kind == Kind::kPolicy && granted.net == Granted::Net::kSome;
  const bool on_process = walls_of(kind, granted) == Kind::kProcess;
  const Words& given = on_process && attack.process_args    ? *attack.process_args
                       : has_network && attack.way_out_args ? *attack.way_out_args
                                                            : attack.args;
  Words out;
  for (const std::string& word : given) {
    if (word != "@VARIABLES@") {
      out.push_back(word);
    } else if (kind == Kind::kPolicy) {
      out.insert(out.end(), granted.variables.begin(), granted.variables.end());
    }
  }
  if (kind == Kind::kPolicy && attack.exec_writable_args && granted.others.contains("exec-writable")) {
    out.insert(out.end(), attack.exec_writable_args->begin(), attack.exec_writable_args->end());
  }
  return out;
}

std::string tries_on(const Attack& attack, Kind kind) {
  constexpr std::string_view kLimit = " under a limit of ";
  std::string out = attack.tries;
  const std::size_t at = out.find(kLimit);
  if (kind != Kind::kAgainst || at == std::string::npos) return out;
  const std::size_t end = std::min(out.find_first_of(" ,", at + kLimit.size()), out.size());
  const std::size_t begin = at > 0 && out[at - 1] == ',' ? at - 1 : at;
  return out.erase(begin, end - begin);
}

std::optional<Words> narrowing_options(const Words& options) {
  constexpr std::array kValues = {"--memory", "--pids", "--files",    "--disk", "--inodes",
                                  "--output", "--wall", "--cpu-time", "--grace"};
  constexpr std::array kFlags = {"--stdin", "--tty"};
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (std::ranges::find(kValues, options[i]) != kValues.end()) {
      ++i;
    } else if (std::ranges::find(kFlags, options[i]) == kFlags.end()) {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace cloche::prove
