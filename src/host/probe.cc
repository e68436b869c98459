#include "host/probe.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "host/cgroup_probe.h"
#include "host/files.h"
#include "host/kernel_probe.h"
#include "host/live_probe.h"
#include "host/proc_text.h"
#include "host/programs.h"

namespace cloche {
namespace {

using host::LiveStep;

// Which setting stands in the way of a user namespace, as far as reading can tell; empty when none does.
std::string user_namespace_bar(const std::string& root, const HostFacts& facts) {
  const auto most = host::read_number(root + "/proc/sys/user/max_user_namespaces");
  if (!most) return "this kernel has no user namespaces, or /proc is not mounted";
  if (*most == 0) return fmt::format("{} is 0", kSettingMaxUserns);
  if (!facts.is_root) {
    if (host::read_number(root + "/proc/sys/kernel/unprivileged_userns_clone") == 0) {
      return fmt::format("{} is 0", kSettingUsernsClone);
    }
    const auto restricted = host::read_number(root + "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    if (restricted.value_or(0) != 0) {
      // A program with a profile of its own may have been given the right; only "unconfined" surely has not.
      const auto label = host::read_once(root + "/proc/self/attr/current");
      if (!label || label->empty() || label->starts_with("unconfined")) {
        return fmt::format("{} is {}", kSettingAppArmor, *restricted);
      }
    }
  }
  if (host::ask_user_namespace_clone() == host::CloneAnswer::kFiltered) {
    return fmt::format("a {} around this process answers {} to clone", kSettingOuterFilter, std::strerror(errno));
  }
  return {};
}

bool is_container(const std::string& root) {
  if (host::exists(root + "/.dockerenv") || host::exists(root + "/run/.containerenv")) return true;
  const auto environment = host::read_text(root + "/proc/1/environ");
  if (!environment) return false;
  return environment->starts_with("container=") ||
         environment->find(std::string("\0container=", 11)) != std::string::npos;
}

bool is_usr_merged(const std::string& root) {
  constexpr std::array kFolders = {"/bin", "/sbin", "/lib", "/lib64"};
  for (const char* folder : kFolders) {
    struct stat info{};
    if (::lstat((root + folder).c_str(), &info) == 0 && !S_ISLNK(info.st_mode)) return false;
  }
  return true;
}

void probe_cgroup(const ProbeOptions& options, const std::vector<host::Mount>& mounts, HostFacts& facts) {
  host::CgroupQuery query;
  query.root = options.root;
  query.uid = facts.uid;
  query.pid = static_cast<std::uint64_t>(::getpid());
  query.named = options.cgroup_name;
  const std::string own = host::read_text(options.root + "/proc/self/cgroup").value_or("");
  host::CgroupProbe found = host::probe_cgroups(own, mounts, query);
  facts.cgroup = std::move(found.facts);
  facts.cgroup_kill = found.kill_file || (found.at_root && kernel_at_least(facts.kernel, 5, 14));
}

void probe_live(HostFacts& facts) {
  const host::LiveAnswer answer = host::try_namespaces();
  facts.proc_mountable = answer.failed == LiveStep::kDone;
  const bool worked = answer.failed == LiveStep::kDone || answer.failed == LiveStep::kProc;
  if (!worked) {
    const char* step = answer.failed == LiveStep::kClone          ? "clone"
                       : answer.failed == LiveStep::kMap          ? "writing the id map"
                       : answer.failed == LiveStep::kMountPrivate ? "making mounts private"
                                                                  : "the test cell did not answer in time;";
    const std::string seen =
        fmt::format("{} {}", step, answer.error != 0 ? std::strerror(answer.error) : "gave nothing");
    // What reading found is the cause; what the kernel answered is only how it shows.
    facts.user_namespaces_why =
        facts.user_namespaces_why.empty() ? seen : fmt::format("{} ({})", facts.user_namespaces_why, seen);
  } else {
    facts.user_namespaces_why.clear();
  }
  facts.user_namespaces = worked;
  if (facts.bwrap) facts.bwrap_version = host::ask_version(*facts.bwrap);
}

std::optional<std::string> choose_init(const ProbeOptions& options, const HostFacts& facts) {
  std::vector<std::string> candidates;
  if (!options.init_override.empty()) candidates.push_back(options.init_override);
  const auto others =
      options.init_candidates.empty() ? host::default_init_candidates(options.root) : options.init_candidates;
  candidates.insert(candidates.end(), others.begin(), others.end());
  return host::find_init(options.root, candidates, facts.uid, facts.gid);
}

}  // namespace

ProbeOptions probe_options_from_environment() {
  ProbeOptions options;
  if (const char* init = ::secure_getenv("CLOCHE_INIT")) options.init_override = init;
  if (const char* cgroup = ::secure_getenv("CLOCHE_CGROUP")) options.cgroup_name = cgroup;
  return options;
}

HostFacts probe(const ProbeOptions& options) {
  HostFacts facts;
  host::probe_system_calls(facts);
  host::probe_identity(facts);
  host::probe_machine(facts);

  const std::string mountinfo =
      host::read_text(options.root + "/proc/self/mountinfo", host::kMountinfoMax).value_or("");
  const std::vector<host::Mount> mounts = host::parse_mountinfo(mountinfo);
  facts.proc_mountable = host::proc_looks_mountable(mounts);
  probe_cgroup(options, mounts, facts);
  facts.uid_span = host::parse_id_span(host::read_once(options.root + "/proc/self/uid_map").value_or(""));
  facts.user_namespaces_why = user_namespace_bar(options.root, facts);
  facts.user_namespaces = facts.user_namespaces_why.empty();

  facts.in_container = is_container(options.root);
  facts.usr_merged = is_usr_merged(options.root);
  facts.bwrap = host::find_bwrap(options.root);
  facts.init = choose_init(options, facts);

  if (options.depth == ProbeDepth::kFull) probe_live(facts);
  return facts;
}

HostFacts probe_first() {
  HostFacts facts;
  host::probe_identity(facts);
  facts.init = choose_init(probe_options_from_environment(), facts);
  struct statfs fs{};
  if (::statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) {
    facts.cgroup.version = CgroupFacts::Version::kV2;
  }
  return facts;
}

HostFacts probe_fast() { return probe(probe_options_from_environment()); }

HostFacts probe_full() {
  ProbeOptions options = probe_options_from_environment();
  options.depth = ProbeDepth::kFull;
  return probe(options);
}

}  // namespace cloche
