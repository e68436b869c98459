// 21. Inside uid is not 0 and the map has one entry.
//
// attack: E become-root | process-args: ids | no-process-user: the guest has the caller's own uid there | tries to be
//     uid 0
#include "victim.h"

static void check_map(const char* path) {
  char text[4096];
  if (read_file(path, text, sizeof text) < 0) CANNOT("%s: %s\n", path, strerror(errno));
  unsigned long inside, outside, count;
  int used = 0;
  if (sscanf(text, "%lu %lu %lu %n", &inside, &outside, &count, &used) != 3) BREACH("%s is empty\n", path);
  if (count != 1 || text[used] != '\0') BREACH("%s maps more than one id: %s\n", path, text);
  if (inside == 0) BREACH("%s maps root\n", path);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  uid_t real, effective, saved;
  gid_t group, egroup, sgroup;
  if (getresuid(&real, &effective, &saved) < 0 || getresgid(&group, &egroup, &sgroup) < 0) CANNOT("getresuid\n");
  if (real == 0 || effective == 0 || saved == 0) BREACH("the guest is uid 0\n");
  if (group == 0 || egroup == 0 || sgroup == 0) BREACH("the guest is gid 0\n");
  if (setresuid(0, 0, 0) == 0) BREACH("uid 0 can be taken\n");
  // "ids": without a user namespace there is no map.
  if (argc > 1 && strcmp(argv[1], "ids") == 0) HELD();
  check_map("/proc/self/uid_map");
  check_map("/proc/self/gid_map");
  HELD();
}
