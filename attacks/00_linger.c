// Stays alive with the descendants that are hardest to kill, until it is killed or its own alarm ends it. Probes from
// outside find every process of it by the token on its command line. Usage: 00_linger TOKEN [idle|tree|spin|orphan]
//
// attack: none; the probes of tests/security look at it from outside
#include "victim.h"

static void stay(void) {
  alarm(30);
  for (;;) pause();
}

int main(int argc, char** argv) {
  alarm(30);
  const char* mode = argc > 2 ? argv[2] : "idle";
  if (strcmp(mode, "idle") != 0) {
    for (int kind = 0; kind < 5; ++kind) {
      pid_t child = fork();
      if (child != 0) continue;
      signal(SIGTERM, SIG_IGN);
      signal(SIGHUP, SIG_IGN);
      signal(SIGINT, SIG_IGN);
      if (kind == 1) setsid();
      if (kind == 2 && (fork() != 0 || setsid() < 0)) _exit(0);
      if (kind == 3) {
        setpgid(0, 0);
        raise(SIGSTOP);
      }
      if (kind == 4) {
        alarm(30);
        if (strcmp(mode, "spin") == 0)
          for (volatile unsigned long i = 0;; ++i) continue;
      }
      stay();
    }
    // The children are in place before anybody is told so; the stopped one may still be on its way, which is part of
    // it.
    signal(SIGTERM, SIG_IGN);
  }
  printf("READY\n");
  fflush(stdout);
  if (strcmp(mode, "orphan") == 0) _exit(0);
  if (strcmp(mode, "spin") == 0)
    for (volatile unsigned long i = 0;; ++i) continue;
  stay();
}
