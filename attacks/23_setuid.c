// 23. No setuid binary is honoured. The helper beside this program is root's and set-uid when the harness is root. For
// another user the bait names one that the host has.
//
// attack: E set-uid-helper | process-args: helper | tries to gain root's rights by a set-uid program on a hostile file
//     system, or by one of the system where only root could lay it out
#include <sys/auxv.h>
#include <sys/statvfs.h>

#include "set_uid.h"

static const char* g_helper;
static int run_helper(void) {
  execl(g_helper, g_helper, PAYLOAD, (char*)NULL);
  return 0;
}

int main(int argc, char** argv) {
  // With more rights than its caller it does nothing but say so: anybody could start it.
  if (geteuid() != getuid() || getauxval(AT_SECURE)) _exit(PAYLOAD_RAN);
  if (argc > 1 && strcmp(argv[1], PAYLOAD) == 0) _exit(0);
  victim_begin(&argc, argv);
  static const char* const writable[] = {"/tmp", "/work", "/home/guest", "/dev/shm"};
  // "helper": on the host's own mounts only the set-uid program itself can be judged.
  const int mounts = argc < 2 || strcmp(argv[1], "helper") != 0;
  for (size_t i = 0; mounts && i < sizeof writable / sizeof *writable; ++i) {
    struct statvfs info;
    if (statvfs(writable[i], &info) == 0 && !(info.f_flag & ST_NOSUID))
      BREACH("%s honours set-uid files\n", writable[i]);
  }
  const char* program = getenv("BAIT_SETUID_PROGRAM");
  if (program != NULL) {
    if (strcmp(program, "none") == 0) CANNOT("this host has no set-uid program, and only root can lay one out\n");
    if (rights_of(program) == RIGHTS_MORE) BREACH("%s got its owner's rights\n", program);
    HELD();
  }
  g_helper = bait("BAIT_SETUID_HELPER");
  struct stat info;
  if (stat(g_helper, &info) < 0) CANNOT("%s: %s\n", g_helper, strerror(errno));
  if (!(info.st_mode & S_ISUID)) CANNOT("%s is not set-uid: the harness is not root\n", g_helper);
  int status = in_child(run_helper);
  if (WIFEXITED(status) && WEXITSTATUS(status) == PAYLOAD_RAN) BREACH("a set-uid program got its uid\n");
  HELD();
}
