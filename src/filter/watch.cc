#include "filter/watch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>

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
    {"creat", Use::kOpen, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mkdir", Use::kMake, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mkdirat", Use::kMake, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"mknod", Use::kMake, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"mknodat", Use::kMake, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"symlink", Use::kMake, Watch::kCalls, 1, kNone, kNone, kNone, kNone},
    {"symlinkat", Use::kMake, Watch::kCalls, 2, 1, kNone, kNone, kNone},
    {"truncate", Use::kChange, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"chmod", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"fchmodat", Use::kMark, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"fchmodat2", Use::kMark, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"utimensat", Use::kMark, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"utime", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"utimes", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"futimesat", Use::kMark, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"chown", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lchown", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"fchownat", Use::kMark, Watch::kCalls, 1, 0, kNone, kNone, kNone},
    {"fchmod", Use::kMark, Watch::kCalls, kNone, 0, kNone, kNone, kNone},
    {"fchown", Use::kMark, Watch::kCalls, kNone, 0, kNone, kNone, kNone},
    {"fsetxattr", Use::kMark, Watch::kCalls, kNone, 0, kNone, kNone, kNone},
    {"fremovexattr", Use::kMark, Watch::kCalls, kNone, 0, kNone, kNone, kNone},
    {"setxattr", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lsetxattr", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"removexattr", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
    {"lremovexattr", Use::kMark, Watch::kCalls, 0, kNone, kNone, kNone, kNone},
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
    {"mmap", Use::kMap, Watch::kFiles, kNone, 4, kNone, kNone, kNone},
    {"connect", Use::kConnect, Watch::kCalls, 1, kNone, kNone, kNone, kNone, kNone, 2, 0},
    {"bind", Use::kBind, Watch::kCalls, 1, kNone, kNone, kNone, kNone, kNone, 2, 0},
    {"sendto", Use::kConnect, Watch::kCalls, 4, kNone, kNone, kNone, kNone, kNone, 5},
    {"sendmmsg", Use::kSend, Watch::kCalls, 1, kNone, kNone, kNone, kNone, kNone, 2},
    {"sendmsg", Use::kSend, Watch::kAll, 1, kNone, kNone, kNone, kNone},
    {"kill", Use::kSignal, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, 1},
    {"tkill", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 1},
    {"tgkill", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 2},
    {"rt_sigqueueinfo", Use::kSignal, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, 1},
    {"rt_tgsigqueueinfo", Use::kSignal, Watch::kAll, kNone, kNone, kNone, kNone, kNone, 2},
    {"pidfd_open", Use::kHandle, Watch::kCalls, kNone, kNone, kNone, kNone, kNone},
    {"pidfd_send_signal", Use::kSignalByHandle, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, 1},
    {"close", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"ioctl", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"listen", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"setsockopt", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"getsockname", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"getpeername", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"ftruncate", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"epoll_ctl", Use::kHold, Watch::kCalls, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 2},
    {"socket", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"accept", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"accept4", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"dup", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"fcntl", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone, kNone, kNone, 0},
    {"eventfd", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"eventfd2", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"epoll_create", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"epoll_create1", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"timerfd_create", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"inotify_init", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"inotify_init1", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"memfd_create", Use::kDescriptor, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"pipe", Use::kPair, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"pipe2", Use::kPair, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"socketpair", Use::kPair, Watch::kAll, kNone, kNone, kNone, kNone, kNone},
    {"chdir", Use::kEnter, Watch::kFiles, 0, kNone, kNone, kNone, kNone},
    {"stat", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"lstat", Use::kLook, Watch::kAll, 0, kNone, kNone, kNone, kNone},
    {"newfstatat", Use::kLook, Watch::kAll, 1, 0, kNone, kNone, kNone},
    {"statx", Use::kLook, Watch::kFiles, 1, 0, kNone, kNone, kNone},
    {"access", Use::kLook, Watch::kFiles, 0, kNone, kNone, kNone, kNone},
    {"faccessat", Use::kLook, Watch::kFiles, 1, 0, kNone, kNone, kNone},
    {"faccessat2", Use::kLook, Watch::kFiles, 1, 0, kNone, kNone, kNone},
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

// Denied calls of which a user would want to hear. ENOSYS is a question; ENOMEM is about huge pages, and EOPNOTSUPP
// about room on a disk: programs do without.
Action told(const Action& action) {
  constexpr auto kExpected = std::to_array<int>({ENOSYS, ENOMEM, EOPNOTSUPP});
  const bool denied = action.kind == ActionKind::kErrno &&
                      std::ranges::find(kExpected, static_cast<int>(action.errno_value)) == kExpected.end();
  return denied ? kTellIt : action;
}

// An int, so 32 bits of it count.
ArgCheck equals(std::int8_t argument, std::uint64_t value) {
  return {ArgCheck::Op::kEqual, static_cast<std::uint8_t>(argument), 32, ~0ull, value};
}

ArgCheck from_working_directory(std::int8_t place) {
  constexpr std::uint64_t kHere = 0xffffff9c;  // AT_FDCWD
  return equals(place, kHere);
}

ArgCheck only_reads(std::int8_t flags) {
  return {ArgCheck::Op::kMaskedEqual, static_cast<std::uint8_t>(flags), 32, kOpensToChange, 0};
}

// Of mmap. Memory of no file is what compilers make code in, again and again.
constexpr ArgCheck kToExecute{ArgCheck::Op::kMaskedEqual, 2, 32, PROT_EXEC, PROT_EXEC};
constexpr ArgCheck kOfAFile{ArgCheck::Op::kMaskedEqual, 3, 32, MAP_ANONYMOUS, 0};

// Of statx. Programs that a person types ask so; runtimes that look for modules thousands of times do not.
constexpr ArgCheck kAsLsDoes{ArgCheck::Op::kMaskedEqual, 2, 32, AT_NO_AUTOMOUNT, AT_NO_AUTOMOUNT};

// What a clause that allows becomes: the same checks, sorted by what is told of it. Programs that read or look through
// whole trees do it from open directories: below kAll that is not told, since who has the directory open may read it.
// What changes something is always told.
void add_allowed(std::vector<Clause>& out, const std::vector<ArgCheck>& checks, const WatchedCall& call, Watch watch) {
  const auto with = [&](std::initializer_list<ArgCheck> more, Action action) {
    Clause clause{checks, action};
    clause.all.insert(clause.all.end(), more);
    out.push_back(std::move(clause));
  };
  if (call.use == Use::kMap) {
    with({kToExecute, kOfAFile}, kTellIt);
    return with({}, kAllowIt);
  }
  if (watch < Watch::kAll && call.use == Use::kLook && call.place != kNoArgument) {
    if (call.name == "statx") {
      with({from_working_directory(call.place), kAsLsDoes}, kTellIt);
    } else {
      with({from_working_directory(call.place)}, kTellIt);
    }
    return with({}, kAllowIt);
  }
  if (watch < Watch::kAll && call.flags != kNoArgument) {
    const bool named = watch >= Watch::kFiles;
    if (named && call.place != kNoArgument) {
      with({only_reads(call.flags), from_working_directory(call.place)}, kTellIt);
    }
    if (!named || call.place != kNoArgument) with({only_reads(call.flags)}, kAllowIt);
  }
  with({}, kTellIt);
}

void leave_out(Rule& rule, std::vector<ArgCheck> checks) {
  rule.clauses.insert(rule.clauses.begin(), {std::move(checks), kAllowIt});
}

// What is sent on a connection names nobody. Whose address it is cannot be seen in the arguments, but how long it is.
void leave_out_addresses(Rule& rule, const WatchedCall& call, const Telling& telling) {
  if (telling.inet_elsewhere && telling.level < Watch::kAll && call.use == Use::kConnect) {
    for (const std::uint64_t size : {sizeof(sockaddr_in), sizeof(sockaddr_in6)}) {
      leave_out(rule, {equals(call.size, size)});
    }
  }
  if (rule.name == "sendto") leave_out(rule, {{ArgCheck::Op::kEqual, 4, 64, ~0ull, 0}});
  if (rule.name == "sendmsg" && telling.launch_flags != 0) {
    leave_out(rule, {equals(0, telling.launch_socket), equals(2, telling.launch_flags)});
  }
}

bool is_signal(Use use) { return use == Use::kSignal || use == Use::kHandle || use == Use::kSignalByHandle; }

// Who asks whether somebody is there asks often, and is answered. With the other one some runtimes interrupt their own
// threads a hundred times a second. Libraries signal threads of their own process, which is one of the cell's.
void leave_out_signals(Rule& rule, const WatchedCall& call, const Telling& telling) {
  if (call.signal != kNoArgument) {
    for (const std::uint64_t signal : {0, SIGURG}) rule.clauses.push_back({{equals(call.signal, signal)}, rule.action});
  }
  if (telling.own_processes && call.use != Use::kSignalByHandle) {
    constexpr std::uint64_t kHigh = 0xffffffff & ~std::uint64_t{kOwnNumbers - 1};
    rule.clauses.push_back({{{ArgCheck::Op::kMaskedEqual, 0, 32, kHigh, 0}}, rule.action});
  }
}

void tell_of_some(Rule& rule, std::int8_t argument, std::initializer_list<std::uint64_t> values) {
  for (const std::uint64_t value : values) {
    rule.clauses.insert(rule.clauses.begin(), {{equals(argument, value)}, kTellIt});
  }
}

// From which level on it is told of. Threads have numbers of the whole host where the cell has none of its own, and
// then the filter cannot know whose they are.
Watch level_of(const WatchedCall& call, const Telling& telling) {
  return telling.own_processes && call.use == Use::kSignal ? Watch::kCalls : call.from;
}

void tell_of_allowed(Rule& rule, const WatchedCall& call, Watch watch) {
  std::vector<Clause> clauses;
  for (Clause& clause : rule.clauses) {
    if (clause.action == kAllowIt && !is_signal(call.use)) {
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

void tell_of(Rule& rule, const WatchedCall& call, const Telling& telling) {
  if (call.use == Use::kHold) return;
  if (rule.name == "fcntl") return tell_of_some(rule, 1, {F_DUPFD, F_DUPFD_CLOEXEC});
  if (is_signal(call.use)) leave_out_signals(rule, call, telling);
  const bool plain = rule.clauses.empty() && rule.action == kAllowIt;
  tell_of_allowed(rule, call, telling.level);
  if (plain) leave_out_addresses(rule, call, telling);
}

}  // namespace

std::string_view to_string(Watch watch) {
  switch (watch) {
    case Watch::kNothing:
      break;
    case Watch::kCalls:
      return "calls";
    case Watch::kFiles:
      return "files";
    case Watch::kAll:
      return "all";
  }
  return "off";
}

std::span<const WatchedCall> watched_calls() { return kByName; }

const WatchedCall* find_watched_call(std::string_view name) {
  if (name.empty() || !kShapes[shape_of(name)]) return nullptr;
  const auto found = std::ranges::lower_bound(kByName, name, {}, &WatchedCall::name);
  return found != kByName.end() && found->name == name ? &*found : nullptr;
}

std::vector<Rule> watched(std::vector<Rule> rules, const Telling& telling) {
  if (telling.level == Watch::kNothing) return rules;
  for (Rule& rule : rules) {
    for (Clause& clause : rule.clauses) clause.action = told(clause.action);
    // By unshare(0) a guest-to-be tries the filter, before anybody listens.
    if (rule.name == "unshare") rule.clauses.push_back({{{ArgCheck::Op::kEqual, 0, 64, ~0ull, 0}}, rule.action});
    rule.action = told(rule.action);
    const WatchedCall* call = find_watched_call(rule.name);
    if (call == nullptr) continue;
    // Where no mount decides nobody does: Landlock judges neither mappings nor modes.
    if (is_by_descriptor(*call) && !telling.own_mounts) continue;
    if (telling.level >= level_of(*call, telling)) tell_of(rule, *call, telling);
    // The kernel gives out the lowest number that is free: with the last one in use the next may be refused, and that
    // is where nobody could tell of it.
    if (call->descriptor != kNoArgument && telling.files != 0)
      tell_of_some(rule, call->descriptor, {telling.files - 1});
  }
  return rules;
}

}  // namespace cloche::filter
