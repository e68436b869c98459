// 2. No open directory descriptor reaches the guest; its cwd lies inside the new root.
//
// attack: E directory-descriptors | tries to climb out by an open directory
#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  struct stat info;
  for (int fd = 0; fd < 65536; ++fd) {
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) BREACH("descriptor %d is a directory\n", fd);
  }
  char cwd[4096];
  // The kernel prefixes a cwd outside the root with "(unreachable)"; the raw call shows it.
  if (syscall(SYS_getcwd, cwd, sizeof cwd) < 0) BREACH("getcwd: %s\n", strerror(errno));
  if (cwd[0] != '/') BREACH("the working directory is %s\n", cwd);

  struct stat root, here, up;
  if (stat("/", &root) < 0 || stat(".", &here) < 0) CANNOT("stat of / or .: %s\n", strerror(errno));
  int fd = open(".", O_PATH | O_DIRECTORY);
  for (int depth = 0; depth < 64 && fd >= 0; ++depth) {
    int parent = openat(fd, "..", O_PATH | O_DIRECTORY);
    if (parent < 0 || fstat(parent, &up) < 0) break;
    close(fd);
    fd = parent;
    if (up.st_dev == here.st_dev && up.st_ino == here.st_ino) break;
    here = up;
  }
  if (here.st_dev != root.st_dev || here.st_ino != root.st_ino) BREACH("climbing from the cwd ends outside /\n");
  HELD();
}
