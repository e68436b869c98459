// 36. The root tmpfs is read-only.
//
// attack: D write-system | not-with: bait | no-process: tier 0 has the host's own mounts; Landlock judges paths |
//     tries to make files in /, /usr, /etc and beside its grants
#include <sys/statvfs.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  struct statvfs info;
  static const char* const places[] = {"/",     "/usr",     "/etc",    "/dev",       "/bin",
                                       "/home", "/work/..", "/tmp/..", "/dev/shm/.."};
  const size_t count = sizeof places / sizeof *places;
  for (size_t i = 0; i <= count; ++i) {
    char beside[4200];
    snprintf(beside, sizeof beside, "%s/..", bait("BAIT_WRITE"));
    const char* path = own_path(i == 0 ? "" : i < count ? places[i] : beside, "36");
    int made = mkdir(path, 0755);
    int error = errno;
    if (made == 0) rmdir(path);
    must_deny_path("mkdir", path, made, error);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    error = errno;
    if (fd >= 0) unlink(path);
    must_deny_path("create", path, fd, error);
    int linked = symlink("/tmp", path);
    error = errno;
    if (linked == 0) unlink(path);
    must_deny_path("symlink", path, linked, error);
  }
  // ".." at a mount's root climbs into whatever is stacked over "/", which a plain "/" never sees.
  if (statvfs("/work/..", &info) == 0 && !(info.f_flag & ST_RDONLY)) BREACH("/work/.. is mounted read-write\n");
  if (statvfs("/", &info) == 0 && !(info.f_flag & ST_RDONLY)) BREACH("/ is mounted read-write\n");
  // Into itself, which nobody can: what may be renamed is told so.
  MUST_DENY_PATH("rename", "/etc", rename("/etc", own_path("/etc", "36")));
  HELD();
}
