// bare COMMAND…: the kernel's part of a launch and nothing else. Everything that a complete cell of tier 1 with limits
// asks of the kernel, in one go, without policy, read-back, report, error texts or clean-up after a crash: what no
// launcher can go below. As root, on cgroup v1.
//   bare --loop RUNS AT_ONCE COMMAND…: prints "latency MICROSECONDS" for each run, then "rate RUNS_PER_SECOND".
//   bare --reuse RUNS AT_ONCE COMMAND…: prints the rate alone, of runs one after the other in the same network namespace
//   and groups: the most that keeping these for the next run could gain.
//   bare --steps RUNS COMMAND…: prints "step MICROSECONDS NAME" for each step of each run.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
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
#include <time.h>
#include <unistd.h>

enum { kGroups = 3, kFilterLength = 170 };
static const char* const kGroupMounts[kGroups] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory",
                                                  "/sys/fs/cgroup/cpuacct"};

// Seen by all processes of a launch.
enum step { kBegin, kGroupsMade, kCloned, kEntered, kBuilt, kWalled, kGuestEnded, kReaped, kGroupsGone, kSteps };
static const char* const kStepNames[kSteps] = {"",
                                               "groups made",
                                               "namespaces",
                                               "groups entered",
                                               "root built",
                                               "rlimits, capabilities, Landlock, filter",
                                               "exec and guest",
                                               "cell taken down",
                                               "groups removed"};
static double* g_times;
static int g_network = CLONE_NEWNET;
static int g_reuse = 0;

static double now(void);
static void reach(enum step step) {
  if (g_times != NULL) g_times[step] = now();
}

static void must(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
  _exit(125);
}

static void write_text(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd, path);
  must(write(fd, text, strlen(text)), path);
  close(fd);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
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

static void put_up_walls(void) {
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
  static struct sock_filter filter[1 + kFilterLength];
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
  split(filter, 1, 1 + kFilterLength, 0, 512);
  struct sock_fprog program = {1 + kFilterLength, filter};
  must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

struct cell {
  char** command;
  int tasks[kGroups];
  int mapped[2];
};

static int first_process(void* argument) {
  struct cell* cell = argument;
  char byte;
  close(cell->mapped[1]);
  must(read(cell->mapped[0], &byte, 1), "maps");
  for (int i = 0; i < kGroups; ++i) must(write(cell->tasks[i], "0", 1), "enter a group");
  must(syscall(SYS_setresgid, 1000, 1000, 1000), "setresgid");
  must(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
  must(sethostname("cell", 4), "hostname");
  must(unshare(CLONE_NEWCGROUP), "cgroup namespace");
  reach(kEntered);
  build_root();
  reach(kBuilt);
  pid_t guest = vfork();
  must(guest, "fork");
  if (guest == 0) {
    setsid();
    put_up_walls();
    reach(kWalled);
    syscall(436, 3, ~0u, 0);
    execv(cell->command[0], cell->command);
    _exit(126);
  }
  int status = 0;
  must(waitpid(guest, &status, 0), "wait");
  reach(kGuestEnded);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static void remove_group(const char* path) {
  for (int attempt = 0; rmdir(path) < 0 && errno == EBUSY && attempt < 1000; ++attempt) usleep(50);
}

static int launch(char** command, unsigned serial, int is_last) {
  static char stack[64 * 1024] __attribute__((aligned(16)));
  struct cell cell = {command, {-1, -1, -1}, {-1, -1}};
  char group[kGroups][96];
  char path[300];
  reach(kBegin);
  for (int i = 0; i < kGroups; ++i) {
    snprintf(group[i], sizeof group[i], "%s/cloche-bare-%d-%u", kGroupMounts[i], (int)getpid(), g_reuse ? 0 : serial);
    if (serial == 0 || !g_reuse) must(mkdir(group[i], 0755), group[i]);
    snprintf(path, sizeof path, "%s/tasks", group[i]);
    must(cell.tasks[i] = open(path, O_WRONLY | O_CLOEXEC), path);
  }
  snprintf(path, sizeof path, "%s/pids.max", group[0]);
  write_text(path, "65");
  snprintf(path, sizeof path, "%s/memory.limit_in_bytes", group[1]);
  write_text(path, "536870912");
  must(pipe2(cell.mapped, O_CLOEXEC), "pipe");
  reach(kGroupsMade);
  // Without CLONE_VM: the copy is small, and both go on at once.
  pid_t pid =
      clone(first_process, stack + sizeof stack,
            CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | g_network | SIGCHLD, &cell);
  must(pid, "clone");
  reach(kCloned);
  snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
  write_text(path, "0 0 1\n1000 61000 1\n");
  snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
  write_text(path, "0 0 1\n1000 61000 1\n");
  must(write(cell.mapped[1], "x", 1), "maps");
  int status = 0;
  must(waitpid(pid, &status, 0), "wait");
  reach(kReaped);
  for (int i = 0; i < kGroups; ++i) {
    close(cell.tasks[i]);
    if (is_last || !g_reuse) remove_group(group[i]);
  }
  reach(kGroupsGone);
  close(cell.mapped[0]);
  close(cell.mapped[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int loop(unsigned runs, unsigned at_once, char** command) {
  const double start = now();
  for (unsigned worker = 0; worker < at_once; ++worker) {
    pid_t pid = fork();
    must(pid, "fork");
    if (pid != 0) continue;
    if (g_reuse) must(unshare(CLONE_NEWNET), "network namespace");
    for (unsigned i = 0; i < runs / at_once; ++i) {
      const double before = now();
      if (launch(command, i, i + 1 == runs / at_once) != 0) _exit(1);
      if (at_once == 1 && !g_reuse) {
        printf("latency %.1f\n", now() - before);
        fflush(stdout);
        usleep(12000);
      }
    }
    _exit(0);
  }
  int failed = 0;
  int status = 0;
  while (wait(&status) > 0) failed |= status;
  if (at_once > 1 || g_reuse) printf("rate %.1f\n", runs / ((now() - start) / 1e6));
  return failed != 0;
}

static int steps(unsigned runs, char** command) {
  g_times = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (g_times == MAP_FAILED) must(-1, "mmap");
  for (unsigned i = 0; i < runs; ++i) {
    g_network = CLONE_NEWNET;
    if (launch(command, i, 1) != 0) return 1;
    for (int step = 1; step < kSteps; ++step)
      printf("step %.1f %s\n", g_times[step] - g_times[step - 1], kStepNames[step]);
    usleep(12000);
    g_network = 0;
    if (launch(command, i, 1) != 0) return 1;
    printf("step %.1f namespaces, without the network's\n", g_times[kCloned] - g_times[kGroupsMade]);
    fflush(stdout);
    usleep(12000);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 3 && strcmp(argv[1], "--steps") == 0) return steps((unsigned)atoi(argv[2]), argv + 3);
  if (argc > 4 && strcmp(argv[1], "--reuse") == 0) {
    g_reuse = 1;
    g_network = 0;
  }
  if (argc > 4 && (g_reuse || strcmp(argv[1], "--loop") == 0))
    return loop((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), argv + 4);
  if (argc > 1 && argv[1][0] == '/') return launch(argv + 1, 0, 1);
  fprintf(stderr, "usage: bare [--loop RUNS AT_ONCE | --reuse RUNS AT_ONCE | --steps RUNS] COMMAND...\n");
  return 2;
}
