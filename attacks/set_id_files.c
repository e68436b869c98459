// 23. Leaves a set-uid or set-gid file behind, for somebody else to run.
//
// attack: D set-uid-file | args: user | tries to leave a set-uid file behind
// attack: D set-gid-file | args: group | tries to leave a set-gid file behind
#include "victim.h"

// Where the guest can write: its working directory may be granted for reading alone.
static const char* new_file(int* fd, mode_t mode) {
  const char* own = getenv("TMPDIR");
  const char* const places[] = {".", own == NULL ? "/tmp" : own, "/tmp", "/work"};
  int error = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const char* path = own_path(places[i], "set-id");
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (*fd >= 0) return path;
    if (i == 0) error = errno;
  }
  if (mode == 0755) CANNOT("no file can be made: %s\n", strerror(error));
  return NULL;  // the bits alone are what was refused
}

static int has_bits(int fd, unsigned* mode) {
  struct stat info;
  if (fstat(fd, &info) != 0) return 0;
  *mode = (unsigned)(info.st_mode & 07777);
  return (info.st_mode & (S_ISUID | S_ISGID)) != 0;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  unsigned mode = 0;
  int fd = -1;
  const char* path = new_file(&fd, 0755);
  if (chosen("user")) (void)!fchmod(fd, 04755);
  if (chosen("user")) (void)!chmod(path, 04755);
  if (chosen("group")) (void)!fchmodat(AT_FDCWD, path, 02755, 0);
  int bad = has_bits(fd, &mode);
  unlink(path);
  if (bad) BREACH("a file with mode %o was made\n", mode);
  path = new_file(&fd, 06755);
  bad = path != NULL && has_bits(fd, &mode);
  if (path != NULL) unlink(path);
  if (bad) BREACH("a file was created with mode %o\n", mode);
  HELD();
}
