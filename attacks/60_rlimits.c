// 60. RLIMIT_NPROC, NOFILE, FSIZE, MEMLOCK, AS, CORE are set. Run with --files 64 --pids 32.
//
// attack: A process-limits | options: --files 64 --pids 32 | tries to raise each limit of its process
#include <sys/resource.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const struct {
    int resource;
    const char* name;
    unsigned long long most;  // a host's own default must not pass for the cell's
  } limits[] = {{RLIMIT_NPROC, "NPROC", 1024},        {RLIMIT_NOFILE, "NOFILE", 64},
                {RLIMIT_FSIZE, "FSIZE", 64ull << 30}, {RLIMIT_MEMLOCK, "MEMLOCK", 64ull << 20},
                {RLIMIT_AS, "AS", 1ull << 46},        {RLIMIT_CORE, "CORE", 1}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit value;
    if (getrlimit(limits[i].resource, &value) < 0) CANNOT("getrlimit %s: %s\n", limits[i].name, strerror(errno));
    if (value.rlim_max == RLIM_INFINITY) BREACH("RLIMIT_%s has no hard limit\n", limits[i].name);
    if (value.rlim_max > limits[i].most)
      BREACH("RLIMIT_%s is %llu\n", limits[i].name, (unsigned long long)value.rlim_max);
    struct rlimit more = {value.rlim_cur, value.rlim_max + 1};
    if (setrlimit(limits[i].resource, &more) == 0) BREACH("RLIMIT_%s can be raised\n", limits[i].name);
  }
  int opened = 0;
  while (opened < 4096 && open("/", O_PATH) >= 0) ++opened;
  if (opened >= 64) BREACH("%d descriptors could be opened\n", opened);
  HELD();
}
