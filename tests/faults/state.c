// The guest of the fault tests: prints all that the walls around it can be told by, one fact a line. What it prints must
// not depend on anything but them: two runs of one policy print the same, but for what the test takes out (numbers of
// namespaces and mounts, names of runs).
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void print_file(const char* name, const char* path) {
  FILE* file = fopen(path, "r");
  char line[4096];
  if (file == NULL) {
    printf("%s error %d\n", name, errno);
    return;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    printf("%s %s\n", name, line);
  }
  fclose(file);
}

// Of the status only what says something about walls.
static void print_status(void) {
  static const char* const kKeys[] = {"Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "CapInh",
                                      "CapPrm", "CapEff", "CapBnd", "CapAmb", "SigBlk", "SigIgn", "SigCgt", "TracerPid",
                                      "NSpid", "PPid"};
  FILE* file = fopen("/proc/self/status", "r");
  char line[4096];
  if (file == NULL) {
    printf("status error %d\n", errno);
    return;
  }
  while (fgets(line, sizeof line, file) != NULL) {
    for (size_t i = 0; i < sizeof kKeys / sizeof *kKeys; ++i) {
      size_t length = strlen(kKeys[i]);
      if (strncmp(line, kKeys[i], length) == 0 && line[length] == ':') printf("status %s", line);
    }
  }
  fclose(file);
}

static void print_descriptors(void) {
  for (int fd = 0; fd < 4096; ++fd) {
    struct stat st;
    if (fstat(fd, &st) == 0) printf("fd %d type %o flags %o\n", fd, st.st_mode & S_IFMT, fcntl(fd, F_GETFL));
  }
}

static void print_namespaces(void) {
  static const char* const kNames[] = {"mnt", "pid", "net", "ipc", "uts", "user", "cgroup"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char path[64];
    char text[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", kNames[i]);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0) {
      printf("ns %s error %d\n", kNames[i], errno);
      continue;
    }
    text[n] = '\0';
    printf("ns %s %s\n", kNames[i], text);
  }
}

static void print_attempt(const char* name, long result) { printf("try %s %d\n", name, result < 0 ? errno : 0); }

// How many there may be, up to a number that no policy allows.
static void print_inotify(void) {
  int count = 0;
  int fds[200];
  while (count < 200 && (fds[count] = (int)syscall(SYS_inotify_init1, 0)) >= 0) ++count;
  printf("try inotify %d then %d\n", count, errno);
  while (count > 0) close(fds[--count]);
}

static void print_attempts(char** paths) {
  for (; *paths != NULL; ++paths) {
    int fd = open(*paths, O_RDONLY | O_CLOEXEC);
    printf("try read %s %d\n", *paths, fd < 0 ? errno : 0);
    if (fd >= 0) close(fd);
    fd = open(*paths, O_WRONLY | O_CLOEXEC);
    printf("try write %s %d\n", *paths, fd < 0 ? errno : 0);
    if (fd >= 0) close(fd);
  }
  print_attempt("unshare", unshare(0));
  print_attempt("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
  print_attempt("keyring", syscall(SYS_keyctl, 0 /* get id */, -3 /* of the session */, 0));
  print_attempt("ptrace", syscall(SYS_ptrace, 16 /* attach */, getppid(), 0, 0));
  print_attempt("landlock", syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
  print_inotify();
  const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK};
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    int fd = socket(families[i], SOCK_DGRAM, 0);
    printf("try socket %d %d\n", families[i], fd < 0 ? errno : 0);
    if (fd >= 0) close(fd);
  }
}

static void print_places(void) {
  static const char* const kPlaces[] = {"/", "/usr", "/work", "/tmp", "/home/guest", "/dev", "/proc", "/dev/shm"};
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    struct statvfs st;
    struct stat node;
    if (statvfs(kPlaces[i], &st) != 0 || stat(kPlaces[i], &node) != 0) {
      printf("place %s error %d\n", kPlaces[i], errno);
    } else {
      printf("place %s mode %o owner %u flags %lx\n", kPlaces[i], node.st_mode, node.st_uid, st.f_flag);
    }
  }
}

extern char** environ;

int main(int argc, char** argv) {
  (void)argc;
  char text[4096];
  struct utsname names;
  print_status();
  print_descriptors();  // before this opens any
  for (char** variable = environ; *variable != NULL; ++variable) printf("env %s\n", *variable);
  printf("cwd %s\n", getcwd(text, sizeof text) != NULL ? text : "none");
  printf("host %s\n", uname(&names) == 0 ? names.nodename : "none");
  printf("session %d group %d\n", getsid(0) == getpid(), getpgrp() == getpid());
  printf("securebits %d dumpable %d\n", prctl(PR_GET_SECUREBITS), prctl(PR_GET_DUMPABLE));
  mode_t mask = umask(022);
  printf("umask %o\n", mask);
  for (int number = 1; number < 65; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("signal %d not default\n", number);
  }
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) printf("cpus %d\n", CPU_COUNT(&cpus));
  print_file("limits", "/proc/self/limits");
  print_file("cgroup", "/proc/self/cgroup");
  print_file("uid_map", "/proc/self/uid_map");
  print_file("gid_map", "/proc/self/gid_map");
  print_file("setgroups", "/proc/self/setgroups");
  print_file("mount", "/proc/self/mountinfo");
  print_namespaces();
  print_places();
  print_attempts(argv + 1);
  printf("whole\n");
  fflush(stdout);
  return 7;
}
