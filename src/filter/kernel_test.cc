// The program in the kernel it is meant for. Children do the calls, so that the test itself stays unfiltered.
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;

constexpr int kNotInstalled = 100;

bool install(const std::vector<sock_filter>& program) {
  sock_fprog fprog{static_cast<unsigned short>(program.size()), const_cast<sock_filter*>(program.data())};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) == 0;
}

// The wait status of a child that runs `body` under the filter and exits with what it returns.
template <typename Body>
int status_of(const std::vector<sock_filter>& program, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!install(program)) _exit(kNotInstalled);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

template <typename Body>
int exit_code_of(const std::vector<sock_filter>& program, Body body) {
  const int status = status_of(program, body);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

struct Attempt {
  const char* what;
  int expected;  // errno, or 0 when the call must work
  long number;
  std::array<unsigned long, 6> args;
};

int attempt(const Attempt& a) {
  const auto [x0, x1, x2, x3, x4, x5] = a.args;
  return syscall(a.number, x0, x1, x2, x3, x4, x5) < 0 ? errno : 0;
}

TEST(FilterKernel, DoesToRealCallsWhatTheProgramSays) {
  const Case c = make_case(native_arch(), {});
  constexpr auto kHigh = 1ul << 32;
  rlimit limit{0, 0};
  const auto limit_address = reinterpret_cast<unsigned long>(&limit);
  const auto name = reinterpret_cast<unsigned long>("name");
  const auto root = reinterpret_cast<unsigned long>("/");
  int pair[2];
  const auto pair_address = reinterpret_cast<unsigned long>(pair);
  const Attempt attempts[] = {
      {"getpid", 0, SYS_getpid, {}},
      {"unix socket", 0, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
      {"unix pair", 0, SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, pair_address}},
      {"reading RLIMIT_CORE", 0, SYS_prlimit64, {0, RLIMIT_CORE, 0, limit_address}},
      {"default personality", 0, SYS_personality, {0xffffffff}},
      {"opening a directory", 0, SYS_openat, {static_cast<unsigned long>(AT_FDCWD), root, O_RDONLY, 06777}},
      {"mount", EPERM, SYS_mount, {root, root, 0, 0, 0}},
      {"unshare", EPERM, SYS_unshare, {CLONE_NEWUSER}},
      {"clone with a user namespace", EPERM, SYS_clone, {CLONE_NEWUSER | SIGCHLD | kHigh}},
      {"keyctl", EPERM, SYS_keyctl, {0, 0}},
      {"bpf", EPERM, SYS_bpf, {0, 0, 0}},
      {"ptrace", EPERM, SYS_ptrace, {0, 0, 0, 0}},
      {"setting RLIMIT_CORE", EPERM, SYS_prlimit64, {0, RLIMIT_CORE | kHigh, limit_address, 0}},
      {"TIOCSTI", EPERM, SYS_ioctl, {0, TIOCSTI | kHigh, root}},
      {"set-user-ID chmod", EPERM, SYS_fchmodat, {static_cast<unsigned long>(AT_FDCWD), root, 04755}},
      {"READ_IMPLIES_EXEC", EPERM, SYS_personality, {0x0400000}},
      {"raw socket", EPERM, SYS_socket, {AF_INET, SOCK_RAW, 1}},
      {"inet socket", EACCES, SYS_socket, {AF_INET | kHigh, SOCK_STREAM, 0}},
      {"memfd", EACCES, SYS_memfd_create, {name, 0}},
      {"netlink socket", EAFNOSUPPORT, SYS_socket, {AF_NETLINK, SOCK_DGRAM, 0}},
      {"vsock socket", EAFNOSUPPORT, SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}},
      {"clone3", ENOSYS, SYS_clone3, {0, 0}},
      {"io_uring_setup", ENOSYS, SYS_io_uring_setup, {1, 0}},
      {"an unknown number", ENOSYS, 1000, {}},
#if defined(__x86_64__)
      {"an x32 number", ENOSYS, 0x40000000 + SYS_getpid, {}},
#endif
  };
  for (const Attempt& a : attempts) {
    EXPECT_EQ(exit_code_of(c.program, [&] { return attempt(a); }), a.expected) << a.what;
  }
}

TEST(FilterKernel, EveryVariantLoads) {
  for (const Case& c : every_case()) {
    if (c.arch != native_arch()) continue;
    EXPECT_EQ(exit_code_of(c.program, [] { return 0; }), 0) << c.name();
  }
}

#if defined(__x86_64__)
// Where the kernel has no 32-bit entry the instruction itself is fatal; either way the child does not live on.
TEST(FilterKernel, C50_ThirtyTwoBitEntryKills) {
  const Case c = make_case(native_arch(), {});
  const int status = status_of(c.program, [] {
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_TRUE(WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV) << WTERMSIG(status);
}
#endif

// Programs of the host, run under the filter as a guest would run them; those that are not installed are left out.
TEST(FilterKernel, OrdinaryProgramsWork) {
  struct Program {
    const char* path;
    std::vector<const char*> arguments;
  };
  const Program programs[] = {
      {"/bin/sh", {"sh", "-c", "echo a | cat | (read x; test \"$x\" = a) && ls / >/dev/null && date >/dev/null"}},
      {"/bin/bash", {"bash", "-c", "read x < <(echo b); [[ $x == b ]] && wait && nproc >/dev/null"}},
      {"/usr/bin/perl", {"perl", "-e", "my $p = fork() // die; exit 0 if !$p; waitpid($p, 0); exit $? >> 8"}},
      {"/usr/bin/python3",
       {"python3", "-c",
        "import subprocess, threading, socket, tempfile, os\n"
        "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
        "subprocess.run(['/bin/true'], check=True); socket.socketpair()\n"
        "f = tempfile.NamedTemporaryFile(); os.chmod(f.name, 0o755)\n"
        "try: socket.socket(); raise SystemExit(3)\n"
        "except PermissionError: pass"}},
      {"/usr/bin/git", {"git", "--version"}},
  };
  const Case c = make_case(native_arch(), {});
  int ran = 0;
  for (const Program& program : programs) {
    if (access(program.path, X_OK) != 0) continue;
    ++ran;
    std::vector<char*> argv;
    for (const char* argument : program.arguments) argv.push_back(const_cast<char*>(argument));
    argv.push_back(nullptr);
    EXPECT_EQ(exit_code_of(c.program,
                           [&] {
                             dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
                             return execv(program.path, argv.data());
                           }),
              0)
        << program.path;
  }
  EXPECT_GE(ran, 1);
}

}  // namespace
}  // namespace cloche::filter
