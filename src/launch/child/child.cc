#include "launch/child/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>

#include "wire/raw_call.h"
#include "wire/wire.h"

#define CLOCHE_NO_SANITIZE __attribute__((no_sanitize("address", "undefined"), noinline))

namespace cloche {
namespace {

using wire::raw_call;

long address(const void* p) { return reinterpret_cast<long>(p); }

// Tells the engine, as cloche-init would, and ends.
[[noreturn]] CLOCHE_NO_SANITIZE void give_up(int control_fd, long error, int step = wire::kExecOfInit) {
  wire::Message message;
  auto* bytes = reinterpret_cast<volatile unsigned char*>(&message);
  for (std::size_t i = 0; i < sizeof message; ++i) bytes[i] = 0;
  message.kind = wire::MessageKind::kFailed;
  message.step = step;
  message.error = static_cast<std::int32_t>(-error);
  raw_call(SYS_write, control_fd, address(&message), sizeof message);
  for (;;) raw_call(SYS_exit, 125);
}

CLOCHE_NO_SANITIZE std::uint64_t now() {
  constexpr long kMonotonic = 1;
  long time[2];
  raw_call(SYS_clock_gettime, kMonotonic, address(time));
  return static_cast<std::uint64_t>(time[0]) * 1'000'000'000 + static_cast<std::uint64_t>(time[1]);
}

CLOCHE_NO_SANITIZE long keep_capabilities(std::uint64_t caps) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  data[0].effective = data[0].permitted = data[0].inheritable = static_cast<std::uint32_t>(caps);
  data[1].effective = data[1].permitted = data[1].inheritable = static_cast<std::uint32_t>(caps >> 32);
  long result = raw_call(SYS_capset, address(&header), address(data));
  for (long cap = 0; cap < 64 && result == 0; ++cap) {
    if ((caps >> cap & 1) != 0) result = raw_call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap);
  }
  return result;
}

[[noreturn]] CLOCHE_NO_SANITIZE void run_child(const void* argument) {
  const auto* spec = static_cast<const ChildSpec*>(argument);
  spec->times->born = now();
  if (spec->moved != nullptr) {
    // Not for ever: whoever would tell may have been killed. Who is late sees that it was not waited for. By the clock:
    // on busy cpus each yield can take milliseconds.
    constexpr std::uint64_t kPatience = 20'000'000;
    while (__atomic_load_n(spec->moved, __ATOMIC_ACQUIRE) == kNotMoved && now() - spec->times->born < kPatience) {
      raw_call(SYS_sched_yield);
    }
    std::uint32_t expected = kNotMoved;
    __atomic_compare_exchange_n(spec->moved, &expected, kNotAwaited, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    raw_call(SYS_sched_setaffinity, 0, static_cast<long>(spec->cpus_size), address(spec->cpus));
  }
  // A thread that moves itself needs no lock on all of the kernel's forks; being moved by the engine would wait for
  // one, for milliseconds. Here, before the exec, so that nothing this process makes is ever outside.
  for (int i = 0; i < spec->cgroup_count; ++i) {
    const long moved = raw_call(SYS_write, spec->cgroups[i], address("0"), 1);
    if (moved < 0) give_up(spec->control_fd, moved, wire::kEntryOfCgroup);
  }
  if (spec->unshare != 0) {
    const long apart = raw_call(SYS_unshare, static_cast<long>(spec->unshare));
    if (apart < 0) give_up(spec->control_fd, apart, wire::kNamespaces);
  }
  spec->times->apart = now();
  int control = spec->control_fd;
  int init = spec->init_fd;
  long result = 0;
  // Out of the way of the numbers that will be taken first.
  constexpr long kAside = 100;
  result = raw_call(SYS_fcntl, control, F_DUPFD_CLOEXEC, kAside);
  if (result < 0) give_up(control, result);
  control = static_cast<int>(result);
  result = raw_call(SYS_fcntl, init, F_DUPFD_CLOEXEC, kAside);
  if (result < 0) give_up(control, result);
  init = static_cast<int>(result);
  int stdio = control;
  if (spec->stdio_fd >= 0) {
    result = raw_call(SYS_fcntl, spec->stdio_fd, F_DUPFD_CLOEXEC, kAside);
    if (result < 0) give_up(control, result);
    stdio = static_cast<int>(result);
  }
  for (int fd = 0; fd <= wire::kControlFd; ++fd) {
    result = raw_call(SYS_dup3, fd < wire::kControlFd ? stdio : control, fd, 0);
    if (result < 0) give_up(control, result);
  }
  if (spec->own_session) raw_call(SYS_setsid);
  // The engine keeps these at 100 and up, so that no target is a source.
  for (int i = 0; i < spec->keep_count; ++i) {
    result = raw_call(SYS_dup3, spec->keep[i], wire::kControlFd + 1 + i, 0);
    if (result < 0) give_up(control, result);
  }
  // Whatever else the host program holds open, sockets and database handles included, ends here (N7).
  constexpr long kCloseRange = 436;
  constexpr long kCloexec = 4;
  result = raw_call(kCloseRange, wire::kControlFd + 1 + spec->keep_count, 0xffffffffL, kCloexec);
  if (result < 0) give_up(control, result);
  if (spec->ambient_caps != 0) {
    result = keep_capabilities(spec->ambient_caps);
    if (result < 0) give_up(control, result);
  }
  const char* const no_environment[] = {nullptr};
  result = raw_call(SYS_execveat, init, address(""), address(spec->argv), address(no_environment), AT_EMPTY_PATH);
  give_up(control, result);
}

[[noreturn]] CLOCHE_NO_SANITIZE void run_janitor(const void* argument) {
  const auto* spec = static_cast<const JanitorSpec*>(argument);
  const std::uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&all), 0, sizeof all);
  raw_call(SYS_prctl, PR_SET_NAME, address("cloche-janitor"));
  raw_call(SYS_setsid);
  raw_call(SYS_chdir, address("/"));
  // Not one of the caller's descriptors: whoever reads its output waits for the last copy to close.
  constexpr long kCloseRange = 436;
  raw_call(SYS_dup3, spec->control_fd, wire::kControlFd, 0);
  raw_call(kCloseRange, 0, wire::kControlFd - 1, 0);
  // With the engine's end among what it holds, a janitor would never hear of the engine's end, and stay for ever.
  if (raw_call(kCloseRange, wire::kControlFd + 1, 0xffffffffL, 0) < 0) {
    constexpr int kMany = 65536;
    for (int fd = wire::kControlFd + 1; fd < kMany; ++fd) raw_call(SYS_close, fd);
  }
  const wire::SweepHands hands = {[](long pid) { raw_call(SYS_kill, pid, SIGKILL); }, nullptr};
  const int code = wire::sweep_until_closed(wire::kControlFd, *spec->list, hands);
  for (;;) raw_call(SYS_exit_group, code);
}

[[noreturn]] CLOCHE_NO_SANITIZE void run_holder(const void* argument) {
  auto* spec = const_cast<HolderSpec*>(static_cast<const HolderSpec*>(argument));
  spec->fd = static_cast<int>(
      raw_call(SYS_openat, AT_FDCWD, address("/proc/self/ns/user"), static_cast<long>(O_RDONLY | O_CLOEXEC)));
  for (;;) raw_call(SYS_exit, 0);
}

// Either call returns twice, and the second time on another stack: so the child's first instructions are ours.
using Entry = void (*)(const void*);

CLOCHE_NO_SANITIZE long clone_call(long number, long a, long b, long c, Entry first, const void* spec) {
  long result;
#if defined(__x86_64__)
  register const void* argument asm("r8") = spec;
  register Entry entry asm("r9") = first;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r8, %%rdi\n\t"
      "call *%%r9\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "0"(number), "D"(a), "S"(b), "d"(c), "r"(argument), "r"(entry)
      : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register const void* argument asm("x9") = spec;
  register Entry entry asm("x10") = first;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x9\n\t"
      "blr x10\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(argument), "r"(entry)
      : "x30", "memory");
  result = x0;
#endif
  return result;
}

long clone_either_way(const CloneArgs& args, Entry entry, const void* spec) {
  constexpr long kClone3 = 435;
  constexpr std::uint64_t kOnlyClone3 = ~0xffffffffull;  // flags that the older call has no room for
  const long result = clone_call(kClone3, address(&args), sizeof args, 0, entry, spec);
  if (result != -ENOSYS || (args.flags & kOnlyClone3) != 0) return result;
  // Docker's default filter answers ENOSYS so that callers fall back; the older call does the same for us.
  return clone_call(SYS_clone, static_cast<long>(args.flags | args.exit_signal),
                    static_cast<long>(args.stack + args.stack_size), static_cast<long>(args.pidfd), entry, spec);
}

}  // namespace

long clone_child(const CloneArgs& args, const ChildSpec& spec) { return clone_either_way(args, run_child, &spec); }

long clone_janitor(const CloneArgs& args, const JanitorSpec& spec) {
  return clone_either_way(args, run_janitor, &spec);
}

long clone_holder(const CloneArgs& args, HolderSpec& spec) { return clone_either_way(args, run_holder, &spec); }

}  // namespace cloche
