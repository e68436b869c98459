#include "cases.h"

#include <fmt/format.h>

namespace cloche::security {
namespace {

constexpr const char* kNoProc = "bwrap mounts no /proc here, so the victim cannot see its mounts or maps";
constexpr const char* kNoMountFlags =
    "bwrap cannot give its tmpfs mounts noexec or an inode cap; the plan says weakened";

const std::vector<Case>& table() {
  static const std::vector<Case> kCases = {
      // Descriptors and exec
      {.number = 1, .victim = "01_descriptors", .removals = {{"direct"}}},
      {.number = 2, .victim = "02_directory_descriptors", .removals = {{"direct"}}},
      {.number = 3, .victim = "03_stdio", .options = {"--stdin"}, .bait = {"--tty"}, .removals = {{"direct"}}},
      {.number = 3,
       .variant = "own_pty",
       .victim = "03_stdio",
       .args = {"own-pty"},
       .options = {"--tty"},
       .bait = {"--tty"}},
      {.number = 4, .victim = "04_engine_binary", .removals = {{"direct"}}},
      {.number = 5, .victim = "05_environment", .removals = {{"environment"}}},
      {.number = 6,
       .victim = "06_dash_arguments",
       .args = {"--help", "--tier", "process", "-", "--", "--bind", "/", "/", "--version"},
       .removals = {{"direct"}}},
      {.number = 8, .victim = "08_memfd_exec", .no_bwrap = kNoMountFlags, .removals = {{"filter"}}},
      {.number = 9, .victim = "09_receive_descriptors", .removals = {{"expose:@DIR@", "landlock", "filter"}}},
      {.number = 10, .victim = "10_handles", .removals = {{"direct"}}},
      // Session and signals
      {.number = 11,
       .victim = "11_terminal_injection",
       .options = {"--stdin"},
       .bait = {"--tty"},
       .removals = {{"filter"}}},
      {.number = 11,
       .variant = "own_pty",
       .victim = "11_terminal_injection",
       .options = {"--tty"},
       .bait = {"--tty"},
       .removals = {{"filter"}}},
      {.number = 14, .victim = "14_signal_state", .removals = {{"direct"}}},
      {.number = 15, .victim = "15_signal_outside", .removals = {{"direct"}}},
      {.number = 16, .victim = "16_orphans", .removals = {{"direct"}}},
      // Credentials
      {.number = 17, .victim = "17_no_new_privs", .removals = {{"no-new-privs", "landlock", "filter"}}},
      {.number = 18, .victim = "18_capabilities", .removals = {{"capabilities"}}},
      {.number = 19, .victim = "19_securebits", .removals = {{"capabilities"}}},
      {.number = 20, .victim = "20_groups", .removals = {{"direct"}}},
      {.number = 21, .victim = "21_user", .no_bwrap = kNoProc, .removals = {{"identity:root"}}},
      {.number = 22, .victim = "22_nested_user_namespace", .removals = {{"filter"}}},
      {.number = 23, .victim = "23_setuid", .removals = {{"direct"}}},
      {.number = 24, .victim = "24_keyring", .removals = {{"filter"}}},
      // Mounts and paths
      {.number = 27,
       .victim = "27_old_root",
       .removals = {{"expose:@DIR@", "landlock"}, {"pivot", "root-read-only", "landlock"}}},
      {.number = 29, .victim = "29_propagation", .no_bwrap = kNoProc, .removals = {{"direct"}}},
      {.number = 30,
       .victim = "30_mount_point",
       .options = {"--write", "@WRITE@", "--read", "@WRITE@/evil/sub"},
       .expected = {0, 2, 125, 126},
       .removals = {{"direct"}}},
      {.number = 31,
       .victim = "31_dev_symlink",
       .bait = {"--evil-dev", "symlink"},
       .expected = {0, 125, 126},
       .no_bwrap = "bwrap binds the host's /dev nodes as they are",
       .removals = {{"direct"}}},
      {.number = 32, .victim = "32_devices", .removals = {{"expose:/dev", "landlock"}}},
      {.number = 32,
       .variant = "wrong_device",
       .victim = "32_devices",
       .bait = {"--evil-dev", "wrong"},
       .expected = {125, 126},
       .no_bwrap = "bwrap binds the host's /dev nodes as they are",
       .removals = {{"direct"}}},
      {.number = 34,
       .victim = "34_read_only_submounts",
       .options = {"--read", "@READ@"},
       .removals = {{"read-only", "landlock"}}},
      {.number = 35, .victim = "35_mount_calls", .removals = {{"filter"}}},
      {.number = 36, .victim = "36_root_read_only", .removals = {{"root-read-only", "landlock"}}},
      {.number = 37,
       .victim = "37_tmpfs_caps",
       .options = {"--disk", "16M", "--memory", "256M"},
       .no_bwrap = kNoMountFlags,
       .removals = {{"scratch-caps", "rlimit:fsize"}}},
      {.number = 38, .victim = "38_shared_memory", .removals = {{"expose:/dev/shm", "landlock"}}},
      {.number = 39, .victim = "39_mknod", .no_bwrap = kNoProc, .removals = {{"filter", "landlock"}}},
      {.number = 40, .victim = "40_host_sockets", .removals = {{"expose:@DIR@", "landlock", "filter"}}},
      {.number = 41,
       .victim = "41_leave_writable_root",
       .options = {"--write", "@WRITE@"},
       .expected = {0, 126},  // bwrap under root refuses to grant for writing
       .removals = {{"expose:@DIR@", "landlock"}}},
      {.number = 42,
       .victim = "42_noexec",
       .options = {"--write", "@WRITE@"},
       .no_bwrap = kNoMountFlags,
       .removals = {{"noexec", "landlock"}, {"noexec"}}},
      // /proc and kernel surface
      {.number = 43, .victim = "43_proc_view", .removals = {{"expose:/proc", "landlock"}}},
      {.number = 44, .victim = "44_proc_files", .removals = {{"expose:/proc", "landlock"}}},
      {.number = 45, .victim = "45_core_dump", .removals = {{"filter"}, {"rlimit:core"}}},
      {.number = 46, .victim = "46_kernel_filesystems", .no_bwrap = kNoProc, .removals = {{"expose:/sys", "landlock"}}},
      {.number = 47, .victim = "47_other_processes", .removals = {{"filter"}}},
      {.number = 48, .victim = "48_kernel_calls", .removals = {{"filter"}}},
      {.number = 49, .victim = "49_io_uring", .removals = {{"filter"}}},
      // System-call filter
      {.number = 50, .victim = "50_architecture", .removals = {{"filter"}}},
      {.number = 51, .victim = "51_clone_flags", .removals = {{"filter"}}},
      {.number = 52, .victim = "52_unknown_calls", .removals = {{"filter:enosys"}}},
      {.number = 53, .victim = "53_argument_width", .removals = {{"filter"}}},
      {.number = 54, .victim = "54_first_instruction", .removals = {{"filter"}}},
      {.number = 55, .victim = "55_socket_families", .removals = {{"filter"}}},
      // IPC and network
      {.number = 56, .victim = "56_abstract_socket", .removals = {{"namespaces:net", "landlock", "filter"}}},
      {.number = 58, .victim = "58_ipc", .removals = {{"namespaces:ipc"}}},
      // Limits and honesty
      {.number = 59,
       .victim = "59_memory",
       .options = {"--memory", "64M"},
       .expected = {0, 137},
       .removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}}},
      {.number = 60,
       .victim = "60_rlimits",
       .options = {"--files", "64", "--pids", "32"},
       .removals = {{"rlimit:nofile"}, {"rlimit:nproc"}, {"rlimit:fsize"}, {"rlimit:as"}, {"rlimit:core"}}},
      {.number = 60,
       .variant = "fork_bomb",
       .victim = "60_fork_bomb",
       .options = {"--pids", "32"},
       .removals = {{"cgroup:pids", "rlimit:nproc"}}},
      {.number = 64, .victim = "64_shared_inodes", .options = {"--read", "@READ@"}, .removals = {{"filter"}}},
  };
  return kCases;
}

}  // namespace

std::string to_string(Lane lane) { return lane == Lane::kRoot ? "root" : "user"; }
std::string to_string(Cellar cellar) { return cellar == Cellar::kNative ? "native" : "bwrap"; }

std::span<const Case> cases() { return table(); }

std::string test_name(const Case& c, Lane lane, Cellar cellar) {
  return fmt::format("C{:02}{}{}_{}_{}", c.number, c.variant.empty() ? "" : "_", c.variant, to_string(lane),
                     to_string(cellar));
}

}  // namespace cloche::security
