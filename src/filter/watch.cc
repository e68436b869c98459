#include "filter/watch.h"

#include <netinet/in.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cloche::filter {
namespace {

constexpr std::int8_t kNone = kNoArgument;
constexpr auto kCalls = std::to_array<WatchedCall>({
    {"open", Use::kOpen, Watch::kCalls, 0, kNone, 1, kNone, kNone},
    {"openat", Use::kOpen, Watch::kCalls, 1, 0, 2, kNone, kNone},
    {"creat", Use::kMake, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mkdir", Use::kMake, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mkdirat", Use::kMake, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"mknod", Use::kMake, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mknodat", Use::kMake, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"symlink", Use::kMake, Watch::kCalls, 1, kNone, kNone, kNone, kNone},
    {"symlinkat", Use::kMake, Watch::kCalls, 2, 1, kNone, kNone, kNone},
    {"truncate", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"chmod", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"fchmodat", Use::kChange, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"fchmodat2", Use::kChange, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"utimensat", Use::kChange, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"utime", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"utimes", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"futimesat", Use::kChange, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"chown", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lchown", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"fchownat", Use::kChange, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"setxattr", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lsetxattr", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"removexattr", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lremovexattr", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"unlink", Use::kRemove, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"unlinkat", Use::kRemove, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"rmdir", Use::kRemove, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"rename", Use::kRemove, Watch::kCalls, 0, kNone, kNone, 1, kNone},
    {"renameat", Use::kRemove, Watch::kCalls, 1, 0, kNone, 3, 2},
    {"renameat2", Use::kRemove, Watch::kCalls, 1, 0, kNone, 3, 2},
    {"link", Use::kOpen, Watch::kCalls, 0, kNone, kNone, 1, kNone},
    {"linkat", Use::kOpen, Watch::kCalls, 1, 0, kNone, 3, 2},
    {"execve", Use::kExecute, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"execveat", Use::kExecute, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"connect", Use::kConnect, Watch::kCalls, 1, kNone, kNone, kNone, kNone},
    {"bind", Use::kBind, Watch::kCalls, 1, kNone, kNone, kNone, kNone},
    {"kill", Use::kSignal, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, 1},
    {"tkill", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 1},
    {"tgkill", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 2},
    {"rt_sigqueueinfo", Use::kSignal, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, 1},
    {"rt_tgsigqueueinfo", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 2},
    {"chdir", Use::kEnter, Watch::kFiles, 0, kNone, kNone, kNone, kNone},
    {"stat", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"lstat", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"newfstatat", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
    {"statx", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
    {"access", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"faccessat", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
    {"faccessat2", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
    {"readlink", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"readlinkat", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
});

// Every launch looks each of its rules up.
constexpr auto kByName = [] {
  auto out = kCalls;
  std::ranges::sort(out, {}, &WatchedCall::name);
  return out;
}();

// Most names differ at a glance from all of them.
constexpr std::size_t kMostShapes = 512;
constexpr std::size_t shape_of(std::string_view name) {
  const auto letter = [](char c) { return static_cast<std::size_t>(static_cast<unsigned char>(c)); };
  return (name.size() * 37 + letter(name.front()) * 5 + letter(name.back())) % kMostShapes;
}
constexpr auto kShapes = [] {
  std::array<bool, kMostShapes> out{};
  for (const WatchedCall& call : kCalls) out[shape_of(call.name)] = true;
  return out;
}();

constexpr Action kAllowIt{ActionKind::kAllow, 0};
constexpr Action kTellIt{ActionKind::kNotify, 0};

// Denied calls of which a user would want to hear. ENOSYS is a question; ENOMEM is about huge pages.
Action told(const Action& action) {
  const bool denied = action.kind == ActionKind::kErrno && action.errno_value != ENOSYS && action.errno_value != ENOMEM;
  return denied ? kTellIt : action;
}

ArgCheck from_working_directory(std::int8_t place) {
  constexpr std::uint64_t kHere = 0xffffff9c;  // AT_FDCWD; an int, so 32 bits of it count
  return {ArgCheck::Op::kEqual, static_cast<std::uint8_t>(place), 32, ~0ull, kHere};
}

ArgCheck only_reads(std::int8_t flags) {
  return {ArgCheck::Op::kMaskedEqual, static_cast<std::uint8_t>(flags), 32, kOpensToChange, 0};
}

// What a clause that allows becomes: the same checks, sorted by what is told of it. Programs that read whole trees do
// it from open directories: below kAll that is not told, since who has the directory open may read it. What changes
// something is always told.
void add_allowed(std::vector<Clause>& out, const std::vector<ArgCheck>& checks, const WatchedCall& call, Watch watch) {
  const auto with = [&](std::initializer_list<ArgCheck> more, Action action) {
    Clause clause{checks, action};
    clause.all.insert(clause.all.end(), more);
    out.push_back(std::move(clause));
  };
  if (watch < Watch::kAll && call.flags != kNoArgument) {
    const bool named = watch >= Watch::kFiles;
    if (named && call.place != kNoArgument) {
      with({only_reads(call.flags), from_working_directory(call.place)}, kTellIt);
    }
    if (!named || call.place != kNoArgument) with({only_reads(call.flags)}, kAllowIt);
  }
  with({}, kTellIt);
}

// Whose address it is cannot be seen in the arguments, but how long it is. Few addresses of other sorts are as long.
void leave_out_inet(Rule& rule) {
  constexpr std::uint8_t kLength = 2;
  std::vector<Clause> clauses;
  for (const std::uint64_t size : {sizeof(sockaddr_in), sizeof(sockaddr_in6)}) {
    clauses.push_back({{{ArgCheck::Op::kEqual, kLength, 32, ~0ull, size}}, kAllowIt});
  }
  rule.clauses.insert(rule.clauses.begin(), clauses.begin(), clauses.end());
}

// Who asks whether somebody is there asks often, and is answered. With the other one some runtimes interrupt their own
// threads a hundred times a second.
void leave_out_signals(Rule& rule, const WatchedCall& call) {
  for (const std::uint64_t signal : {0, SIGURG}) {
    const ArgCheck check{ArgCheck::Op::kEqual, static_cast<std::uint8_t>(call.signal), 32, ~0ull, signal};
    rule.clauses.push_back({{check}, rule.action});
  }
}

void tell_of_allowed(Rule& rule, const WatchedCall& call, Watch watch) {
  std::vector<Clause> clauses;
  for (Clause& clause : rule.clauses) {
    if (clause.action == kAllowIt && call.use != Use::kSignal) {
      add_allowed(clauses, clause.all, call, watch);
    } else {
      clauses.push_back(std::move(clause));
    }
  }
  if (rule.action == kAllowIt) {
    add_allowed(clauses, {}, call, watch);
    // The last of them asks for nothing: it is the rule's own action.
    rule.action = clauses.back().action;
    clauses.pop_back();
  }
  rule.clauses = std::move(clauses);
}

}  // namespace

std::span<const WatchedCall> watched_calls() { return kByName; }

const WatchedCall* find_watched_call(std::string_view name) {
  if (name.empty() || !kShapes[shape_of(name)]) return nullptr;
  const auto found = std::ranges::lower_bound(kByName, name, {}, &WatchedCall::name);
  return found != kByName.end() && found->name == name ? &*found : nullptr;
}

std::vector<Rule> watched(std::vector<Rule> rules, Watch watch, bool inet_elsewhere) {
  if (watch == Watch::kNothing) return rules;
  for (Rule& rule : rules) {
    for (Clause& clause : rule.clauses) clause.action = told(clause.action);
    // By unshare(0) a guest-to-be tries the filter, before anybody listens.
    if (rule.name == "unshare") rule.clauses.push_back({{{ArgCheck::Op::kEqual, 0, 64, ~0ull, 0}}, rule.action});
    rule.action = told(rule.action);
    const WatchedCall* call = find_watched_call(rule.name);
    if (call == nullptr) continue;
    if (call->use == Use::kSignal) leave_out_signals(rule, *call);
    const bool plain = rule.clauses.empty() && rule.action == kAllowIt;
    if (watch >= call->from) tell_of_allowed(rule, *call, watch);
    if (plain && inet_elsewhere && watch < Watch::kAll && rule.name == "connect") leave_out_inet(rule);
  }
  return rules;
}

}  // namespace cloche::filter
