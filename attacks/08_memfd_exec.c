// 8. memfd_create + execveat obeys the exec policy.
//
// attack: E memory-file-exec | args: memfd | not-with: exec-writable | no-bwrap: bwrap cannot give its tmpfs mounts
//     noexec or an inode cap; the plan says weakened | tries to execute a program that only exists in memory
// attack: E unnamed-file-exec | args: unnamed | not-with: exec-writable | no-bwrap: bwrap cannot give its tmpfs mounts
//     noexec or an inode cap; the plan says weakened | tries to execute a program in a file without a name
#include <sys/mman.h>

#include "victim.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

static int g_fd;
static char* const kArgv[] = {"payload", PAYLOAD, NULL};
static char* const kEnv[] = {NULL};

static int by_descriptor(void) {
  syscall(SYS_execveat, g_fd, "", kArgv, kEnv, AT_EMPTY_PATH);
  return 0;
}
static int by_proc(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", g_fd);
  execve(path, kArgv, kEnv);
  return 0;
}

static void try_execute(const char* what, int mapped) {
  if (copy_self_to(g_fd) < 0) return;
  fchmod(g_fd, 0755);
  // A descriptor open for writing is "busy" for exec: go on with a read-only one.
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", g_fd);
  int reader = open(path, O_RDONLY);
  if (reader < 0) CANNOT("reopen of %s: %s\n", what, strerror(errno));
  // Mapping a memfd gives no more than anonymous executable memory, which compilers need; a file on disk is another
  // matter.
  if (mapped && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, reader, 0) != MAP_FAILED)
    BREACH("%s can be mapped executable\n", what);
  close(g_fd);
  g_fd = reader;
  int status = in_child(by_descriptor);
  if (WIFEXITED(status) && WEXITSTATUS(status) == PAYLOAD_RAN) BREACH("%s ran by descriptor\n", what);
  status = in_child(by_proc);
  if (WIFEXITED(status) && WEXITSTATUS(status) == PAYLOAD_RAN) BREACH("%s ran by /proc/self/fd\n", what);
  close(g_fd);
}

int main(int argc, char** argv) {
  RUN_PAYLOAD_IF_ASKED(argc, argv);
  victim_begin(&argc, argv);
  choose(argc, argv);
  // 0, CLOEXEC, EXEC, NOEXEC_SEAL, and ALLOW_SEALING with garbage above the low half.
  const long flags[] = {0, 1, 0x10, 0x8, HIGH_GARBAGE(0), HIGH_GARBAGE(0x8)};
  for (size_t i = 0; chosen("memfd") && i < sizeof flags / sizeof *flags; ++i) {
    g_fd = (int)syscall(SYS_memfd_create, "victim", flags[i]);
    if (g_fd < 0) continue;
    if ((flags[i] & 0x8) && fchmod(g_fd, 0755) == 0) BREACH("a NOEXEC_SEAL memfd became executable\n");
    try_execute("a memfd", 0);
  }
  const char* places[] = {"/tmp", "/work", "/home/guest", "/dev/shm"};
  for (size_t i = 0; chosen("unnamed") && i < sizeof places / sizeof *places; ++i) {
    g_fd = open(places[i], O_TMPFILE | O_RDWR, 0755);
    if (g_fd >= 0) try_execute("an O_TMPFILE file", 1);
  }
  HELD();
}
