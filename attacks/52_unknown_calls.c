// 52. Unknown numbers give ENOSYS.
//
// attack: E unknown-calls | tries system calls that nobody knows
#include "victim.h"

static long g_number;
static int call_it(void) { return syscall(g_number, 0l, 0l, 0l, 0l, 0l, 0l) >= 0 ? 200 : errno; }

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const long numbers[] = {600, 777, 1000, 1023, 1 << 20, 0x3fffffff, 0x7fffffff, 0xffffffffl};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    g_number = numbers[i];
    int status = in_child(call_it);
    if (WIFSIGNALED(status)) BREACH("number %ld killed its caller with signal %d\n", g_number, WTERMSIG(status));
    if (WEXITSTATUS(status) != ENOSYS) BREACH("number %ld gave %s\n", g_number, strerror(WEXITSTATUS(status)));
  }
  HELD();
}
