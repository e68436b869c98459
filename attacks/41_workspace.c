// 41. A workspace's tree stays as it is. The guest may change what it sees there, and does, in every way there is; the
// test compares the host's tree afterwards. What would lead around the cover has to be refused.
//
// attack: D workspace | options: --workspace @WRITE@ | no-bwrap: a workspace takes the native backend of tier 1 |
//     no-process: a workspace takes the native backend of tier 1 | changes a workspace in every way, and looks for the
//     tree behind it
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "mounts.h"

#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif

static void write_text(const char* path, int flags) {
  int fd = open(path, O_WRONLY | flags, 0666);
  if (fd < 0) return;
  (void)!write(fd, "guest", 5);
  close(fd);
}

// Whiteouts are what an overlay hides the host's files with.
static void make_whiteouts(void) {
  MUST_DENY_PATH("mknod of a whiteout", "victim41-w", mknodat(AT_FDCWD, "victim41-w", S_IFCHR | 0600, makedev(0, 0)));
  write_text("victim41-a", O_CREAT);
  MUST_DENY_PATH("rename with a whiteout", "victim41-a",
                 syscall(SYS_renameat2, AT_FDCWD, "victim41-a", AT_FDCWD, "victim41-b", 4u));
}

static void uncover(const char* workspace) {
  static char attributes[32];
  MUST_REFUSE(syscall(SYS_umount2, workspace, MNT_DETACH));
  MUST_REFUSE(syscall(SYS_umount2, ".", 0));
  MUST_REFUSE(syscall(SYS_mount, NULL, workspace, NULL, (unsigned long)(MS_REMOUNT | MS_BIND), NULL));
  MUST_REFUSE(syscall(SYS_mount, NULL, workspace, NULL, (unsigned long)MS_REMOUNT, "lowerdir=/usr"));
  MUST_REFUSE(syscall(SYS_mount, workspace, "/tmp", NULL, (unsigned long)MS_MOVE, NULL));
  MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, workspace, 1 /* OPEN_TREE_CLONE */));
  MUST_REFUSE(syscall(NR_open_tree, AT_FDCWD, "..", 0));
  MUST_REFUSE(syscall(NR_fspick, AT_FDCWD, workspace, 0));
  MUST_REFUSE(syscall(NR_fsopen, "overlay", 0));
  MUST_REFUSE(syscall(NR_mount_setattr, AT_FDCWD, workspace, 0, attributes, sizeof attributes));
  MUST_REFUSE(syscall(NR_move_mount, AT_FDCWD, workspace, AT_FDCWD, "/tmp", 0));
  MUST_REFUSE(syscall(SYS_open_by_handle_at, AT_FDCWD, attributes, O_RDWR));
}

// The overlay's own options name its directories, and mountinfo shows them.
static void follow_mountinfo(void) {
  FILE* mounts = open_mounts();
  struct mount_line line;
  while (next_mount(mounts, &line)) {
    if (strcmp(line.type, "overlay") != 0) continue;
    for (char* word = strtok(line.super, ","); word != NULL; word = strtok(NULL, ",")) {
      char* path = strchr(word, '=');
      if (path == NULL || path[1] != '/') continue;
      MUST_DENY_PATH("open", word, open(path + 1, O_RDONLY | O_DIRECTORY));
    }
  }
  fclose(mounts);
}

static void leave_by_name(void) {
  const char* outside = g_litter[0] = own_path("/tmp", "41");
  const char* other = g_litter[1] = own_path("/tmp", "41");
  int file = open("file", O_RDONLY);
  char by_descriptor[64];
  snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", file);
  MUST_DENY_PATH("link to", "/tmp", link("first", outside));
  MUST_DENY_PATH("rename to", "/tmp", rename("folder/inner", outside));
  MUST_DENY_PATH("link of a descriptor to", "/tmp",
                 linkat(AT_FDCWD, by_descriptor, AT_FDCWD, outside, AT_SYMLINK_FOLLOW));
  write_text(other, O_CREAT | O_EXCL);
  MUST_DENY_PATH("link from", "/tmp", link(other, "victim41-in"));
  MUST_DENY_PATH("exchange with", "/tmp",
                 syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, "file", 2u /* RENAME_EXCHANGE */));
  MUST_DENY_PATH("rename above", "..", rename("file", "../victim41"));
  int unnamed = open(".", O_TMPFILE | O_RDWR, 0600);
  if (unnamed >= 0) {
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", unnamed);
    MUST_DENY_PATH("link of an unnamed file to", "..",
                   linkat(AT_FDCWD, by_descriptor, AT_FDCWD, "../victim41", AT_SYMLINK_FOLLOW));
    linkat(AT_FDCWD, by_descriptor, AT_FDCWD, "victim41-t", AT_SYMLINK_FOLLOW);
  }
}

// What overlayfs keeps in attributes; the kernel must take a guest's for plain ones, or refuse them.
static void forge_attributes(void) {
  static const char* const names[] = {"opaque", "redirect", "whiteout", "metacopy", "origin",    "impure",
                                      "upper",  "nlink",    "uuid",     "protattr", "xwhiteouts"};
  static const char* const things[] = {".", "file", "folder", "folder/deep", "empty", "victim41-a"};
  char attribute[64];
  for (size_t t = 0; t < sizeof things / sizeof *things; ++t) {
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
      static const char* const values[] = {"y", "x", "/../../etc", ""};
      for (size_t v = 0; v < 4; ++v) {
        snprintf(attribute, sizeof attribute, "user.overlay.%s", names[n]);
        setxattr(things[t], attribute, values[v], strlen(values[v]), 0);
        snprintf(attribute, sizeof attribute, "trusted.overlay.%s", names[n]);
        if (setxattr(things[t], attribute, values[v], strlen(values[v]), 0) == 0)
          BREACH("%s can be set on %s\n", attribute, things[t]);
      }
    }
  }
  removexattr("file", "user.note");
  setxattr("file", "user.note", "guest", 5, 0);
}

// A descriptor that was opened for reading is still the lower file's when the first change comes.
static void through_descriptors(const char* path) {
  int reading = open(path, O_RDONLY);
  if (reading < 0) return;
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  int flags = 0x10 /* FS_IMMUTABLE_FL */;
  if (ioctl(reading, _IOW('f', 2, long), &flags) == 0) {
    flags = 0;
    ioctl(reading, _IOW('f', 2, long), &flags);
    BREACH("%s can be made immutable\n", path);
  }
  flags = 0x80 /* FS_NOATIME_FL */;
  ioctl(reading, _IOW('f', 2, long), &flags);
  futimens(reading, times);
  fchmod(reading, 0640);
  fsetxattr(reading, "user.by-descriptor", "x", 1, 0);
  char again[64];
  snprintf(again, sizeof again, "/proc/self/fd/%d", reading);
  int writing = open(again, O_RDWR);
  if (writing >= 0) {
    void* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writing, 0);
    if (memory != MAP_FAILED) {
      memcpy(memory, "mapped", 6);
      msync(memory, 4096, MS_SYNC);
    }
    (void)!pwrite(writing, "written", 7, 8);
    fallocate(writing, 0, 0, 1 << 20);
    fallocate(writing, 0, 0, 1l << 40);
    fallocate(writing, 3 /* punch a hole */, 0, 4096);
    syscall(SYS_copy_file_range, open("/usr/bin/env", O_RDONLY), NULL, writing, NULL, 4096, 0);
    ioctl(writing, FICLONE, open("/usr/bin/env", O_RDONLY));
    ioctl(writing, FICLONE, reading);
    sendfile(writing, open("/etc/passwd", O_RDONLY), NULL, 64);
  }
  void* memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reading, 0);
  if (memory != MAP_FAILED && mprotect(memory, 4096, PROT_READ | PROT_WRITE) == 0) BREACH("a reader can write\n");
}

static void by_other_ways(const char* workspace) {
  static const char* const ways[] = {"/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../../../../../..",
                                     "/work/..", "/tmp/../proc/self/root/.."};
  char path[4300];
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    snprintf(path, sizeof path, "%s%s/locked", ways[i], workspace);
    write_text(path, O_APPEND);
    chmod(path, 0777);
  }
  for (int pid = 1; pid < 16; ++pid) {
    for (int fd = 0; fd < 64; ++fd) {
      snprintf(path, sizeof path, "/proc/%d/fd/%d/file", pid, fd);
      write_text(path, O_TRUNC);
    }
  }
  snprintf(path, sizeof path, "%s/../write/../write/./folder/deep/../inner", workspace);
  write_text(path, O_TRUNC);
}

static void wreck(void) {
  write_text("first", O_TRUNC);  // the other name of a hard link must stay, too
  truncate("tool", 3);
  truncate("locked", 1l << 30);
  if (chown("tool", 0, 0) == 0 && getuid() != 0) BREACH("tool was given to root\n");
  chmod("tool", 06777);
  int top = open(".", O_RDONLY | O_DIRECTORY);
  fchmod(top, 0);
  if (fchmod(top, 0777) < 0 || access("file", F_OK) < 0) CANNOT("the workspace stays closed\n");
  syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "link", 2u);
  unlink("link");
  symlink("../secret", "link");
  write_text("link", O_TRUNC);
  unlink("evil");
  symlink("/proc/1/root", "evil");
  unlink("second");
  mkfifo("second", 0777);
  unlink("folder/deep/inner");
  rmdir("folder/deep");
  symlink("..", "folder/deep");
  rename("folder", "empty");
  rmdir("empty");
  unlink("socket");
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  signal(SIGXFSZ, SIG_IGN);
  const char* workspace = bait("BAIT_WRITE");
  if (chdir(workspace) < 0 || access("file", W_OK) < 0) CANNOT("%s is no workspace\n", workspace);
  leave_by_name();  // first, while everything is still the host's own inode
  through_descriptors("file");
  through_descriptors("folder/inner");
  forge_attributes();
  by_other_ways(workspace);
  wreck();
  follow_mountinfo();
  uncover(workspace);
  make_whiteouts();
  HELD();
}
