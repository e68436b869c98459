// What a cell asks of the kernel, as plainly as it can be asked: its root, its groups, its walls. As root, on cgroup
// v1.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kGroups = 3, kFilterLength = 170 };
static const char* const kGroupMounts[kGroups] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory",
                                                  "/sys/fs/cgroup/cpuacct"};

static void must(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(125);
}

static void write_text(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd, path);
  must(write(fd, text, strlen(text)), path);
  close(fd);
}

static void bind_to(const char* from, const char* to, unsigned long flags) {
  must(mount(from, to, NULL, MS_BIND | MS_REC, NULL), from);
  must(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | flags, NULL), to);
}

static void build_root(void) {
  static const char* const dirs[] = {"usr", "dev", "proc", "work", "tmp", "home", "dev/shm", "scratch"};
  static const char* const links[][2] = {
      {"usr/bin", "bin"}, {"usr/sbin", "sbin"}, {"usr/lib", "lib"}, {"usr/lib64", "lib64"}};
  static const char* const devices[] = {"null", "zero", "full", "random", "urandom"};
  static const char* const scratch[] = {"work", "tmp", "home", "dev/shm"};
  char from[64];
  char to[64];
  must(mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=256,mode=0755"), "root");
  must(chdir("/tmp"), "chdir");
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; ++i) must(mkdir(dirs[i], 0755), dirs[i]);
  for (size_t i = 0; i < sizeof links / sizeof *links; ++i) must(symlink(links[i][0], links[i][1]), links[i][1]);
  bind_to("/usr", "usr", MS_RDONLY | MS_NOSUID | MS_NODEV);
  must(mount("none", "scratch", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,nr_inodes=16384,mode=0755"), "scratch");
  for (int i = 0; i < 4; ++i) {
    snprintf(from, sizeof from, "scratch/%d", i);
    must(mkdir(from, 0777), from);
    bind_to(from, scratch[i], MS_NOSUID | MS_NODEV | MS_NOEXEC);
  }
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    snprintf(from, sizeof from, "/dev/%s", devices[i]);
    snprintf(to, sizeof to, "dev/%s", devices[i]);
    int fd = open(to, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);
    must(fd, to);
    close(fd);
    must(mount(from, to, NULL, MS_BIND, NULL), from);
  }
  must(mount("none", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "subset=pid"), "proc");
  must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
  must(umount2(".", MNT_DETACH), "umount");
  must(chdir("/"), "chdir");
  must(mount(NULL, "/", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL), "read-only");
}

// A search by halves, as ours is. The kernel tries a filter on every number when it is loaded, so a list of comparisons
// would take it ten times as long.
static void split(struct sock_filter* filter, int begin, int end, unsigned low, unsigned high) {
  if (end - begin < 3) {
    for (int i = begin; i < end; ++i) filter[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return;
  }
  const int half = begin + 1 + (end - begin - 1) / 2;
  const unsigned middle = (low + high) / 2;
  filter[begin] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, middle, (unsigned char)(half - begin - 1), 0);
  split(filter, begin + 1, half, low, middle);
  split(filter, half, end, middle, high);
}

enum watched { kUnwatched, kWatched };

// What the guest-to-be does. Watched, it returns the descriptor that tells of each open and exec.
static int put_up_walls(enum watched watched) {
  static const int limits[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_SIGPENDING};
  static const char* const paths[] = {"/", "/usr", "/dev", "/proc", "/work", "/tmp", "/home", "/dev/shm"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit limit;
    must(getrlimit(limits[i], &limit), "rlimit");
    limit.rlim_cur = limit.rlim_max = limit.rlim_max < 1u << 28 ? limit.rlim_max : 1u << 28;
    must(setrlimit(limits[i], &limit), "rlimit");
  }
  for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; ++cap) {
  }
  must(syscall(SYS_setresuid, 1000, 1000, 1000), "setresuid");
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  const uint64_t handled[3] = {0xffff, 3, 3};
  int rules = (int)syscall(444, handled, sizeof handled, 0);
  must(rules, "landlock");
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    struct {
      uint64_t allowed;
      int32_t fd;
    } __attribute__((packed)) rule = {0xd, open(paths[i], O_PATH | O_CLOEXEC)};
    must(syscall(445, rules, 1, &rule, 0), paths[i]);
    close(rule.fd);
  }
  must(syscall(446, rules, 0), "landlock");
  close(rules);
  enum { kHead = 5 };
  static struct sock_filter filter[kHead + kFilterLength];
  const unsigned told = watched == kWatched ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  filter[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0);
  filter[2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1);
  filter[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, told);
  filter[4] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  split(filter, kHead, kHead + kFilterLength, 0, 512);
  struct sock_fprog program = {kHead + kFilterLength, filter};
  const unsigned flags = watched == kWatched ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  const int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  must(listener, "seccomp");
  return listener;
}

struct groups {
  char path[kGroups][96];
  int tasks[kGroups];
};

enum making { kMake, kFind };
static void open_groups(struct groups* groups, const char* name, enum making making) {
  char path[300];
  for (int i = 0; i < kGroups; ++i) {
    snprintf(groups->path[i], sizeof groups->path[i], "%s/%s", kGroupMounts[i], name);
    if (making == kMake) must(mkdir(groups->path[i], 0755), groups->path[i]);
    snprintf(path, sizeof path, "%s/tasks", groups->path[i]);
    must(groups->tasks[i] = open(path, O_WRONLY | O_CLOEXEC), path);
  }
  snprintf(path, sizeof path, "%s/pids.max", groups->path[0]);
  write_text(path, "65");
  snprintf(path, sizeof path, "%s/memory.limit_in_bytes", groups->path[1]);
  write_text(path, "536870912");
}

static void close_groups(struct groups* groups) {
  for (int i = 0; i < kGroups; ++i) close(groups->tasks[i]);
}

static void remove_groups(const struct groups* groups) {
  for (int i = 0; i < kGroups; ++i) {
    for (int attempt = 0; rmdir(groups->path[i]) < 0 && errno == EBUSY && attempt < 1000; ++attempt) usleep(50);
  }
}

static void write_maps(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
  write_text(path, "0 0 1\n1000 61000 1\n");
  snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
  write_text(path, "0 0 1\n1000 61000 1\n");
}

// What the first process does once its maps are written, before its root.
static void enter_cell(const struct groups* groups) {
  for (int i = 0; i < kGroups; ++i) must(write(groups->tasks[i], "0", 1), "enter a group");
  must(syscall(SYS_setresgid, 1000, 1000, 1000), "setresgid");
  must(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
  must(sethostname("cell", 4), "hostname");
  must(unshare(CLONE_NEWCGROUP), "cgroup namespace");
}
