// 39. mknod is denied, nodev everywhere.
//
// attack: E device-nodes | process-args: calls | tries to make device nodes
#include <sys/sysmacros.h>

#include "mounts.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const char* const places[] = {".", "/tmp", "/work", "/home/guest", "/dev/shm"};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const struct {
      mode_t type;
      dev_t device;
      const char* name;
    } nodes[] = {{S_IFCHR, makedev(1, 3), "null"},
                 {S_IFCHR, makedev(1, 1), "mem"},
                 {S_IFBLK, makedev(254, 0), "disk"},
                 // A 0:0 character device is an overlay whiteout, which the kernel lets anybody make.
                 {S_IFCHR, makedev(0, 0), "whiteout"}};
    for (size_t n = 0; n < sizeof nodes / sizeof *nodes; ++n) {
      const char* path = own_path(places[i], "39");
      int made = mknodat(AT_FDCWD, path, nodes[n].type | 0600, nodes[n].device);
      int error = errno;
      if (made == 0) unlink(path);
      if (made == 0) BREACH("mknod of %s at %s works\n", nodes[n].name, places[i]);
      if (!is_path_refusal(error)) BREACH("mknod at %s failed only with %s\n", places[i], strerror(error));
    }
  }
  // "calls": the mounts are the host's own.
  if (argc > 1 && strcmp(argv[1], "calls") == 0) HELD();
  FILE* mounts = open_mounts();
  struct mount_line line;
  while (next_mount(mounts, &line)) {
    struct stat info;
    if (has_flag(line.flags, "nodev")) continue;
    // The few device nodes are each a mount of their own, and so are terminals.
    if (stat(line.point, &info) == 0 && S_ISCHR(info.st_mode)) continue;
    if (strcmp(line.type, "devpts") == 0) continue;
    BREACH("%s is mounted without nodev\n", line.point);
  }
  HELD();
}
