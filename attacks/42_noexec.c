// 42. Writable mounts are noexec where policy says so.
//
// attack: E execute-written | options: --write @WRITE@ | no-bwrap: bwrap cannot give its tmpfs mounts noexec or an
//     inode cap; the plan says weakened | no-process: Landlock forbids execve there, not mapping a file as code |
//     tries to execute what it wrote
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "victim.h"

static const char* g_path;
static int run_it(void) {
  execl(g_path, "payload", PAYLOAD, (char*)NULL);
  return 0;
}

static void try_in(const char* directory) {
  g_path = own_path(directory, "42");
  int fd = open(g_path, O_RDWR | O_CREAT | O_EXCL, 0700);
  if (fd < 0) return;
  g_litter[0] = g_path;
  if (copy_self_to(fd) < 0) CANNOT("no copy of myself in %s: %s\n", directory, strerror(errno));
  if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED)
    BREACH("a file in %s can be mapped executable\n", directory);
  void* plain = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  int turned = plain != MAP_FAILED && mprotect(plain, 4096, PROT_READ | PROT_EXEC) == 0;
  close(fd);
  int status = in_child(run_it);
  unlink(g_path);
  g_litter[0] = NULL;
  if (turned) BREACH("a file in %s can be turned executable\n", directory);
  if (WIFEXITED(status) && WEXITSTATUS(status) == PAYLOAD_RAN) BREACH("a file written to %s ran\n", directory);
  struct statvfs info;
  if (statvfs(directory, &info) == 0 && !(info.f_flag & ST_NOEXEC)) BREACH("%s is not noexec\n", directory);
}

int main(int argc, char** argv) {
  RUN_PAYLOAD_IF_ASKED(argc, argv);
  victim_begin(&argc, argv);
  // Through "..": a mount stacked over the root would show the same files without the flags of their own mounts.
  static const char* const places[] = {"/tmp",          "/work",       "/home/guest",    "/dev/shm",
                                       "/work/../work", "/tmp/../tmp", "/dev/shm/../shm"};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) try_in(places[i]);
  try_in(bait("BAIT_WRITE"));
  HELD();
}
