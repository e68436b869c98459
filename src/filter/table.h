// The table behind rules(): one entry per system call with its number on each architecture, its verdict and the reason.
// The groups are constant data; nothing runs at program start.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "filter/filter.h"

namespace cloche::filter {

inline constexpr std::int16_t kAbsent = -1;  // the architecture has no such call

enum class Verdict : std::uint8_t {
  kAllow,
  kDeny,     // EPERM
  kMissing,  // ENOSYS
  kGuarded,  // the arguments decide, see Guard
};

// Which argument rule a guarded call follows; guard.cc says what each one means.
enum class Guard : std::uint8_t {
  kNone,
  kClone,
  kIoctl,
  kFcntl,
  kSocket,
  kSocketpair,
  kMemfd,
  kExecveat,
  kPrlimit,
  kSetrlimit,
  kMode1,  // file mode in argument 1
  kMode2,  // file mode in argument 2
  kOpen,
  kOpenat,
  kPersonality,
  kPrctl,
  kMmap,
  kIpc,  // only inside an IPC namespace of its own
  kShmget,
  kSetpriority,  // itself only
  kIoprioSet,
  kRenameat2,
  kNode1,  // the mode is argument 1
  kNode2,
  kReserve,  // only on file systems of its own
};
inline constexpr std::size_t kGuardCount = 25;

struct Entry {
  std::string_view name;
  std::int16_t x86_64 = kAbsent;
  std::int16_t aarch64 = kAbsent;
  Verdict verdict = Verdict::kDeny;
  Guard guard = Guard::kNone;
  std::string_view reason;
};

constexpr Entry allow(std::string_view name, std::int16_t x86_64, std::int16_t aarch64, std::string_view reason) {
  return {name, x86_64, aarch64, Verdict::kAllow, Guard::kNone, reason};
}
constexpr Entry deny(std::string_view name, std::int16_t x86_64, std::int16_t aarch64, std::string_view reason) {
  return {name, x86_64, aarch64, Verdict::kDeny, Guard::kNone, reason};
}
constexpr Entry missing(std::string_view name, std::int16_t x86_64, std::int16_t aarch64, std::string_view reason) {
  return {name, x86_64, aarch64, Verdict::kMissing, Guard::kNone, reason};
}
constexpr Entry guarded(Guard guard, std::string_view name, std::int16_t x86_64, std::int16_t aarch64,
                        std::string_view reason) {
  return {name, x86_64, aarch64, Verdict::kGuarded, guard, reason};
}

struct Group {
  std::string_view title;
  std::span<const Entry> entries;
};
Group files_group();
Group memory_group();
Group process_group();
Group time_group();
Group network_group();
Group ipc_group();
Group denied_group();
std::array<Group, 7> groups();

// The entry's number on the architecture, or kAbsent.
std::int16_t number_on(const Entry& entry, std::uint32_t audit_arch);

// What a guard asks of the arguments: clauses in order, then the action when none matches.
struct GuardRules {
  std::vector<Clause> clauses;
  Action action;
};
GuardRules guard_rules(Guard guard, const Options& options);

// The same in words, for the documentation.
std::string_view guard_text(Guard guard, const Options& options);

}  // namespace cloche::filter
