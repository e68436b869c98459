// The steps of each backend, in the order in which init performs them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"

namespace cloche {

// What the builders share.
struct StepContext {
  const Policy& policy;
  const Request& request;
  const HostFacts& host;
  std::string home;  // of the engine's user, for ~ in grants
};

struct Grant {
  std::string path;     // absolute
  std::uint64_t flags;  // wire::MountFlags
};

// The whole cell: root, view, credentials, limits, walls.
void add_namespace_steps(Plan& plan, const StepContext& context);
// Tier 0: no namespace; walls and limits only.
void add_process_steps(Plan& plan, const StepContext& context);
// bwrap builds the view (plan.bwrap_args); the rest are the same steps as above.
void add_bwrap_steps(Plan& plan, const StepContext& context);
// Development without any wall.
void add_unconfined_steps(Plan& plan, const StepContext& context);

// Shared pieces.
void add_rlimits(Plan& plan, const StepContext& context);
void add_walls(Plan& plan, const StepContext& context, const std::vector<Step>& rules, const std::string& probe_path);
// Landlock's rules for the view that the namespace tier and bwrap both build.
std::vector<Step> view_rules(const StepContext& context);
void add_exec(Plan& plan, const std::string& cwd);
// What follows once the view stands, whoever built it: keyring, limits, capabilities, walls, the exec.
void add_tail(Plan& plan, const StepContext& context);
// Workspaces with what takes their changes; refused where the host cannot do it.
Status settle_workspaces(Plan& plan, const StepContext& context);
// What of the grants no guest may see: hidden or, where the backend cannot, refused.
Status settle_own_places(Plan& plan, const StepContext& context);
// Directories between a writable grant and what is hidden in it. Mounted each by itself, none can be moved away.
std::vector<Grant> pinned(const Plan& plan, const StepContext& context);
// The way out, and its variables; refused where the backend has none or the host lacks a socket.
Status settle_gateway(Plan& plan, const StepContext& context);
void add_gateway_environment(const Plan& plan, std::map<std::string, std::string>& env);
// Files of /etc that lead to it.
void add_gateway_files(Plan& plan);
bool replaces_certificates(const Plan& plan);  // those of the host do not appear
std::string hosts_text(const Plan& plan);
// What listens in the cell: sockets while its root is built, ports when it has its network.
void add_gateway_sockets(Plan& plan);
void add_gateway_listeners(Plan& plan);
bool lies_below(const std::string& path, const std::string& folder);
std::string work_root(const Request& request);                              // "/tmp/cloche-ID", tier 0
std::string expand_home(const std::string& path, const std::string& home);  // "~/x" → "/home/me/x"
std::vector<std::string> expand_home(const std::vector<std::string>& paths, const std::string& home);
std::string cpu_online_text(const Limits& limits);  // of /sys/devices/system/cpu/online
std::string passwd_text(const Plan& plan);
std::string group_text(const Plan& plan);
Step landlock_rule(std::string path, std::uint64_t access);
Step optional_landlock_rule(std::string path, std::uint64_t access);
std::vector<Step> grant_rules(const StepContext& context);

// The shorter path first, or it would cover the longer one.
std::vector<Grant> sorted_grants(const StepContext& context);

unsigned whole_cpus(const Limits& limits);  // rounded up

}  // namespace cloche
