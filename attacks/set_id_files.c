// 23. Leaves a set-uid or set-gid file behind, for somebody else to run.
//
// attack: D set-uid-file | args: user | tries to leave a set-uid file behind
// attack: D set-gid-file | args: group | tries to leave a set-gid file behind
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin();
  choose(argc, argv);
  struct stat info;
  unlink("victim-set-id");
  int fd = open("victim-set-id", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
  if (fd < 0) CANNOT("victim-set-id: %s\n", strerror(errno));
  if (chosen("user")) (void)!fchmod(fd, 04755);
  if (chosen("user")) (void)!chmod("victim-set-id", 04755);
  if (chosen("group")) (void)!fchmodat(AT_FDCWD, "victim-set-id", 02755, 0);
  int bad = fstat(fd, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0;
  unlink("victim-set-id");
  if (bad) BREACH("a file with mode %o was made\n", (unsigned)(info.st_mode & 07777));
  fd = open("victim-set-id", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 06755);
  bad = fd >= 0 && fstat(fd, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0;
  unlink("victim-set-id");
  if (bad) BREACH("a file was created with mode %o\n", (unsigned)(info.st_mode & 07777));
  HELD();
}
