// 31. A hostile /dev symlink is not followed.
//
// attack: E device-link | bait: --evil-dev symlink | held: 0,126 | refusal: cloche: refused: device /dev/ |
//     no-bwrap: bwrap binds the host's /dev nodes as they are |
//     no-process: tier 0 has the host's own mounts; Landlock judges paths |
//     has a link to a host's file in the place of a device
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  struct stat info;
  if (lstat("/dev", &info) < 0 || !S_ISDIR(info.st_mode)) BREACH("/dev is no directory\n");
  static const char* const nodes[] = {"null", "zero", "full", "random", "urandom"};
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
    char path[64], text[64];
    snprintf(path, sizeof path, "/dev/%s", nodes[i]);
    if (lstat(path, &info) < 0) continue;
    if (S_ISREG(info.st_mode) && read_file(path, text, sizeof text) > 0) BREACH("%s shows a file of the host\n", path);
    if (!S_ISCHR(info.st_mode)) BREACH("%s is no device\n", path);
  }
  HELD();
}
