#include "gateway/confine.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "filter/filter.h"

namespace cloche::gateway {
namespace {

Status failed(std::string_view what) { return fail_errno(errno, "gateway", "could not " + std::string(what)); }

Status become(std::uint32_t uid) {
  if (uid == 0) return {};
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) {
    return failed("become another user");
  }
  return {};
}

// An empty file system, read-only, in the place of the host's.
Status empty_root() {
  const char* const anywhere = "/proc";
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", anywhere, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k,nr_inodes=2") != 0 ||
      ::chdir(anywhere) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 ||
      ::chdir("/") != 0) {
    return failed("leave the host's files");
  }
  return {};
}

Status drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return failed("drop capabilities");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) return failed("drop capabilities");
  return {};
}

// Where the kernel has it; the other walls do not lean on it.
Status restrict_by_landlock(const std::vector<std::uint16_t>& ports) {
  constexpr std::uint64_t kAllFs1 = 0x1fff;
  constexpr std::uint64_t kAllFs5 = 0xffff;
  constexpr std::uint64_t kBothNet = 0x3;
  constexpr std::uint64_t kBothScopes = 0x3;
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) return {};
  struct {  // as Linux 6.12 knows it; older headers have less
    std::uint64_t fs;
    std::uint64_t net;
    std::uint64_t scoped;
  } attributes{abi >= 5   ? kAllFs5
               : abi >= 3 ? 0x7fffu
               : abi == 2 ? 0x3fffu
                          : kAllFs1,
               abi >= 4 ? kBothNet : 0, abi >= 6 ? kBothScopes : 0};
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!rules.valid()) return failed("make Landlock rules");
  for (const std::uint16_t port : ports) {
    if (abi < 4) break;
    struct {
      std::uint64_t access;
      std::uint64_t port;
    } rule{2, port};  // connect
    constexpr int kNetPort = 2;
    if (::syscall(SYS_landlock_add_rule, rules.get(), kNetPort, &rule, 0) != 0) return failed("make Landlock rules");
  }
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return failed("restrict itself by Landlock");
  return {};
}

filter::Rule allowed(long number, std::string_view name) {
  return {static_cast<std::uint32_t>(number), name, "", {}, {filter::ActionKind::kAllow, 0}};
}

filter::ArgCheck is(std::uint8_t index, std::uint64_t value) {
  return {filter::ArgCheck::Op::kEqual, index, 32, ~0ull, value};
}

filter::Action refusal(std::uint16_t error) { return {filter::ActionKind::kErrno, error}; }

}  // namespace

std::vector<sock_filter> gateway_filter() {
  constexpr filter::Action kAllow{filter::ActionKind::kAllow, 0};
  std::vector<filter::Rule> rules = {
#define CLOCHE_CALL(name) allowed(SYS_##name, #name)
      CLOCHE_CALL(read),         CLOCHE_CALL(write),          CLOCHE_CALL(close),
      CLOCHE_CALL(recvfrom),     CLOCHE_CALL(sendto),         CLOCHE_CALL(recvmsg),
      CLOCHE_CALL(sendmsg),      CLOCHE_CALL(splice),         CLOCHE_CALL(shutdown),
      CLOCHE_CALL(accept4),      CLOCHE_CALL(connect),        CLOCHE_CALL(getsockopt),
      CLOCHE_CALL(setsockopt),   CLOCHE_CALL(getsockname),    CLOCHE_CALL(epoll_pwait),
      CLOCHE_CALL(epoll_ctl),    CLOCHE_CALL(pipe2),          CLOCHE_CALL(fcntl),
      CLOCHE_CALL(munmap),       CLOCHE_CALL(mremap),         CLOCHE_CALL(brk),
      CLOCHE_CALL(madvise),      CLOCHE_CALL(futex),          CLOCHE_CALL(clock_gettime),
      CLOCHE_CALL(getrandom),    CLOCHE_CALL(getpid),         CLOCHE_CALL(gettid),
      CLOCHE_CALL(rt_sigreturn), CLOCHE_CALL(rt_sigprocmask), CLOCHE_CALL(restart_syscall),
      CLOCHE_CALL(exit),         CLOCHE_CALL(exit_group),
#if defined(__x86_64__)
      CLOCHE_CALL(epoll_wait),   CLOCHE_CALL(time),
#endif
#undef CLOCHE_CALL
  };
  // Sockets of the Internet: streams to go out by, datagrams to ask nameservers with.
  filter::Rule sockets{SYS_socket, "socket", "", {}, refusal(EACCES)};
  constexpr std::uint64_t kTypeBits = 0xf;
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM}) {
      sockets.clauses.push_back(
          {{is(0, family), {filter::ArgCheck::Op::kMaskedEqual, 1, 32, kTypeBits, type}, is(2, 0)}, kAllow});
    }
  }
  rules.push_back(std::move(sockets));
  // Memory, but never memory to be executed.
  for (const auto& [number, name] : {std::pair{SYS_mmap, "mmap"}, std::pair{SYS_mprotect, "mprotect"}}) {
    rules.push_back({static_cast<std::uint32_t>(number),
                     name,
                     "",
                     {{{{filter::ArgCheck::Op::kMaskedEqual, 2, 32, PROT_EXEC, 0}}, kAllow}},
                     refusal(EACCES)});
  }
  std::ranges::sort(rules, {}, &filter::Rule::number);
  return filter::compile(rules, filter::native_arch());
}

Status leave_host(std::uint32_t uid) {
  CLOCHE_TRY(become(uid));
  CLOCHE_TRY(empty_root());
  // After the last change of credentials, which would forget it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return failed("ask to end with the engine");
  return {};
}

Status lock_down(const std::vector<std::uint16_t>& ports) {
  CLOCHE_TRY(drop_capabilities());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("give up new privileges");
  CLOCHE_TRY(restrict_by_landlock(ports));
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return failed("keep others from looking into it");
  std::vector<sock_filter> code = gateway_filter();
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return failed("filter its system calls");
  return {};
}

}  // namespace cloche::gateway
