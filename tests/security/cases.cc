#include "cases.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "prove/manifest.h"
#include "sys/file.h"

namespace cloche::security {
namespace {

// What the tests add to the attacks of attacks/: in which cells and as whom a victim runs, and what has to go before
// its attack gets through. An attack that is named by its victim alone is tried with all of the victim's attempts at
// once.
std::vector<Case> additions() {
  return {
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
       .attack = "host-terminal",
       .removals = {{"stdio"}},
       .process_removals = {{"stdio"}}},
      {.number = 3, .variant = "own_pty", .victim = "03_stdio", .attack = "own-terminal"},
      {.number = 4,
       .victim = "04_engine_binary",
       .removals = {{"expose:@BIN@", "landlock"}},
       .process_removals = {{"landlock", "root/identity"}}},
      {.number = 5, .victim = "05_environment", .removals = {{"environment"}}, .process_removals = {{"environment"}}},
      {.number = 6, .victim = "06_dash_arguments", .removals = {{"arguments"}}, .process_removals = {{"arguments"}}},
      {.number = 8, .victim = "08_memfd_exec", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
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
       .attack = "terminal-injection",
       .removals = {{"filter"}},
       .process_removals = {{"filter"}}},
      {.number = 11,
       .variant = "own_pty",
       .victim = "11_terminal_injection",
       .attack = "own-terminal-injection",
       .removals = {{"filter"}}},
      {.number = 14,
       .victim = "14_signal_state",
       .removals = {{"init:signal-mask"}, {"init:signal-handlers"}},
       .process_removals = {{"init:signal-mask"}, {"init:signal-handlers"}}},
      {.number = 15, .victim = "15_signal_outside", .removals = {{"namespaces:pid", "landlock", "filter"}}},
      {.number = 16, .victim = "16_orphans", .removals = {{"init:reap"}}},
      // Credentials
      {.number = 17,
       .victim = "17_no_new_privs",
       .removals = {{"no-new-privs", "landlock", "filter"}},
       .process_removals = {{"no-new-privs", "landlock", "filter"}}},
      {.number = 18,
       .victim = "18_capabilities",
       .removals = {{"capabilities"}},
       .process_removals = {{"capabilities"}}},
      {.number = 19, .victim = "19_securebits", .removals = {{"capabilities"}}, .process_removals = {{"capabilities"}}},
      {.number = 20,
       .victim = "20_groups",
       .root_only = true,
       .removals = {{"groups"}},
       .process_removals = {{"init:groups"}}},
      {.number = 20,
       .victim = "20_groups",
       .root_bait_removed = "an ordinary user with supplementary groups",
       .user_only = true,
       .bare = "the kernel itself denies setgroups to a user with one mapped group"},
      {.number = 21, .victim = "21_user", .removals = {{"identity:root"}}, .process_removals = {{"identity"}}},
      {.number = 22, .victim = "22_nested_user_namespace", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 23,
       .victim = "23_setuid",
       .removals = {{"init:nosuid"}},
       .process_removals = {{"no-new-privs", "landlock", "filter"}}},
      {.number = 24, .victim = "24_keyring", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      // Mounts and paths
      {.number = 27,
       .victim = "27_old_root",
       .removals = {{"expose:@DIR@", "landlock"}, {"pivot", "root-read-only", "landlock"}}},
      {.number = 29,
       .victim = "29_propagation",
       .root_bait_removed = "a shared mount tree",
       .removals = {{"init:propagation"}}},
      {.number = 30, .victim = "30_mount_point", .removals = {{"links", "init:links"}}},
      {.number = 31, .victim = "31_dev_symlink", .removals = {{"device-checks"}}},
      {.number = 32, .victim = "32_devices", .attack = "devices", .removals = {{"expose:/dev", "landlock"}}},
      {.number = 32,
       .variant = "wrong_device",
       .victim = "32_devices",
       .attack = "wrong-device",
       .removals = {{"device-checks"}}},
      {.number = 34,
       .victim = "34_read_only_submounts",
       .removals = {{"read-only", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 35, .victim = "35_mount_calls", .removals = {{"filter"}}, .process_removals = {{"filter"}}},
      {.number = 36, .victim = "36_root_read_only", .removals = {{"root-read-only", "landlock"}}},
      {.number = 37, .victim = "37_tmpfs_caps", .removals = {{"scratch-caps", "rlimit:fsize"}}},
      {.number = 38,
       .victim = "38_shared_memory",
       .removals = {{"expose:/dev/shm", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 39,
       .victim = "39_mknod",
       .removals = {{"filter", "landlock"}},
       .process_removals = {{"filter", "landlock"}}},
      {.number = 40,
       .victim = "40_host_sockets",
       .has_way_out = true,
       .removals = {{"expose:@DIR@", "landlock", "filter"}},
       .process_removals = {{"landlock", "filter"}}},
      {.number = 41,
       .victim = "41_leave_writable_root",
       .removals = {{"expose:@DIR@", "landlock"}},
       .process_removals = {{"landlock"}}},
      {.number = 41, .variant = "tree", .victim = "41_workspace", .workspace_only = true, .removals = {{"workspace"}}},
      {.number = 42, .victim = "42_noexec", .removals = {{"noexec", "landlock"}, {"noexec"}}},
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
       .liveness = true,
       .removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}},
       .process_removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}}},
      {.number = 59,
       .variant = "told_pages",
       .victim = "59_told_pages",
       .removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}},
       .process_removals = {{"cgroup:memory", "rlimit:as", "rlimit:data"}}},
      {.number = 60,
       .victim = "60_rlimits",
       .removals = {{"rlimit:nofile"}, {"rlimit:nproc"}, {"rlimit:fsize"}, {"rlimit:as"}, {"rlimit:core"}},
       .process_removals = {{"rlimit:nofile"}, {"rlimit:nproc"}, {"rlimit:fsize"}, {"rlimit:as"}, {"rlimit:core"}}},
      {.number = 60,
       .variant = "fork_bomb",
       .victim = "60_fork_bomb",
       .liveness = true,
       .removals = {{"cgroup:pids", "rlimit:nproc"}},
       .process_removals = {{"cgroup:pids", "rlimit:nproc"}}},
      {.number = 64,
       .victim = "64_shared_inodes",
       .removals = {{"filter"}},
       .process_removals = {{"filter", "root/identity"}}},
  };
}

// The rest stands in the header of the victim.
const std::vector<prove::Attack>& attacks() {
  static const std::vector<prove::Attack> kAttacks = [] {
    const auto text = sys::read_file(CLOCHE_BINARY_DIR "/attacks/manifest", prove::kMostManifest);
    if (!text) throw std::runtime_error(text.error().text());
    auto read = prove::read_manifest(*text);
    if (!read) throw std::runtime_error(read.error().text());
    return std::move(*read);
  }();
  return kAttacks;
}

void complete(Case& c) {
  const auto is_meant = [&c](const prove::Attack& one) {
    return one.victim == c.victim && (c.attack.empty() || one.name == c.attack);
  };
  const auto found = std::ranges::find_if(attacks(), is_meant);
  if (found == attacks().end()) throw std::runtime_error("no attack of " + c.victim + " " + c.attack);
  const bool is_one = std::ranges::count_if(attacks(), is_meant) == 1;
  if (is_one) c.args = found->args;
  c.process_args = found->process_args.value_or(prove::Words{});
  c.way_out_args = found->way_out_args.value_or(prove::Words{});
  c.options = found->options;
  c.bait = found->bait;
  c.expected = found->held;
  c.no_bwrap = found->no_bwrap;
  c.no_bwrap_root = found->no_bwrap_root;
  c.no_process = c.user_only ? found->no_process_user : found->no_process;
  c.no_process_user = found->no_process_user;
  c.same_for_all = std::ranges::all_of(attacks(), [&](const prove::Attack& one) {
    return !is_meant(one) ||
           (one.options == c.options && one.bait == c.bait && one.held == c.expected && one.no_bwrap == c.no_bwrap &&
            one.no_bwrap_root == c.no_bwrap_root && one.no_process == found->no_process &&
            one.no_process_user == c.no_process_user && one.process_args == found->process_args);
  });
}

const std::vector<Case>& table() {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> out = additions();
    for (Case& c : out) complete(c);
    return out;
  }();
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
    if (c.no_bwrap.empty() && (lane == Lane::kUser || c.no_bwrap_root.empty())) out.emplace_back(lane, Cellar::kBwrap);
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
