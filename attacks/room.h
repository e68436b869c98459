// How many tasks fit.
#pragma once

#include <sys/resource.h>

// Where the kernel counts all processes of a user, the limit stands above those that he had; some may be gone by now.
// Where a group counts, it stands 16 above the group's.
static int most_tasks(int limit, int tried) {
  struct rlimit tasks;
  getrlimit(RLIMIT_NPROC, &tasks);
  const rlim_t own = (rlim_t)limit + 1, behind_group = (rlim_t)limit + 16;
  if (tasks.rlim_cur <= own || tasks.rlim_cur == behind_group || tasks.rlim_cur >= (rlim_t)tried) return limit;
  return (int)tasks.rlim_cur - 1;
}
