// Takes more time than it was given. Run with --cpu-time 1s or --wall 1s.
//
// attack: A spin | args: spin | options: --cpu-time 1s | held: 137 | spins for 3 seconds of processor time under a
//     limit of one
// attack: A spinning-children | args: children | options: --cpu-time 1s | held: 137 | no-cgroups: RLIMIT_CPU counts
//     each process alone | spreads 3 seconds of processor time over children
// attack: A sleep | args: sleep | options: --wall 1s --grace 100ms | held: 124 | sleeps for 5 seconds under a limit
//     of one, and ignores SIGTERM
#include "victim.h"

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  alarm(30);  // a busy machine gives little processor time, which is bounded below
  choose(argc, argv);
  if (g_choice == NULL) g_choice = "sleep";
  signal(SIGTERM, SIG_IGN);
  signal(SIGXCPU, SIG_IGN);
  if (chosen("spin")) {
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < 3 && seconds(CLOCK_MONOTONIC) > 0) continue;
    BREACH("3 seconds of processor time were spent\n");
  }
  if (chosen("children")) {  // each of them alone stays below what was given
    for (int i = 0; i < 4; ++i) {
      pid_t child = fork();
      if (child < 0) CANNOT("fork: %s\n", strerror(errno));
      if (child == 0) {
        while (seconds(CLOCK_PROCESS_CPUTIME_ID) < 0.8) continue;
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    BREACH("four children spent 3 seconds of processor time\n");
  }
  if (chosen("sleep")) {
    for (double end = seconds(CLOCK_MONOTONIC) + 5; seconds(CLOCK_MONOTONIC) < end;) nap();
    BREACH("it slept for 5 seconds\n");
  }
  HELD();
}
