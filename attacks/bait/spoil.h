// What bait spoils on purpose: a /dev with something else in the place of a device, a /proc that is none. Without root
// it takes a user namespace, in which nobody can make devices: those that the host has are bound to other names.
#ifndef CLOCHE_ATTACKS_BAIT_SPOIL_H
#define CLOCHE_ATTACKS_BAIT_SPOIL_H

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#include "../victim.h"

static void die(const char* what) {
  fprintf(stderr, "bait: %s: %s\n", what, strerror(errno));
  exit(120);
}
static void put(const char* path, const char* text, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0) die(path);
  close(fd);
}

static void tell_kernel(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) CANNOT("%s: %s\n", path, strerror(errno));
  close(fd);
}

// Mounts of our own without root. The tree is a slave of the host's: nothing goes back.
static void own_the_mounts(void) {
  char uid_map[64], gid_map[64];
  snprintf(uid_map, sizeof uid_map, "%u %u 1", geteuid(), geteuid());
  snprintf(gid_map, sizeof gid_map, "%u %u 1", getegid(), getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
    CANNOT("only root can lay it out without a user namespace: %s\n", strerror(errno));
  tell_kernel("/proc/self/setgroups", "deny");
  tell_kernel("/proc/self/uid_map", uid_map);
  tell_kernel("/proc/self/gid_map", gid_map);
  // What is root's is nobody's in here, and an engine starts no program of nobody's.
  const char* own_init = getenv("BAIT_INIT");
  if (own_init != NULL && access(own_init, X_OK) == 0) setenv("CLOCHE_INIT", own_init, 1);
}

// A command that does not get as far as its program is refused for this namespace, not for what will be spoiled.
static void try_unspoiled(char** command) {
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    alarm(20);
    execvp(command[0], command);
    _exit(120);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
    CANNOT("the command does not work in a user namespace, and without one only root can lay it out\n");
}

static void spoil_dev(const char* how, const char* secret) {
  static const char* const names[] = {"zero", "full", "random", "urandom"};
  int nodes[4];
  char path[64], from[64];
  for (size_t i = 0; i < 4; ++i) {
    snprintf(path, sizeof path, "/dev/%s", names[i]);
    if ((nodes[i] = open(path, O_PATH | O_CLOEXEC)) < 0) die(path);
  }
  if (mount("none", "/dev", "tmpfs", 0, "size=64k,mode=755") < 0) die("mount /dev");
  umask(0);
  for (size_t i = 0; i < 4; ++i) {
    snprintf(path, sizeof path, "/dev/%s", names[i]);
    snprintf(from, sizeof from, "/proc/self/fd/%d", nodes[i]);
    put(path, "", 0666);
    if (mount(from, path, NULL, MS_BIND, NULL) < 0) die(path);
  }
  if (strcmp(how, "symlink") == 0) {
    if (symlink(secret, "/dev/null") < 0) die("symlink /dev/null");
  } else {
    snprintf(from, sizeof from, "/proc/self/fd/%d", nodes[0]);
    put("/dev/null", "", 0666);
    if (mount(from, "/dev/null", NULL, MS_BIND, NULL) < 0) die("another device as /dev/null");
  }
  for (size_t i = 0; i < 4; ++i) close(nodes[i]);
}

// A tmpfs that passes for /proc: what is no process leads to the real one, the processes to come are plain files. What
// lands in them is kept for the caller.
static void spoil_proc(const char* real) {
  char path[4300];
  pid_t self = getpid();
  // Private, or what is mounted on the one appears on the other.
  if (mount("/proc", real, NULL, MS_BIND, NULL) < 0 || mount(NULL, real, NULL, MS_PRIVATE, NULL) < 0 ||
      mount("none", "/proc", "tmpfs", 0, "size=8m,mode=755") < 0)
    die("mount /proc");
  umask(0);
  DIR* entries = opendir(real);
  if (entries == NULL) die(real);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (entry->d_name[0] == '.' || (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')) continue;
    char target[8600];
    snprintf(path, sizeof path, "/proc/%.200s", entry->d_name);
    snprintf(target, sizeof target, "%s/%s", real, entry->d_name);
    if (symlink(target, path) < 0) die(path);
  }
  closedir(entries);
  for (int i = 0; i < 400; ++i) {
    snprintf(path, sizeof path, "/proc/%d", self + i);
    if (mkdir(path, 0777) < 0) die(path);
    static const char* const files[] = {"uid_map", "gid_map", "setgroups"};
    for (size_t f = 0; f < 3; ++f) {
      snprintf(path, sizeof path, "/proc/%d/%s", self + i, files[f]);
      put(path, "", 0666);
    }
  }
}
static int proc_was_written(void) {
  char path[64], text[64];
  int written = 0;
  for (pid_t pid = getpid(); pid < getpid() + 400; ++pid) {
    static const char* const files[] = {"uid_map", "gid_map", "setgroups"};
    for (size_t f = 0; f < 3; ++f) {
      snprintf(path, sizeof path, "/proc/%d/%s", pid, files[f]);
      written |= read_file(path, text, sizeof text) > 0;
    }
  }
  return written;
}

#endif
