// 45. No core dump reaches the host's core_pattern.
//
// attack: C core-dump | crashes, for its memory to be written to the host
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "victim.h"

// A core overwrites one that is there: nobody's but ours must be. Named "core", or with the number of the process.
static const char* own_directory(void) {
  static const char* const places[] = {".", "/tmp", "/work"};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const char* path = own_path(places[i], "45");
    if (mkdir(path, 0777) == 0) return path;
  }
  return NULL;
}
static void remove_directory(const char* path) {
  DIR* dir = path == NULL ? NULL : opendir(path);
  if (dir == NULL) return;
  struct dirent* entry;
  while ((entry = readdir(dir)) != NULL) unlinkat(dirfd(dir), entry->d_name, 0);
  closedir(dir);
  rmdir(path);
}

static const char* g_place;
static int crash(void) {
  if (chdir(g_place == NULL ? "/proc" : g_place) < 0) return 1;
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  raise(SIGSEGV);
  return 0;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) < 0) CANNOT("getrlimit: %s\n", strerror(errno));
  g_place = own_directory();
  int status = in_child(crash);
  remove_directory(g_place);
  if (WIFSIGNALED(status) && WCOREDUMP(status)) BREACH("a core was dumped\n");
  // A pipe in core_pattern ignores a limit of 0 and honours 1, so that 1 must not be lowered either.
  if (limit.rlim_cur != 1 || limit.rlim_max != 1)
    BREACH("RLIMIT_CORE is %llu, hard %llu\n", (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
  const struct rlimit tries[] = {{0, 0}, {0, 1}, {RLIM_INFINITY, RLIM_INFINITY}};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t pair[2] = {tries[i].rlim_cur, tries[i].rlim_max};
    MUST_REFUSE(syscall(SYS_prlimit64, 0, RLIMIT_CORE, pair, NULL));
    MUST_REFUSE(syscall(SYS_prlimit64, 0, HIGH_GARBAGE(RLIMIT_CORE), pair, NULL));
    MUST_REFUSE(syscall(SYS_prlimit64, (long)getpid(), RLIMIT_CORE, pair, NULL));
#ifdef SYS_setrlimit
    MUST_REFUSE(syscall(SYS_setrlimit, RLIMIT_CORE, pair));
#endif
  }
  HELD();
}
