// 43. A fresh /proc that shows only the cell's processes, or none.
//
// attack: C process-table | looks for processes of the host in /proc
#include <dirent.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  DIR* dir = opendir("/proc");
  if (dir == NULL) HELD();
  struct dirent* entry;
  int processes = 0;
  while ((entry = readdir(dir)) != NULL) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    ++processes;
    if (strtol(entry->d_name, NULL, 10) == bait_number("BAIT_PID") && bait_number("BAIT_PID") != getpid())
      BREACH("/proc/%s is a process of the host\n", entry->d_name);
  }
  // init and the guest itself; one more where a backend keeps a monitor of its own inside.
  if (processes > 3) BREACH("/proc shows %d processes\n", processes);
  char link[32] = "";
  if (processes > 0 && readlink("/proc/self", link, sizeof link - 1) > 0 && strtol(link, NULL, 10) != getpid())
    BREACH("/proc belongs to another pid namespace: self is %s\n", link);
  HELD();
}
