// bare COMMAND…: the kernel's part of a launch and nothing else. Everything that a complete cell of tier 1 with limits
// asks of the kernel, in one go, without policy, read-back, report, error texts or clean-up after a crash: what no
// launcher can go below. As root, on cgroup v1.
//   bare --loop RUNS AT_ONCE COMMAND…: prints "latency MICROSECONDS" for each run, then "rate RUNS_PER_SECOND".
//   bare --reuse RUNS AT_ONCE COMMAND…: prints the rate alone, of runs one after the other in the same network namespace
//   and groups: the most that keeping these for the next run could gain.
//   bare --steps RUNS COMMAND…: prints "step MICROSECONDS NAME" for each step of each run.
#include "bare_cell.h"

#include <time.h>

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

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct cell {
  char** command;
  struct groups groups;
  int mapped[2];
};

static int first_process(void* argument) {
  struct cell* cell = argument;
  char byte;
  close(cell->mapped[1]);
  must(read(cell->mapped[0], &byte, 1), "maps");
  enter_cell(&cell->groups);
  reach(kEntered);
  build_root();
  reach(kBuilt);
  pid_t guest = vfork();
  must(guest, "fork");
  if (guest == 0) {
    setsid();
    put_up_walls(kUnwatched);
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

static int launch(char** command, unsigned serial, int is_last) {
  static char stack[64 * 1024] __attribute__((aligned(16)));
  struct cell cell = {.command = command};
  char name[64];
  snprintf(name, sizeof name, "cloche-bare-%d-%u", (int)getpid(), g_reuse ? 0 : serial);
  reach(kBegin);
  open_groups(&cell.groups, name, serial == 0 || !g_reuse ? kMake : kFind);
  must(pipe2(cell.mapped, O_CLOEXEC), "pipe");
  reach(kGroupsMade);
  // Without CLONE_VM: the copy is small, and both go on at once.
  pid_t pid =
      clone(first_process, stack + sizeof stack,
            CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | g_network | SIGCHLD, &cell);
  must(pid, "clone");
  reach(kCloned);
  write_maps(pid);
  must(write(cell.mapped[1], "x", 1), "maps");
  int status = 0;
  must(waitpid(pid, &status, 0), "wait");
  reach(kReaped);
  close_groups(&cell.groups);
  if (is_last || !g_reuse) remove_groups(&cell.groups);
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
