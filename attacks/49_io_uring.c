// 49. io_uring fails with ENOSYS or EPERM, it does not kill: runtimes probe for it.
//
// attack: E io-uring | tries to make system calls by io_uring, around the filter
#include "victim.h"

static int setup(void) {
  static char params[120];
  return syscall(NR_io_uring_setup, 1u, params) >= 0 ? 200 : errno;
}
static int enter(void) { return syscall(NR_io_uring_enter, -1, 0u, 0u, 0u, NULL, 0ul) >= 0 ? 200 : errno; }
static int enroll(void) { return syscall(NR_io_uring_register, -1, 0u, NULL, 0u) >= 0 ? 200 : errno; }

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const struct {
    const char* name;
    int (*attempt)(void);
  } calls[] = {{"io_uring_setup", setup}, {"io_uring_enter", enter}, {"io_uring_register", enroll}};
  for (size_t i = 0; i < 3; ++i) {
    int status = in_child(calls[i].attempt);
    if (WIFSIGNALED(status)) BREACH("%s killed its caller with signal %d\n", calls[i].name, WTERMSIG(status));
    int error = WEXITSTATUS(status);
    if (error != ENOSYS && error != EPERM)
      BREACH("%s gave %s\n", calls[i].name, error == 200 ? "success" : strerror(error));
  }
  HELD();
}
