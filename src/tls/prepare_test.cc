// What OpenSSL asks of the kernel, by a filter that knows no mercy. The child has a child's reasons to open a file: an
// environment full of names of files.
#include "tls/prepare.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>

#include "tls/test_support.h"

namespace cloche::tls {
namespace {

const std::vector<std::uint32_t> kSessions = {
    SYS_getpid,  SYS_getrandom, SYS_brk,         SYS_mmap,          SYS_munmap,
    SYS_mremap,  SYS_futex,     SYS_exit_group,  SYS_clock_gettime,
#if defined(__SANITIZE_ADDRESS__)
    SYS_madvise, SYS_gettid,    SYS_sched_yield, SYS_sigaltstack,
#endif
};

// qsort() of the C library asks once how much memory there is.
std::vector<std::uint32_t> with_preparation() {
  std::vector<std::uint32_t> numbers = kSessions;
  numbers.push_back(SYS_sysinfo);
  return numbers;
}

bool allow_only(const std::vector<std::uint32_t>& numbers) {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const std::uint32_t number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog loaded{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded) == 0;
}

// 0: everything went well. No gtest in here: it would write.
int live_a_life() {
  auto authority = Authority::make();
  if (!authority) return 3;
  const auto store = TrustStore::from_pem(authority->pem());
  if (!store) return 4;
  for (int i = 0; i < 200; ++i) {
    ServerSession server(*authority, "n" + std::to_string(i) + ".example.org");
    ClientSession client("n" + std::to_string(i) + ".example.org", *store);
    talk(client, server);
    if (client.state() != SessionState::kOpen) return 5;
    client.write(std::string(32 * 1024, 'x'));
    client.close();
    talk(client, server);
    if (server.read().size() != 32 * 1024) return 6;
    ServerSession refused(*authority, "a.example.org");
    ClientSession asker("b.example.org", *store);
    talk(asker, refused);
    if (refused.state() != SessionState::kFailed) return 7;
  }
  return 0;
}

void expect_ends_well(int (*in_the_child)()) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("OPENSSL_CONF", "/etc/ssl/openssl.cnf", 1);
    setenv("OPENSSL_MODULES", "/etc/ssl", 1);
    setenv("OPENSSL_ENGINES", "/etc/ssl", 1);
    setenv("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt", 1);
    setenv("SSL_CERT_DIR", "/etc/ssl/certs", 1);
    _exit(in_the_child());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status) << ": a system call that is not listed";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Prepare, OpensNoFileButTheZoneOfTheHost) {
  expect_ends_well([] {
    const time_t now = 0;
    tm parts{};
    gmtime_r(&now, &parts);  // the C library has the zone from here on
    if (!allow_only(with_preparation())) return 1;
    return prepare() ? 0 : 2;
  });
}

TEST(Prepare, AfterwardsASessionMakesTheListedCallsAndNoOther) {
  expect_ends_well([] {
    if (!prepare()) return 2;
    return allow_only(kSessions) ? live_a_life() : 1;
  });
}

TEST(Prepare, MayBeCalledAgain) {
  EXPECT_TRUE(prepare());
  EXPECT_TRUE(prepare());
}

}  // namespace
}  // namespace cloche::tls
