#include "cases.h"

#include <fmt/format.h>
#include <unistd.h>

namespace cloche::security {
namespace {

constexpr const char* kNoMountFlags =
    "bwrap cannot give its tmpfs mounts noexec or an inode cap; the plan says weakened";
constexpr const char* kHostView = "tier 0 has the host's own mounts; Landlock judges paths";
constexpr const char* kBoundingSet = "only privilege can change the bounding set and the securebits";
constexpr const char* kHostTable = "tier 0 has the host's process table";

const std::vector<Case>& table() {
  static const std::vector<Case> kCases = {
      // Descriptors and exec
      {.number = 1,
       .victim = "01_descriptors",
       .removals = {{"descriptors", "init:close-range"}},
       .process_removals = {{"descriptors", "init:close-range"}}},
      {.number = 2,
       .victim = "02_directory_descriptors",
       .removals = {{"descriptors", "init:close-range"}},
       .process_removals = {{"descriptors", "init:close-range"}}},
      {.number = 3,
       .victim = "03_stdio",
       .options = {"--stdin"},
       .bait = {"--tty"},
       .removals = {{"stdio"}},
       .process_removals = {{"stdio"}}},
      {.number = 3,
       .variant = "own_pty",
       .victim = "03_stdio",
       .args = {"own-pty"},
       .options = {"--tty"},
       .bait = {"--tty"},
       .no_process = "a terminal of its own needs a devpts of its own; tier 0 refuses --tty"},
      {.number = 4,
       .victim = "04_engine_binary",
       .process_args = {"engine"},
       .removals = {{"expose:@BIN@", "landlock"}},
       .process_removals = {{"landlock", "root/identity"}}},
      {.number = 5, .victim = "05_environment", .removals = {{"environment"}}, .process_removals = {{"environment"}}},
      {.number = 6,
       .victim = "06_dash_arguments",
       .args = {"--help", "--tier", "process", "-", "--", "--bind", "/", "/", "--version"},
       .removals = {{"arguments"}},
       .process_removals = {{"arguments"}}},
      {.number = 8,
       .victim = "08_memfd_exec",
       .no_bwrap = kNoMountFlags,
       .removals = {{"filter"}},
       .process_removals = {{"filter"}}},
      {.number = 9,
       .victim = "09_receive_descriptors",
       .has_way_out = true,
       .removals = {{"expose:@DIR@", "landlock", "filter"}},
       .process_removals = {{"landlock", "filter"}}},
      {.number = 10,
       .victim = "10_handles",
       .removals = {{"descriptors", "init:close-range"}},
       .process_removals = {{"descriptors", "init:close-range"}}},
      // Session and signals
      {.number = 11,
       .victim = "11_terminal_injection",
       .options = {"--stdin"},
       .bait = {"--tty"},
       .removals = {{"filter"}},
       .process_removals = {{"filter"}}},
      {.number = 11,
       .variant = "own_pty",
       .victim = "11_terminal_injection",
       .options = {"--tty"},
       .bait = {"--tty"},
       .no_process = "tier 0 refuses --tty",
       .removals = {{"filter"}}},
      {.number = 14,
       .victim = "14_signal_state",
       .removals = {{"init:signal-mask"}, {"init:signal-handlers"}},
       .process_removals = {{"init:signal-mask"}, {"init:signal-handlers"}}},
      {.number = 15,
       .victim = "15_signal_outside",
       .no_process = kHostTable,
       .removals = {{"namespaces:pid", "landlock", "filter"}}},
      {.number = 16, .victim = "16_orphans", .no_process = kHostTable, .removals = {{"init:reap"}}},
      // Credentials
      {.number = 17,
       .victim = "17_no_new_privs",
       .removals = {{"no-new-privs", "landlock", "filter"}},
       .process_removals = {{"no-new-privs", "landlock", "filter"}}},
      {.number = 18,
       .victim = "18_capabilities",
       .no_process_user = kBoundingSet,
       .removals = {{"capabilities"}},
       .process_removals = {{"capabilities"}}},
      {.number = 19,
       .victim = "19_securebits",
       .no_process_user = kBoundingSet,
       .removals = {{"capabilities"}},
       .process_removals = {{"capabilities"}}},
      {.number = 20,
       .victim = "20_groups",
       .root_only = true,
       .removals = {{"groups"}},
       .process_removals = {{"init:groups"}}},
      {.number = 20,
       .victim = "20_groups",
       .root_bait_removed = "an ordinary user with supplementary groups",
       .user_only = true,
       .no_process = "the groups of an ordinary user stay (supplementary-groups)",
       .bare = "the kernel itself denies setgroups to a user with one mapped group"},
      {.number = 21,
       .victim = "21_user",
       .process_args = {"ids"},
       .no_process_user = "the guest has the caller's own uid there",
       .removals = {{"identity:root"}},
       .process_removals = {{"identity"}}},
      {.number = 22, .victim = "22_nested_user_namespace", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 23,
       .victim = "23_setuid",
       .process_args = {"helper"},
       .root_bait = "a set-uid program of root's",
       .removals = {{"init:nosuid"}},
       .process_removals = {{"no-new-privs", "landlock", "filter"}}},
      {.number = 24, .victim = "24_keyring", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      // Mounts and paths
      {.number = 27,
       .victim = "27_old_root",
       .options = {"--cwd", "/"},  // without its own root the cell has no /work
       .no_process = kHostView,
       .removals = {{"expose:@DIR@", "landlock"}, {"pivot", "root-read-only", "landlock"}}},
      {.number = 29,
       .victim = "29_propagation",
       .root_bait_removed = "a shared mount tree",
       .no_bwrap = "bwrap leaves its mounts slaves of the host's: nothing goes out, but mounts come in",
       .no_process = kHostView,
       .removals = {{"init:propagation"}}},
      {.number = 30,
       .victim = "30_mount_point",
       .options = {"--write", "@WRITE@", "--read", "@DIR@/evil-target", "--read", "@WRITE@/evil/sub"},
       .expected = {2, 126},
       .no_process = "nothing is mounted on tier 0",
       .removals = {{"links", "init:links"}}},
      {.number = 31,
       .victim = "31_dev_symlink",
       .bait = {"--evil-dev", "symlink"},
       .root_bait = "a spoiled /dev",
       .expected = {0, 125, 126},
       .no_bwrap = "bwrap binds the host's /dev nodes as they are",
       .no_process = kHostView,
       .removals = {{"device-checks"}}},
      {.number = 32, .victim = "32_devices", .no_process = kHostView, .removals = {{"expose:/dev", "landlock"}}},
      {.number = 32,
       .variant = "wrong_device",
       .victim = "32_devices",
       .bait = {"--evil-dev", "wrong"},
       .root_bait = "a spoiled /dev",
       .expected = {125, 126},
       .no_bwrap = "bwrap binds the host's /dev nodes as they are",
       .no_process = kHostView,
       .removals = {{"device-checks"}}},
      {.number = 34,
       .victim = "34_read_only_submounts",
       .options = {"--read", "@READ@", "--read", "@WRITE@/granted"},
       .no_process_user = "Landlock does not judge modes and times of the user's own files",
       .removals = {{"read-only", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 35, .victim = "35_mount_calls", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 36,
       .victim = "36_root_read_only",
       .no_process = kHostView,
       .removals = {{"root-read-only", "landlock"}}},
      {.number = 37,
       .victim = "37_tmpfs_caps",
       .options = {"--disk", "16M", "--memory", "256M"},
       .no_bwrap = kNoMountFlags,
       .no_process = "tier 0 writes to the host's disk, with a cap per file only",
       .removals = {{"scratch-caps", "rlimit:fsize"}}},
      {.number = 38,
       .victim = "38_shared_memory",
       .removals = {{"expose:/dev/shm", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 39,
       .victim = "39_mknod",
       .process_args = {"calls"},
       .removals = {{"filter", "landlock"}},
       .process_removals = {{"filter", "landlock"}}},
      {.number = 40,
       .victim = "40_host_sockets",
       .has_way_out = true,
       .removals = {{"expose:@DIR@", "landlock", "filter"}},
       .process_removals = {{"landlock", "filter"}}},
      {.number = 41,
       .victim = "41_leave_writable_root",
       .options = {"--write", "@WRITE@"},
       .bwrap_refuses = true,  // under root it does not grant for writing
       .removals = {{"expose:@DIR@", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 41,
       .variant = "tree",
       .victim = "41_workspace",
       .workspace_only = true,
       .no_process = "a workspace takes the native backend of tier 1",
       .removals = {{"workspace"}}},
      {.number = 42,
       .victim = "42_noexec",
       .options = {"--write", "@WRITE@"},
       .no_bwrap = kNoMountFlags,
       .no_process = "Landlock forbids execve there, not mapping a file as code",
       .removals = {{"noexec", "landlock"}, {"noexec"}}},
      // /proc and kernel surface
      {.number = 43,
       .victim = "43_proc_view",
       .removals = {{"expose:/proc", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 44,
       .victim = "44_proc_files",
       .removals = {{"expose:/proc", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 45,
       .victim = "45_core_dump",
       .removals = {{"filter"}, {"rlimit:core"}},
       .process_removals = {{"filter"}, {"rlimit:core"}}},
      {.number = 46,
       .victim = "46_kernel_filesystems",
       .process_args = {"files"},
       .no_process_user = "the modes of the files keep an ordinary user out by themselves",
       .removals = {{"expose:/sys", "landlock"}},
       .process_removals = {{"landlock", "identity"}}},
      {.number = 47, .victim = "47_other_processes", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 48, .victim = "48_kernel_calls", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 49, .victim = "49_io_uring", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      // System-call filter
      {.number = 50, .victim = "50_architecture", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 51, .victim = "51_clone_flags", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 52,
       .victim = "52_unknown_calls",
       .removals = {{"filter:enosys"}},
       .process_removals = {{"filter:enosys"}}},
      {.number = 53, .victim = "53_argument_width", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 54, .victim = "54_first_instruction", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 55,
       .victim = "55_socket_families",
       .way_out_args = {"way-out"},
       .has_way_out = true,
       .removals = {{"filter"}},
       .process_removals = {{"filter"}}},
      // IPC and network
      {.number = 56,
       .victim = "56_abstract_socket",
       .has_way_out = true,
       .removals = {{"namespaces:net", "landlock", "filter"}},
       .process_removals = {{"landlock", "filter"}}},
      {.number = 58,
       .victim = "58_ipc",
       .has_way_out = true,
       .removals = {{"namespaces:ipc"}},
       .process_removals = {{"filter"}}},
      // Limits and honesty
      {.number = 59,
       .victim = "59_memory",
       .options = {"--memory", "64M"},
       .expected = {0, 137},
       .liveness = true,
       .removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}},
       .process_removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}}},
      {.number = 60,
       .victim = "60_rlimits",
       .options = {"--files", "64", "--pids", "32"},
       .removals = {{"rlimit:nofile"}, {"rlimit:nproc"}, {"rlimit:fsize"}, {"rlimit:as"}, {"rlimit:core"}},
       .process_removals = {{"rlimit:nofile"}, {"rlimit:nproc"}, {"rlimit:fsize"}, {"rlimit:as"}, {"rlimit:core"}}},
      {.number = 60,
       .variant = "fork_bomb",
       .victim = "60_fork_bomb",
       .options = {"--pids", "32"},
       .liveness = true,
       .removals = {{"cgroup:pids", "rlimit:nproc"}},
       .process_removals = {{"cgroup:pids", "rlimit:nproc"}}},
      {.number = 64,
       .victim = "64_shared_inodes",
       .options = {"--read", "@READ@"},
       .removals = {{"filter"}},
       .process_removals = {{"filter", "root/identity"}}},
  };
  return kCases;
}

// Mounts and paths, which a workspace adds to.
bool is_about_mounts(const Case& c) { return c.number >= 27 && c.number <= 42; }

}  // namespace

std::string to_string(Lane lane) { return lane == Lane::kRoot ? "root" : "user"; }

std::string to_string(Cellar cellar) {
  switch (cellar) {
    case Cellar::kNative:
      return "native";
    case Cellar::kBwrap:
      return "bwrap";
    case Cellar::kOverlay:
      return "overlay";
    case Cellar::kCopy:
      return "copy";
    case Cellar::kWayOut:
      return "way_out";
    default:
      return "process";
  }
}

bool has_workspace(Cellar cellar) { return cellar == Cellar::kOverlay || cellar == Cellar::kCopy; }

std::span<const Case> cases() { return table(); }

bool lane_possible(Lane lane) { return lane == Lane::kUser || ::geteuid() == 0; }

std::vector<std::pair<Lane, Cellar>> places_of(const Case& c) {
  std::vector<std::pair<Lane, Cellar>> out;
  for (const Lane lane : {Lane::kRoot, Lane::kUser}) {
    const bool left_out = (c.root_only && lane != Lane::kRoot) || (c.user_only && lane != Lane::kUser);
    if (!lane_possible(lane) || left_out) continue;
    if (is_about_mounts(c)) {
      for (const Cellar cellar : {Cellar::kOverlay, Cellar::kCopy}) out.emplace_back(lane, cellar);
    }
    if (c.workspace_only) continue;
    if (c.has_way_out) out.emplace_back(lane, Cellar::kWayOut);
    out.emplace_back(lane, Cellar::kNative);
    if (c.no_bwrap.empty()) out.emplace_back(lane, Cellar::kBwrap);
    if (c.no_process.empty() && (lane == Lane::kRoot || c.no_process_user.empty()))
      out.emplace_back(lane, Cellar::kProcess);
  }
  return out;
}

std::vector<Removal> removals_on(const Case& c, Lane lane, Cellar cellar) {
  constexpr std::string_view kRootOnly = "root/";
  std::vector<Removal> out;
  for (const Removal& removal : cellar == Cellar::kProcess ? c.process_removals
                                : cellar == Cellar::kBwrap ? std::vector<Removal>{}
                                                           : c.removals) {
    Removal& words = out.emplace_back();
    for (const std::string& what : removal) {
      if (!what.starts_with(kRootOnly)) {
        words.push_back(what);
      } else if (lane == Lane::kRoot) {
        words.push_back(what.substr(kRootOnly.size()));
      }
    }
    words.emplace_back("read-back");
  }
  return out;
}

std::string test_name(const Case& c, Lane lane, Cellar cellar) {
  return fmt::format("C{:02}{}{}_{}_{}", c.number, c.variant.empty() ? "" : "_", c.variant, to_string(lane),
                     to_string(cellar));
}

}  // namespace cloche::security
