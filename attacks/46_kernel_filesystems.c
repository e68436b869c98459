// 46. No sysfs, debugfs or cgroupfs write.
//
// attack: E kernel-file-systems | process-args: files | no-process-user: the modes of the files keep an ordinary user
//     out by themselves | tries to write to sysfs, cgroups and debug files
#include "mounts.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const char* const types[] = {"sysfs",      "debugfs", "tracefs",  "cgroup", "cgroup2",
                                      "securityfs", "bpf",     "configfs", "pstore", "fusectl"};
  // "files": the mounts are the host's own, and only what can be opened counts.
  FILE* mounts = argc > 1 && strcmp(argv[1], "files") == 0 ? NULL : open_mounts();
  struct mount_line line;
  while (mounts != NULL && next_mount(mounts, &line)) {
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
      if (strcmp(line.type, types[i]) == 0 && has_flag(line.flags, "rw"))
        BREACH("%s is %s, writable\n", line.point, types[i]);
    }
  }
  static const char* const files[] = {
      "/sys/kernel/uevent_helper",      "/sys/kernel/mm/ksm/run",    "/sys/power/state",
      "/sys/fs/cgroup/cgroup.procs",    "/sys/fs/cgroup/pids/tasks", "/sys/fs/cgroup/memory/release_agent",
      "/sys/kernel/debug/tracing/trace"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (open(files[i], O_WRONLY) >= 0) BREACH("%s opens for writing\n", files[i]);
  }
  const char* group = own_path("/sys/fs/cgroup", "46");
  if (mkdir(group, 0755) == 0) {
    rmdir(group);
    BREACH("a cgroup can be made\n");
  }
  HELD();
}
