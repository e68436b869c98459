// 32. A device bound into the cell is checked to be that device, and no other device is there.
//
// attack: E devices | no-process: tier 0 has the host's own mounts; Landlock judges paths | looks for devices of the
//     host
// attack: E wrong-device | bait: --evil-dev wrong | held: 126 | refusal: cloche: refused: device /dev/null |
//     no-bwrap: bwrap binds the host's /dev nodes as they are |
//     no-process: tier 0 has the host's own mounts; Landlock judges paths |
//     has another device in the place of /dev/null
#include <dirent.h>
#include <sys/sysmacros.h>

#include "victim.h"

static const struct {
  const char* name;
  unsigned major, minor;
} kKnown[] = {{"null", 1, 3},    {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8},
              {"urandom", 1, 9}, {"tty", 5, 0},  {"ptmx", 5, 2}};

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  DIR* dir = opendir("/dev");
  if (dir == NULL) CANNOT("/dev: %s\n", strerror(errno));
  struct dirent* entry;
  while ((entry = readdir(dir)) != NULL) {
    struct stat info;
    if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
    if (S_ISBLK(info.st_mode)) BREACH("/dev/%s is a block device\n", entry->d_name);
    if (!S_ISCHR(info.st_mode)) continue;
    int good = 0;
    for (size_t i = 0; i < sizeof kKnown / sizeof *kKnown; ++i)
      good |= strcmp(entry->d_name, kKnown[i].name) == 0 && major(info.st_rdev) == kKnown[i].major &&
              minor(info.st_rdev) == kKnown[i].minor;
    if (!good) BREACH("/dev/%s is device %u:%u\n", entry->d_name, major(info.st_rdev), minor(info.st_rdev));
  }
  char byte;
  int null = open("/dev/null", O_RDWR);
  if (null >= 0 && read(null, &byte, 1) != 0) BREACH("/dev/null has contents\n");
  HELD();
}
