// Mistakes that use something up: output, threads, zombies, descriptors, space. Each stops by itself at a number that a
// host survives. Run with the limits of the attack lines.
//
// attack: A print-flood | args: output | options: --output 64K | held: 0,137 | prints 4 MiB under a limit of 64K
// attack: A thread-flood | args: threads | options: --pids 32 | alone | makes 200 threads under a limit of 32
// attack: A zombie-flood | args: zombies | options: --pids 32 | alone | makes 200 zombies under a limit of 32
// attack: A descriptor-flood | args: descriptors | options: --files 64 | opens 4096 descriptors under a limit of 64
// attack: A memory-file | args: memory-file | options: --memory 64M | held: 0,137 | alone | no-cgroups: RLIMIT_AS
//     counts what is mapped, not what is written | fills a file in memory with 192 MiB under a limit of 64M
// attack: A shared-memory | args: shared-memory | options: --memory 64M | held: 0,137 | alone | fills 192 MiB of
//     shared memory under a limit of 64M
// attack: A sparse-file | args: sparse-file | options: --disk 16M | makes a file of a terabyte with nothing in it
// attack: A reserve-disk | args: reserve | options: --disk 16M | reserves 48 MiB of disk under a limit of 16M
// attack: A fill-work | args: work | options: --disk 16M | held: 0,137 | writes 48 MiB to its working directory under a
//     limit of 16M
// attack: A crowd-work | args: crowd | options: --inodes 1024 | held: 0,137 | no-bwrap: bwrap cannot give its tmpfs
//     mounts an inode cap | makes 2,000 files in its working directory under a limit of 1024
#include <sys/mman.h>
#include <sys/resource.h>

#include "room.h"
#include "victim.h"

static int stay(void* unused) {
  (void)unused;
  for (;;) pause();
  return 0;
}

static void flood_output(void) {
  static char line[4096];
  memset(line, '.', sizeof line - 1);
  line[sizeof line - 1] = '\n';
  for (int i = 0; i < 1024; ++i) {
    if (write(1, line, sizeof line) < 0) HELD();
  }
  BREACH("4 MiB were printed%s\n", past_limit("64K", 1));
}

// By the raw call: what is counted are tasks, whatever a library thinks of them.
static void flood_threads(void) {
  enum { kMost = 200, kStack = 16384 };
  char* stacks = mmap(NULL, (size_t)kMost * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stacks == MAP_FAILED) CANNOT("no stacks: %s\n", strerror(errno));
  const int flags = 0x00000100 | 0x00000200 | 0x00000400 | 0x00000800 | 0x00010000;  // VM FS FILES SIGHAND THREAD
  int made = 0;
  extern int clone(int (*)(void*), void*, int, void*, ...);
  while (made < kMost && clone(stay, stacks + (size_t)(made + 1) * kStack, flags, NULL) > 0) ++made;
  if (made > most_tasks(32, kMost)) BREACH("%d threads were made%s\n", made, past_limit("32", made == kMost));
  HELD();
}

static void flood_zombies(void) {
  enum { kMost = 200 };
  int made = 0;
  for (; made < kMost; ++made) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) _exit(0);
  }
  while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  if (made > most_tasks(32, kMost)) BREACH("%d zombies were made%s\n", made, past_limit("32", made == kMost));
  HELD();
}

static void flood_descriptors(void) {
  int made = 0, pair[2];
  while (made < 4096 && pipe(pair) == 0) made += 2;
  if (made > 64) BREACH("%d descriptors were opened%s\n", made, past_limit("64", made == 4096));
  HELD();
}

static void fill(int fd, const char* what) {
  static char block[1 << 20];
  memset(block, 1, sizeof block);
  int mebibytes = 0;
  while (mebibytes < 192 && write(fd, block, sizeof block) == (ssize_t)sizeof block) ++mebibytes;
  if (mebibytes >= 192) BREACH("%d MiB were written to %s%s\n", mebibytes, what, past_limit("64M", 1));
}
static void fill_memory(void) {
  int fd = (int)syscall(SYS_memfd_create, "victim", 0x8 /* NOEXEC_SEAL */);
  if (fd < 0) fd = (int)syscall(SYS_memfd_create, "victim", 0);
  if (fd < 0) HELD();
  fill(fd, "a memory file");
  HELD();
}
static void share_memory(void) {
  enum { kSize = 192 << 20 };
  char* block = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) HELD();
  for (long i = 0; i < kSize; i += 4096) block[i] = 1;
  BREACH("192 MiB of shared memory were filled%s\n", past_limit("64M", 1));
}

static const char* g_base;  // of the names of what is made here
static const char* numbered(int number) {
  static char name[4400];
  snprintf(name, sizeof name, "%s-%d", g_base, number);
  return name;
}
static void sweep(int files) {
  for (int i = 0; i < files; ++i) unlink(numbered(i));
}
// Where a limit is watched and not built in, the watcher looks a few times a second: this goes on for longer.
static void stay_over_the_limit(void) {
  for (int i = 0; i < 150; ++i) nap();
}
static void fill_work(void) {
  static char block[1 << 20];
  signal(SIGXFSZ, SIG_IGN);
  g_base = own_path(".", "work");
  memset(block, 1, sizeof block);
  for (int i = 0; i < 12; ++i) {  // each file alone stays below the limit
    int fd = open(numbered(i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    for (int mebibytes = 0; mebibytes < 4; ++mebibytes) {
      if (fd >= 0 && write(fd, block, sizeof block) == (ssize_t)sizeof block) continue;
      sweep(12);
      HELD();
    }
    close(fd);
  }
  stay_over_the_limit();
  sweep(12);
  BREACH("48 MiB were written%s\n", past_limit("16M", 1));
}
static void crowd_work(void) {
  enum { kMost = 2000 };
  g_base = own_path(".", "crowd");
  for (int i = 0; i < kMost; ++i) {
    int fd = open(numbered(i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
      sweep(kMost);
      HELD();
    }
    close(fd);
  }
  stay_over_the_limit();
  sweep(kMost);
  BREACH("%d files were made%s\n", kMost, past_limit("1024", 1));
}

static void grow_file(const char* how) {
  signal(SIGXFSZ, SIG_IGN);
  const char* name = own_path(".", "huge");
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) HELD();
  unlink(name);
  if (strcmp(how, "sparse-file") == 0 && ftruncate(fd, 1l << 40) == 0) BREACH("a file of a terabyte was made\n");
  if (strcmp(how, "reserve") == 0 && posix_fallocate(fd, 0, 48l << 20) == 0)
    BREACH("48 MiB were reserved%s\n", past_limit("16M", 1));
  HELD();
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  alarm(30);  // a busy disk is slow
  choose(argc, argv);
  if (g_choice == NULL) g_choice = "descriptors";
  if (chosen("output")) flood_output();
  if (chosen("threads")) flood_threads();
  if (chosen("zombies")) flood_zombies();
  if (chosen("descriptors")) flood_descriptors();
  if (chosen("memory-file")) fill_memory();
  if (chosen("shared-memory")) share_memory();
  if (chosen("work")) fill_work();
  if (chosen("crowd")) crowd_work();
  if (chosen("sparse-file") || chosen("reserve")) grow_file(g_choice);
  HELD();
}
