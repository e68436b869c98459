// 37. Every tmpfs has a size and an inode cap. Run with --disk 16M --inodes 1024; tries 64 MiB and 2,000 files.
//
// attack: A scratch-caps | args: caps | options: --disk 16M --memory 256M --inodes 1024 | no-bwrap: bwrap cannot give
//     its tmpfs mounts noexec or an inode cap; the plan says weakened | no-process: tier 0 writes to the host's disk,
//     with a cap per file only | looks for a memory file system without a cap
// attack: A fill-disk | args: bytes | options: --disk 16M --memory 256M --inodes 1024 | no-bwrap: bwrap cannot give
//     its tmpfs mounts noexec or an inode cap; the plan says weakened | no-process: tier 0 writes to the host's disk,
//     with a cap per file only | writes 64 MiB under a limit of 16M
// attack: A fill-inodes | args: files | options: --disk 16M --memory 256M --inodes 1024 | no-bwrap: bwrap cannot give
//     its tmpfs mounts noexec or an inode cap; the plan says weakened | no-process: tier 0 writes to the host's disk,
//     with a cap per file only | makes 2,000 files under a limit of 1024
#include <sys/statvfs.h>

#include "mounts.h"

static void fill(const char* directory) {
  static char block[1 << 20];
  const char* path = own_path(directory, "37");
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return;
  long written = 0;
  ssize_t got;
  while (written < (64l << 20) && (got = write(fd, block, sizeof block)) > 0) written += got;
  // One file may be bounded by RLIMIT_FSIZE where the file system is not: go on in a second one.
  const char* second = own_path(directory, "37");
  int more = open(second, O_WRONLY | O_CREAT | O_EXCL, 0600);
  while (more >= 0 && written < (64l << 20) && (got = write(more, block, sizeof block)) > 0) written += got;
  close(fd);
  close(more);
  unlink(path);
  if (more >= 0) unlink(second);
  if (written >= (64l << 20)) BREACH("%ld MiB fit into %s\n", written >> 20, directory);
}

static void crowd(const char* directory) {
  const char* base = own_path(directory, "37");
  char path[4400];
  int made = 0;
  for (; made < 2000; ++made) {
    snprintf(path, sizeof path, "%s-%d", base, made);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) break;
    close(fd);
  }
  for (int i = 0; i < made; ++i) {
    snprintf(path, sizeof path, "%s-%d", base, i);
    unlink(path);
  }
  if (made >= 2000) BREACH("%d files fit into %s\n", made, directory);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  alarm(30);  // a busy disk is slow
  choose(argc, argv);
  signal(SIGXFSZ, SIG_IGN);
  FILE* mounts = chosen("caps") ? open_mounts() : NULL;
  struct mount_line line;
  while (mounts != NULL && next_mount(mounts, &line)) {
    struct statvfs info;
    if (strcmp(line.type, "tmpfs") != 0 || has_flag(line.flags, "ro")) continue;
    if (statvfs(line.point, &info) < 0) continue;
    if (info.f_blocks == 0) BREACH("the tmpfs on %s has no size cap\n", line.point);
    if (info.f_files == 0) BREACH("the tmpfs on %s has no inode cap\n", line.point);
    if ((unsigned long long)info.f_blocks * info.f_frsize > (64ull << 20))
      BREACH("the tmpfs on %s holds %llu MiB\n", line.point, (unsigned long long)info.f_blocks * info.f_frsize >> 20);
  }
  static const char* const places[] = {"/tmp", "/work", "/home/guest", "/dev/shm"};
  for (size_t i = 0; chosen("bytes") && i < sizeof places / sizeof *places; ++i) fill(places[i]);
  // Where there is a workspace, everything in it comes out of the same cap.
  const char* workspace = bait("BAIT_WRITE");
  if (chosen("bytes")) fill(workspace);
  if (chosen("files")) crowd(access(workspace, W_OK) == 0 ? workspace : "/tmp");
  HELD();
}
