// 59. Limits are in force before the guest's first instruction; an out-of-memory kill takes the whole cell.
// Run with --memory 64M. Expected from outside: the run ends as oom (137); exit 0 where an allocation is refused.
//
// attack: A memory | options: --memory 64M | held: 0,137 | alone | fills 256 MiB of memory under a limit of 64M
#include <sys/mman.h>

#include "victim.h"

enum { kStep = 8 << 20, kMost = 256 };

static int hog(void) {
  for (int mebibytes = 0; mebibytes < kMost; mebibytes += 8) {
    char* block = mmap(NULL, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return 3;
    for (long offset = 0; offset < kStep; offset += 4096) block[offset] = (char)(offset | 1);
  }
  return 1;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  printf("ATTACK\n");  // from here on the host must be able to start programs of its own
  int status = in_child(hog);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3) HELD();
  if (WIFEXITED(status)) BREACH("%d MiB were filled%s\n", kMost, past_limit("64M", 1));
  // The engine answers to the kill of the child by killing everybody; give it the time to do so.
  for (int i = 0; i < 200; ++i) nap();
  BREACH("the kill of one process left the others alive\n");
}
