// The system-call filter: an allowlist in which every entry has its reason, compiled into a short decision tree of
// classic BPF. Pure: no kernel is asked here.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace cloche::filter {

// What may differ from run to run. Everything else is fixed.
struct Options {
  bool inet_sockets = false;   // AF_INET and AF_INET6 may be created
  bool unix_sockets = true;    // AF_UNIX may be created
  bool exec_writable = false;  // executable memfds allowed
  bool own_ipc = true;  // System V and POSIX IPC: without a namespace they would be the host's, and outlive the run
  // Room on a disk may be taken ahead of writing: gigabytes at once, before anybody could look where no file system
  // holds the limit.
  bool reserve_room = true;
  bool operator==(const Options&) const = default;
};

enum class ActionKind : std::uint8_t { kAllow, kErrno, kKill, kNotify };
struct Action {
  ActionKind kind = ActionKind::kErrno;
  std::uint16_t errno_value = 0;
  bool operator==(const Action&) const = default;
  std::uint32_t encoded() const;  // SECCOMP_RET_*
};

// One argument test; the compiler compares at the width the kernel uses (CONTAINMENT 53).
struct ArgCheck {
  enum class Op : std::uint8_t { kEqual, kMaskedEqual } op = Op::kEqual;
  std::uint8_t index = 0;   // argument 0 to 5
  std::uint8_t width = 32;  // 32: low half only; 64: both halves
  std::uint64_t mask = ~0ull;
  std::uint64_t value = 0;
  bool operator==(const ArgCheck&) const = default;
};
// Checks of a clause are all true → its action. Clauses are tried in order; none matching → the rule's own action.
struct Clause {
  std::vector<ArgCheck> all;
  Action action;
  bool operator==(const Clause&) const = default;
};
struct Rule {
  std::uint32_t number = 0;  // system call number of the architecture
  std::string_view name;
  std::string_view reason;  // why it is allowed, or which attack denies it
  std::vector<Clause> clauses;
  Action action;
};

// The table for an architecture's AUDIT_ARCH_* value under the options, sorted by number.
std::vector<Rule> rules(std::uint32_t audit_arch, const Options& options);
std::uint32_t native_arch();

// How much of what a guest does is told to whoever watches it. Nothing of it changes what is allowed.
enum class Watch : std::uint8_t {
  kNothing,
  kCalls,  // what the filter denies, and calls by name that change files, execute, connect, bind or signal
  kFiles,  // and those that open files for reading, or look at them
  kAll,    // and those that do so from an open directory: every name
};
std::string_view to_string(Watch watch);  // "off", "calls", "files", "all": the words of a policy
// What of a plan decides how much has to be told.
struct Telling {
  Watch level = Watch::kNothing;
  // Addresses of IPv4 and IPv6 are known by other means, and no other socket can be made: not told below kAll.
  bool inet_elsewhere = false;
  bool own_processes = false;       // the cell counts its processes itself, from 1 up
  bool own_mounts = false;          // they decide what can be changed and executed, and not Landlock alone
  std::uint64_t files = 0;          // how many a process may have open; 0: not known
  std::uint32_t launch_socket = 0;  // by this one, with these flags, a guest-to-be sends when nobody listens yet
  std::uint32_t launch_flags = 0;   // 0: it does not
};
// The same rules, with a notification in place of a denial and of what is watched. Whoever gets it answers with what
// the plain rules say: that errno, or "go on". What a C library asks only to learn that it is missing (ENOSYS) is no
// denial and stays as it is.
std::vector<Rule> watched(std::vector<Rule> rules, const Telling& telling);

// Unknown numbers and x32 give ENOSYS, another architecture kills.
std::vector<sock_filter> compile(const std::vector<Rule>& rules, std::uint32_t audit_arch);

// Judges a program without running it (tests, plan printing): the SECCOMP_RET_* value for one call.
struct Call {
  std::uint32_t arch = 0;
  std::uint32_t number = 0;
  std::uint64_t args[6] = {};
};
std::uint32_t evaluate(const std::vector<sock_filter>& program, const Call& call);
// Whether the kernel would take the program; one that it would not take evaluates to a kill.
bool is_loadable(const std::vector<sock_filter>& program);

}  // namespace cloche::filter
