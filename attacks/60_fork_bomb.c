// 60, second half: the process limit holds and fork fails with EAGAIN. Run with --pids 32; tries 200.
//
// attack: A fork-bomb | options: --pids 32 | alone | makes 200 processes under a limit of 32
#include "room.h"
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  enum { kMost = 200 };
  static pid_t children[kMost];
  int count = 0, error = 0;
  for (; count < kMost; ++count) {
    pid_t child = fork();
    if (child < 0) {
      error = errno;
      break;
    }
    if (child == 0) {
      alarm(10);
      for (;;) pause();
    }
    children[count] = child;
  }
  // Go on at the limit for a while: meanwhile the host must be able to start programs of its own.
  printf("ATTACK\n");
  for (int i = 0; i < 2000 && error == EAGAIN; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
  }
  for (int i = 0; i < count; ++i) kill(children[i], SIGKILL);
  for (int i = 0; i < count; ++i) waitpid(children[i], NULL, 0);
  if (count > most_tasks(32, kMost)) BREACH("%d processes were made%s\n", count, past_limit("32", count >= kMost));
  if (error != EAGAIN) BREACH("fork failed with %s, not EAGAIN\n", strerror(error));
  HELD();
}
