// 14. Signal mask and handlers are reset.
//
// attack: D signal-state | looks for signals that its caller ignored or blocked
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  sigset_t mask;
  sigemptyset(&mask);
  if (sigprocmask(SIG_BLOCK, NULL, &mask) < 0) CANNOT("sigprocmask: %s\n", strerror(errno));
  for (int number = 1; number < 65; ++number) {
    if (sigismember(&mask, number) == 1) BREACH("signal %d is blocked\n", number);
    struct sigaction action;
    if (sigaction(number, NULL, &action) < 0) continue;
    if (action.sa_handler == SIG_IGN) BREACH("signal %d is ignored\n", number);
  }
  char status[8192];
  if (read_file("/proc/self/status", status, sizeof status) > 0) {
    static const char* const fields[] = {"SigPnd:\t", "SigBlk:\t", "SigIgn:\t"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
      char* line = strstr(status, fields[i]);
      if (line != NULL && strtoull(line + strlen(fields[i]), NULL, 16) != 0) BREACH("%.24s\n", line);
    }
  }
  HELD();
}
