#include "supervise/supervisor.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace cloche {
namespace {

TEST(RunId, NoTwoAreAlike) {
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    auto id = make_run_id();
    ASSERT_TRUE(id);
    EXPECT_EQ(id->size(), 12u);
    seen.insert(*id);
  }
  EXPECT_EQ(seen.size(), 1'000u);
}

// From here on the kernel answers ENOSYS to getrandom, as an old container engine's filter does.
bool forbid_getrandom() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(RunId, WithoutRandomnessThereIsAnErrorAndNoId) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!forbid_getrandom()) ::_exit(2);
    const auto id = make_run_id();
    ::_exit(!id && id.error().errno_value == ENOSYS ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cloche
