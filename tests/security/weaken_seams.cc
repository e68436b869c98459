// The engine's own doings, taken out where one part of it calls another or the C library (-Wl,--wrap, see
// CMakeLists.txt). Nothing of the engine is compiled differently.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <utility>

#include "launch/cell.h"
#include "launch/child/child.h"
#include "supervise/read_back.h"
#include "weaken.h"

namespace cloche::security {
namespace {

constexpr std::string_view kEngineWords[] = {"read-back", "descriptors", "stdio", "groups",  "dumpable",
                                             "set-uid",   "proc-magic",  "links", "janitor", "dashes",
                                             "refusal",   "weakenings",  "chroot"};

bool is_engine_word(std::string_view what) { return std::ranges::find(kEngineWords, what) != std::end(kEngineWords); }

std::vector<std::string>& words() {
  static std::vector<std::string> words;
  return words;
}

// What exec would hand on.
const std::vector<int>& inheritable_descriptors() {
  static const std::vector<int> kFound = [] {
    std::vector<int> out;
    for (int fd = 4; fd < 1024; ++fd) {
      const int flags = ::fcntl(fd, F_GETFD);
      if (flags >= 0 && (flags & FD_CLOEXEC) == 0) out.push_back(fd);
    }
    return out;
  }();
  return kFound;
}

}  // namespace

void choose(std::vector<std::string> without) { words() = std::move(without); }

bool without(std::string_view what) { return std::ranges::find(words(), what) != words().end(); }

}  // namespace cloche::security

namespace cloche {

using security::without;

// ---- plan
Result<Plan> real_make_plan(const Policy&, const Request&, const HostFacts&) asm(
    "__real__ZN6cloche9make_planERKNS_6PolicyERKNS_7RequestERKNS_9HostFactsE");
Result<Plan> wrap_make_plan(const Policy&, const Request&, const HostFacts&) asm(
    "__wrap__ZN6cloche9make_planERKNS_6PolicyERKNS_7RequestERKNS_9HostFactsE");
Result<Plan> wrap_make_plan(const Policy& policy, const Request& request, const HostFacts& host) {
  auto plan = real_make_plan(policy, request, host);
  if (!plan && without("refusal")) {
    Policy lax = policy;
    lax.limits.mode = LimitsMode::kBestEffort;
    plan = real_make_plan(lax, request, host);
  }
  if (!plan) return plan;
  if (without("weakenings") || without("refusal")) {
    plan->weakenings.clear();
    for (ReceiptLine& line : plan->guarantees) line.standing = Standing::kHeld;
  }
  for (const std::string& what : security::words()) {
    if (!security::is_engine_word(what)) CLOCHE_TRY(security::weaken(*plan, what));
  }
  return plan;
}

// ---- read-back
Result<std::vector<ReceiptLine>> real_judge(const Plan&, const Inspection&) asm(
    "__real__ZN6cloche5judgeERKNS_4PlanERKNS_10InspectionE");
Result<std::vector<ReceiptLine>> wrap_judge(const Plan&, const Inspection&) asm(
    "__wrap__ZN6cloche5judgeERKNS_4PlanERKNS_10InspectionE");
Result<std::vector<ReceiptLine>> wrap_judge(const Plan& plan, const Inspection& seen) {
  if (without("read-back")) return plan.guarantees;
  return real_judge(plan, seen);
}

// ---- launch
long real_clone_child(const CloneArgs&,
                      const ChildSpec&) asm("__real__ZN6cloche11clone_childERKNS_9CloneArgsERKNS_9ChildSpecE");
long wrap_clone_child(const CloneArgs&,
                      const ChildSpec&) asm("__wrap__ZN6cloche11clone_childERKNS_9CloneArgsERKNS_9ChildSpecE");
long wrap_clone_child(const CloneArgs& args, const ChildSpec& spec) {
  // The child reads it until its exec, while we run on and perhaps make the next one.
  static std::deque<ChildSpec> copies;
  ChildSpec& loose = copies.emplace_back(spec);
  if (without("descriptors") && spec.keep_count == 0) {
    const auto& descriptors = security::inheritable_descriptors();
    loose.keep = descriptors.data();
    loose.keep_count = static_cast<int>(descriptors.size());
  }
  if (without("chroot") && spec.ambient_caps != 0) loose.ambient_caps |= 1ull << CAP_SYS_CHROOT;
  return real_clone_child(args, loose);
}

Result<Spawned> real_spawn_janitor() asm("__real__ZN6cloche13spawn_janitorEv");
Result<Spawned> wrap_spawn_janitor() asm("__wrap__ZN6cloche13spawn_janitorEv");
// The other kind of janitor, which is loose-init: with init:kill it kills nobody, and still removes what is empty.
Result<Spawned> wrap_spawn_janitor() {
  const char* init = ::getenv("CLOCHE_INIT");
  if (!without("janitor") || init == nullptr) return real_spawn_janitor();
  SpawnSpec spec;
  spec.argv = {"cloche-janitor"};
  spec.init_path = init;
  return spawn(spec);
}

Status real_send_go(const Plan&, Cell&) asm("__real__ZN6cloche7send_goERKNS_4PlanERNS_4CellE");
Status wrap_send_go(const Plan&, Cell&) asm("__wrap__ZN6cloche7send_goERKNS_4PlanERNS_4CellE");
Status wrap_send_go(const Plan& plan, Cell& cell) {
  if (without("stdio")) cell.stdio.front() = Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  return real_send_go(plan, cell);
}

}  // namespace cloche

// ---- the C library
// The linker wants these names, and the kernel takes every pointer for a number.
// NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr)
extern "C" {

using cloche::security::without;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
// The sixth argument lies on the stack, whether the caller gave one or not.
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...) {
  long args[6];
  va_list list;
  va_start(list, number);
  for (long& arg : args) arg = va_arg(list, long);
  va_end(list);
  if (number == SYS_setgroups && without("groups")) return 0;
  struct {
    std::uint64_t flags, mode, resolve;
  } how{};
  constexpr long kOpenat2 = 437;
  if (number == kOpenat2 && without("links")) {
    how.flags = *reinterpret_cast<const std::uint64_t*>(args[2]) & ~std::uint64_t{O_NOFOLLOW};
    args[2] = reinterpret_cast<long>(&how);
  }
  return __real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  return option == PR_SET_DUMPABLE && without("dumpable") ? 0 : __real_prctl(option, a, b, c, d);
}

int __real_fstatfs(int fd, struct statfs* out);
int __wrap_fstatfs(int fd, struct statfs* out) {
  const int result = __real_fstatfs(fd, out);
  if (out->f_type == TMPFS_MAGIC && without("proc-magic")) out->f_type = PROC_SUPER_MAGIC;
  return result;
}

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type) {
  return type == AT_SECURE && without("set-uid") ? 0 : __real_getauxval(type);
}

uid_t __real_getuid();
uid_t __wrap_getuid() { return without("set-uid") ? ::geteuid() : __real_getuid(); }

gid_t __real_getgid();
gid_t __wrap_getgid() { return without("set-uid") ? ::getegid() : __real_getgid(); }

int __real_getresuid(uid_t* real, uid_t* effective, uid_t* saved);
int __wrap_getresuid(uid_t* real, uid_t* effective, uid_t* saved) {
  const int result = __real_getresuid(real, effective, saved);
  if (without("set-uid")) *real = *saved = *effective;
  return result;
}

int __real_getresgid(gid_t* real, gid_t* effective, gid_t* saved);
int __wrap_getresgid(gid_t* real, gid_t* effective, gid_t* saved) {
  const int result = __real_getresgid(real, effective, saved);
  if (without("set-uid")) *real = *saved = *effective;
  return result;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
