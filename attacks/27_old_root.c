// 27. The old root is unreachable: "..", /proc/N/root, fchdir, chroot.
//
// attack: E old-root-by-climbing | args: climb | not-with: bait | no-process: tier 0 has the host's own mounts;
//     Landlock judges paths | tries to reach the host's root by .. and fchdir
// attack: E old-root-by-proc | args: proc | not-with: bait | no-process: tier 0 has the host's own mounts; Landlock
//     judges paths | tries to reach the host's root by /proc/PID/root
// attack: E old-root-by-chroot | args: chroot | no-process: tier 0 has the host's own mounts; Landlock judges
//     paths | tries to break out by chroot
#include "victim.h"

static const char* g_target;

static void must_not_read(const char* path) {
  char text[64];
  if (read_file(path, text, sizeof text) > 0) BREACH("%s reads the host's file\n", path);
}

static void from_here(const char* how) {
  char path[4600];
  char climb[200] = "";
  for (int depth = 0; depth < 60; depth += 3) {
    snprintf(path, sizeof path, "%s.%s", climb, g_target);
    int fd = open(path, O_RDONLY);
    if (fd >= 0) BREACH("%s, then %s reads the host's file\n", how, path);
    strcat(climb, "../");
  }
}

static int chroot_escape(void) {
  const char* place = own_path("/tmp", "27");
  int made = mkdir(place, 0755) == 0;
  int outside = open("/", O_RDONLY | O_DIRECTORY);
  int refused = chroot(made ? place : "/tmp") < 0;
  if (made) unlinkat(outside, place + 1, AT_REMOVEDIR);
  if (refused) return 0;
  if (fchdir(outside) == 0) from_here("chroot and fchdir");
  for (int i = 0; i < 64; ++i) (void)!chdir("..");
  if (chroot(".") == 0) must_not_read(g_target);
  return 2;  // chroot itself is what must not work
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  g_target = bait("BAIT_FILE");
  if (chosen("climb")) {
    must_not_read(g_target);
    from_here("the cwd");
  }
  char path[4600];
  for (int pid = 0; chosen("proc") && pid < 64; ++pid) {
    char owner[16];
    snprintf(owner, sizeof owner, pid == 0 ? "self" : "%d", pid);
    static const char* const links[] = {"root", "cwd"};
    for (size_t i = 0; i < 2; ++i) {
      snprintf(path, sizeof path, "/proc/%s/%s%s", owner, links[i], g_target);
      must_not_read(path);
      snprintf(path, sizeof path, "/proc/%s/%s/../../../../../../../../..%s", owner, links[i], g_target);
      must_not_read(path);
    }
  }
  for (int fd = 0; chosen("climb") && fd < 1024; ++fd) {
    if (fchdir(fd) == 0) from_here("fchdir");
  }
  (void)!chdir("/");
  if (chosen("climb")) from_here("chdir /");
  if (!chosen("chroot")) HELD();
  int status = in_child(chroot_escape);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) _exit(1);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) BREACH("chroot works\n");
  HELD();
}
