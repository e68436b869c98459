// 38. /dev/shm is private.
//
// attack: C shared-memory-files | tries to read what others have in /dev/shm
#include <dirent.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  const char* path = bait("BAIT_SHM");
  MUST_DENY_PATH("open", path, open(path, O_RDONLY));
  MUST_DENY_PATH("open for writing", path, open(path, O_WRONLY));
  DIR* dir = opendir("/dev/shm");
  struct dirent* entry;
  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    if (entry->d_name[0] != '.') BREACH("/dev/shm/%s was there before the guest\n", entry->d_name);
  }
  HELD();
}
