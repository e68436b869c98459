// Tier 0: the host's own root and process table. What needs no namespace still holds: environment, descriptors, limits,
// uid (as root), no_new_privs, Landlock and the filter.
#include "plan/landlock.h"
#include "plan/steps.h"

namespace cloche {
namespace {

using wire::StepKind;

void add(Plan& plan, Step step) { plan.steps.push_back(std::move(step)); }

std::vector<Step> host_rules(const StepContext& context) {
  namespace ll = landlock;
  const std::string root = work_root(context.request);
  const std::uint64_t write = ll::kReadWrite | (context.policy.files.exec_writable ? ll::kExecute : 0);
  std::vector<Step> rules;
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    rules.push_back(optional_landlock_rule(path, ll::kReadExec));
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/passwd", "/etc/group",
                           "/etc/nsswitch.conf", "/etc/hosts", "/etc/localtime"}) {
    rules.push_back(optional_landlock_rule(path, ll::kRead));
  }
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    rules.push_back(optional_landlock_rule(path, ll::kReadFile | ll::kWriteFile));
  }
  for (const char* name : {"/work", "/tmp", "/home"}) rules.push_back(landlock_rule(root + name, write));
  if (context.request.script) rules.push_back(landlock_rule(root + "/cell", ll::kRead));
  for (Step& rule : grant_rules(context)) rules.push_back(std::move(rule));
  return rules;
}

void add_work_directory(Plan& plan, const StepContext& context) {
  plan.scratch_on_host = true;
  add(plan, {.kind = StepKind::kWorkDir, .serves = Guarantee::kDisk, .a = work_root(context.request)});
  for (const char* name : {"work", "tmp", "home"}) {
    add(plan, {.kind = StepKind::kDir, .serves = Guarantee::kDisk, .a = name, .x = 0755});
  }
  if (context.request.script) {
    add(plan, {.kind = StepKind::kFile,
               .serves = Guarantee::kFileSystem,
               .a = "cell/" + context.request.script->name,
               .x = 0444,
               .data = context.request.script->text});
  }
}

// The policy's cwd names a place in a cell; here the work directory stands for it.
std::string cwd_on_host(const StepContext& context) {
  const std::string root = work_root(context.request);
  return context.policy.cwd == "/work" ? root + "/work" : context.policy.cwd;
}

}  // namespace

void add_process_steps(Plan& plan, const StepContext& context) {
  if (!plan.cgroup.empty()) add(plan, {.kind = StepKind::kCgroup, .serves = Guarantee::kPids});
  add(plan, {.kind = StepKind::kKeyring, .serves = Guarantee::kKeyring});
  // Uid and gid are filled in at launch: they depend on the pid.
  if (plan.own_host_uid) add(plan, {.kind = StepKind::kIdentity, .serves = Guarantee::kIdentity, .z = 1});
  add(plan, {.kind = StepKind::kParentDeath, .serves = Guarantee::kEngineDeath});
  add(plan, {.kind = StepKind::kSubreaper, .serves = Guarantee::kTreeKill});
  add_work_directory(plan, context);
  add_rlimits(plan, context);
  // Bounding set and securebits can only be changed with privilege; an ordinary user's are made moot by no_new_privs.
  add(plan, {.kind = StepKind::kDropCapabilities,
             .serves = Guarantee::kCapabilities,
             .x = context.host.is_root ? 0ull : 1ull});
  add_walls(plan, context, host_rules(context), "/proc/self/status");
  add_exec(plan, cwd_on_host(context));
}

void add_unconfined_steps(Plan& plan, const StepContext& context) {
  if (!plan.cgroup.empty()) add(plan, {.kind = StepKind::kCgroup, .serves = Guarantee::kPids});
  add(plan, {.kind = StepKind::kParentDeath, .serves = Guarantee::kEngineDeath});
  add(plan, {.kind = StepKind::kSubreaper, .serves = Guarantee::kTreeKill});
  add_work_directory(plan, context);
  add(plan, {.kind = StepKind::kGuestSession, .serves = Guarantee::kSession, .x = 0});
  add_exec(plan, cwd_on_host(context));
}

}  // namespace cloche
