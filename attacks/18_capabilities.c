// 18. Permitted, effective, inheritable, ambient and bounding sets are all empty, also when the engine is root.
//
// attack: E capabilities | no-process-user: only privilege can change the bounding set and the securebits | looks for
//     a capability in any of its five sets
#include <sys/prctl.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  int evidence = 0;
  for (int cap = 0; cap < 64; ++cap) {
    int bounded = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
    if (bounded == 1) BREACH("capability %d is in the bounding set\n", cap);
    if (bounded == 0) evidence |= 1;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1) BREACH("capability %d is ambient\n", cap);
  }
  struct {
    uint32_t version;
    int pid;
  } header = {0x20080522, 0};
  struct {
    uint32_t effective, permitted, inheritable;
  } data[2];
  if (syscall(SYS_capget, &header, data) == 0) {
    evidence |= 2;
    for (int i = 0; i < 2; ++i) {
      if (data[i].effective | data[i].permitted | data[i].inheritable)
        BREACH("capget: effective %x permitted %x inheritable %x\n", data[i].effective, data[i].permitted,
               data[i].inheritable);
    }
  }
  char status[8192];
  if (read_file("/proc/self/status", status, sizeof status) > 0) {
    static const char* const fields[] = {"CapInh:\t", "CapPrm:\t", "CapEff:\t", "CapBnd:\t", "CapAmb:\t"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
      char* line = strstr(status, fields[i]);
      if (line == NULL) continue;
      evidence |= 3;
      if (strtoull(line + strlen(fields[i]), NULL, 16) != 0) BREACH("%.24s\n", line);
    }
  }
  if (evidence != 3) CANNOT("neither prctl nor /proc/self/status shows the sets\n");
  HELD();
}
