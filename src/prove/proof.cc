#include "prove/proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace cloche::prove {
namespace {

std::size_t at(Verdict verdict) { return static_cast<std::size_t>(verdict); }

std::string cgroups_of(const CgroupFacts& cgroup) {
  if (cgroup.version == CgroupFacts::Version::kNone) return "none usable";
  std::string out = cgroup.version == CgroupFacts::Version::kV1 ? "version 1:" : "version 2:";
  for (const Controller controller : kControllers) {
    if (cgroup.at(controller)) out += fmt::format(" {}", to_string(controller));
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of(const HostFacts& host) {
  return {{"system", fmt::format("Linux {}{}", host.kernel, host.in_container ? ", in a container" : "")},
          {"processors", std::to_string(host.cpus)},
          {"memory", human(Bytes{host.memory})},
          {"user", fmt::format("uid {}{}", host.uid, host.is_root ? " (root)" : "")},
          {"user namespaces", host.user_namespaces ? "can be made" : "cannot be made: " + host.user_namespaces_why},
          {"Landlock", host.landlock_abi > 0 ? fmt::format("ABI {}", host.landlock_abi) : "none"},
          {"system-call filter", host.seccomp_filter ? "yes" : "none"},
          {"cgroups", cgroups_of(host.cgroup)},
          {"bwrap", host.bwrap ? host.bwrap_version.value_or(*host.bwrap) : "not found"}};
}

Count Proof::count() const {
  Count out{};
  for (const Row& row : rows) {
    for (const Outcome& outcome : row.outcomes) ++out[at(outcome.verdict)];
  }
  return out;
}

Count Proof::count(Threat threat, std::size_t column) const {
  Count out{};
  for (const Row& row : rows) {
    if (row.attack.threat == threat) ++out[at(row.outcomes[column].verdict)];
  }
  return out;
}

bool Proof::has(Threat threat) const {
  return std::ranges::any_of(rows, [threat](const Row& row) { return row.attack.threat == threat; });
}

bool Proof::all_held() const {
  const Count all = count();
  return all[at(Verdict::kBreached)] == 0 && all[at(Verdict::kNotTried)] == 0 && all[at(Verdict::kHeld)] > 0;
}

std::size_t count_granted(const std::vector<Row>& rows, const Granted& granted) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, [&granted](const Row& row) {
    const bool left_out = std::ranges::find(row.outcomes, Verdict::kLeftOut, &Outcome::verdict) != row.outcomes.end();
    return left_out && narrowing_options(row.attack.options) && !grant_of(row.attack, granted).empty();
  }));
}

std::string left_out_text(const Proof& proof) {
  const std::size_t number = proof.left_out_by_grant;
  if (number == 0) return {};
  return fmt::format("{} attack{} left out because the policy grants what {} for", number,
                     number == 1 ? " was" : "s were", number == 1 ? "it looks" : "they look");
}

std::string warning_of(const Proof& proof) {
  if (proof.granted_secrets.empty()) return {};
  const std::string left_out = left_out_text(proof);
  return fmt::format("the policy grants places of secrets{}{}: {}", left_out.empty() ? "" : ", and ", left_out,
                     fmt::join(proof.granted_secrets, "; "));
}

std::string summary_of(const Count& count, const Dress& dress) {
  std::string out;
  for (const Verdict verdict :
       {Verdict::kBreached, Verdict::kNotTried, Verdict::kHeld, Verdict::kNotPromised, Verdict::kLeftOut}) {
    if (count[at(verdict)] == 0) continue;
    const std::string text = fmt::format("{} {}", count[at(verdict)], words_of(verdict));
    out += (out.empty() ? "" : ", ") + (dress ? dress(text, verdict) : text);
  }
  return out.empty() ? "none" : out;
}

}  // namespace cloche::prove
