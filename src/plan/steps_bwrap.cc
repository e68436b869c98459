// Tier 1 by bubblewrap: bwrap makes the namespaces and the view, then runs cloche-init as pid 1, which does what bwrap
// leaves out: limits, Landlock, filter, keyring, descriptors, empty capability sets.
#include <algorithm>
#include <string_view>

#include "plan/steps.h"

namespace cloche {
namespace {

using wire::StepKind;

void add(Plan& plan, Step step) { plan.steps.push_back(std::move(step)); }

class Args {
 public:
  explicit Args(Plan& plan) : plan_(plan) {}
  void put(std::initializer_list<std::string> words) {
    for (const std::string& word : words) plan_.bwrap_args.push_back(word);
  }
  void file(const std::string& mode, const std::string& target, std::string text) {
    put({"--perms", mode, "--ro-bind-data", "@" + std::to_string(plan_.bwrap_data.size()), target});
    plan_.bwrap_data.push_back(std::move(text));
  }

 private:
  Plan& plan_;
};

// bwrap mounts a whole /proc. Everything that is not a process is covered, but for a few plain facts that runtimes
// read.
void mask_proc(Args& args, const std::vector<std::string>& entries) {
  constexpr std::string_view kShown[] = {"self", "thread-self", "mounts",  "net",     "cpuinfo",    "meminfo",
                                         "stat", "uptime",      "loadavg", "version", "filesystems"};
  for (const std::string& entry : entries) {
    const bool directory = entry.ends_with('/');
    const std::string name = entry.substr(0, entry.size() - (directory ? 1 : 0));
    if (std::ranges::find(kShown, name) != std::end(kShown)) continue;
    const std::string path = "/proc/" + name;
    if (directory) {
      args.put({"--tmpfs", path, "--remount-ro", path});
    } else {
      args.put({"--ro-bind", "/dev/null", path});
    }
  }
}

void add_view(Plan& plan, const StepContext& context) {
  Args args(plan);
  const std::string disk = std::to_string(plan.limits.disk.count);
  args.put({"--unshare-user", "--uid", std::to_string(plan.inside_uid), "--gid", std::to_string(plan.inside_gid),
            "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup", "--hostname", "cell",
            "--die-with-parent", "--as-pid-1", "--clearenv", "--cap-drop", "ALL", "--cap-add", "CAP_SETPCAP"});
  if (plan.net != NetMode::kHost) args.put({"--unshare-net"});
  args.put({"--ro-bind", "/usr", "/usr"});
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    const std::string root = std::string("/") + name;
    if (context.host.usr_merged) {
      args.put({"--symlink", "usr" + root, root});
    } else {
      args.put({"--ro-bind-try", root, root});
    }
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs"}) {
    args.put({"--ro-bind-try", path, path});
  }
  args.file("0555", "/.cloche-init", {});  // filled in at launch with the program itself
  args.file("0444", "/etc/passwd", passwd_text(plan));
  args.file("0444", "/etc/group", group_text(plan));
  args.file("0444", "/etc/hosts", "127.0.0.1 localhost cell\n::1 localhost\n");
  args.file("0444", "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
  args.file("0444", "/sys/devices/system/cpu/online", cpu_online_text(plan.limits));
  args.file("0444", "/.cloche", "held by Landlock\n");
  if (context.request.script) args.file("0444", "/cell/" + context.request.script->name, context.request.script->text);
  if (context.host.proc_mountable) args.put({"--proc", "/proc"});
  args.put({"--dev", "/dev"});
  for (const char* place : {"/work", "/tmp", "/home/guest", "/dev/shm"}) {
    args.put({"--perms", std::string(place) == "/tmp" || std::string(place) == "/dev/shm" ? "1777" : "0755", "--size",
              disk, "--tmpfs", place});
  }
  for (const Grant& grant : sorted_grants(context)) {
    args.put({(grant.flags & wire::kReadOnly) != 0 ? "--ro-bind" : "--bind", grant.path, grant.path});
  }
  for (const Grant& pin : pinned(plan, context)) args.put({"--bind", pin.path, pin.path});
  for (const std::string& path : plan.hidden) {
    args.put({"--perms", "0555", "--size", "1", "--tmpfs", path, "--remount-ro", path});
  }
  if (context.host.proc_mountable) mask_proc(args, context.host.proc_entries);
  args.put({"--remount-ro", "/"});
}

}  // namespace

void add_bwrap_steps(Plan& plan, const StepContext& context) {
  add_view(plan, context);
  add(plan, {.kind = StepKind::kParentDeath, .serves = Guarantee::kEngineDeath});
  add_tail(plan, context);
}

}  // namespace cloche
