// The denials of a report: what a limit, the filter, the view or the gateway kept from the guest, and what would have
// let it through.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "observe/explain.h"
#include "observe/host_look.h"
#include "observe/named.h"
#include "observe/secret_host.h"
#include "report/outcome_info.h"
#include "report/render.h"
#include "supervise/run.h"

namespace cloche {
namespace {

bool has_limit(const Report& report, const std::string& key) {
  return std::ranges::any_of(report.denials,
                             [&](const Denial& d) { return d.what == "limit" && d.detail.starts_with(key + ":"); });
}

// What is named and was not seen to be tried, but for what is in the report already.
std::vector<Denial> unseen(std::vector<observe::Sighting> named, const std::vector<observe::Sighting>& seen,
                           const Report& report, const Plan& plan, const observe::HostLook& look) {
  if (plan.watch >= filter::Watch::kAll) return {};
  observe::find_missing(named, seen, plan);
  std::vector<Denial> found = observe::explain(named, plan, look);
  std::erase_if(found, [&](const Denial& denial) {
    return denial.what == "more" || std::ranges::any_of(report.denials, [&](const Denial& d) {
             return d.what == denial.what && d.detail == denial.detail;
           });
  });
  return found;
}

// Below kAll not everything that is looked at is seen. Where nothing that was explains why a guest failed, what it has
// named is asked for instead; where it was stopped on its way somewhere, what it has named of the rest.
void add_named(Report& report, std::string_view errors, const std::vector<observe::Sighting>& seen, const Plan& plan,
               const observe::HostLook& look) {
  if (!failed_by_itself(report)) return;
  const bool any = observe::put_named_first(report.denials, errors, plan.cwd);
  const std::vector<observe::Sighting> named = observe::named_paths(report.argv, errors);
  std::vector<Denial> first;
  const auto usual = [&](const Denial& denial) { return is_usual_beside(denial, errors); };
  if (std::ranges::all_of(report.denials, usual)) {
    first = unseen(named, seen, report, plan, look);
  } else {
    first = observe::explain_ways(report.denials, named, plan, look);
    // It was denied what it does not speak of, and speaks of something else.
    if (first.empty() && !any) first = unseen(observe::named_paths({}, errors), seen, report, plan, look);
  }
  report.denials.insert(report.denials.begin(), std::move_iterator(first.begin()), std::move_iterator(first.end()));
}

}  // namespace

void Run::deny_by_limit(const std::string& key, const std::string& what, std::uint64_t count, std::string program) {
  if (count == 0) return;
  std::string allow = observe::raised_limit(plan_, key);
  std::string never = allow.empty() ? "raise it in " + key : "";
  report_.denials.push_back(
      {"limit", fmt::format("{}: {}", key, what), count, std::move(program), std::move(allow), std::move(never)});
}

// Where no cgroup holds them, and of the size of a file, the kernel tells nobody but the guest, and what it says of
// that is all there is.
void Run::add_unseen_limits() {
  if (!failed_by_itself(report_)) return;
  std::vector<Denial> found;
  for (const std::string& key : observe::named_limits(err_ring_.tail())) {
    if (key == "limits.files") {
      // How much it asked for lies behind a pointer, so no line is known to do.
      found.push_back({"limit", key + ": its errors speak of a limit that it may not raise", 0, "", "",
                       "no guest raises its limits: set limits.files to what it asks for"});
      continue;
    }
    const bool seen = key == "limits.disk"
                          ? has_limit(report_, key)
                          : !is_unseen(report_, key == "limits.pids" ? Guarantee::kPids : Guarantee::kMemory);
    if (seen) continue;
    found.push_back({"limit", key + ": its errors sound like it", 0, "", observe::raised_limit(plan_, key)});
  }
  // What was seen to be denied goes before.
  const bool known = std::ranges::any_of(report_.denials, [](const Denial& d) { return d.count != 0 && !is_usual(d); });
  report_.denials.insert(known ? report_.denials.end() : report_.denials.begin(), found.begin(), found.end());
}

// The one thing that a guest sees of being watched (docs/denials.md): who failed of it would look for it elsewhere.
void Run::tell_of_interruptions() {
  if (!observer_ || !failed_by_itself(report_) || !report_.outcome.hint.empty()) return;
  const std::string errors = err_ring_.tail();
  const auto says = [&](std::string_view words) { return errors.find(words) != std::string::npos; };
  if (!says("Interrupted system call") && !says("EINTR")) return;
  report_.outcome.hint =
      "a signal can interrupt a call that is watched, and this guest does not try again: --observe off";
}

void Run::explain_denials() {
  std::string limit(limit_of(report_.outcome));
  const bool by_watch = disk_ && !disk_->verdict().empty();
  if (report_.outcome.kind == OutcomeKind::kDisk && (by_watch ? disk_->inodes_used_up() : inodes_used_up_)) {
    limit = "limits.inodes";
    report_.outcome.hint = "raise it with --inodes or limits.inodes";
  }
  if (!limit.empty() && !has_limit(report_, limit)) deny_by_limit(limit, report_.outcome.message, 1);
  const auto append = [this](std::vector<Denial> more) {
    std::ranges::move(more, std::back_inserter(report_.denials));
  };
  if (observer_) {
    std::optional<HostLook> host;    // made when it is first asked
    std::optional<Secrets> secrets;  // so are these
    const observe::HostLook look(
        [&](const std::string& path, observe::Right right) -> std::optional<observe::HostPath> {
          if (HostLook::is_known_to_be_missing(path)) return std::nullopt;
          if (!host) host.emplace(HostLook::of_this_host());
          return host->look(path, right);
        },
        [&]() -> const Secrets& {
          if (!secrets) secrets.emplace(secrets_for_advice());
          return *secrets;
        });
    append(observe::explain(observer_->sightings(), plan_, look));
    add_named(report_, err_ring_.tail(), observer_->sightings(), plan_, look);
    if (observer_->opens_refused() != 0) {
      deny_by_limit("limits.files", "open refused", observer_->opens_refused(), observer_->openers());
    } else {
      deny_by_limit("limits.files", "as many open as allowed", observer_->all_open(), observer_->openers());
    }
    if (host && host->left_out() != 0) {
      report_.denials.push_back({"more", "names that were not looked for on the host", host->left_out()});
    }
    if (observer_->forgotten() != 0) {
      report_.denials.push_back({"more", "the guest did more different things than are kept", observer_->forgotten()});
    }
    if (wiring_.on_seen) wiring_.on_seen(observer_->sightings(), observer_->most_open());
  }
  add_unseen_limits();
  tell_of_interruptions();
  if (report_.network) append(observe::explain_network(*report_.network, observer_ ? observer_->ran() : ""));
}

}  // namespace cloche
