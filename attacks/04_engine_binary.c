// 4. The engine's own binary cannot be reopened for writing through /proc (runc CVE-2019-5736).
//
// attack: E overwrite-engine | process-args: engine | tries to overwrite the engine's own program through /proc
#include "victim.h"

// "Text file busy" only lasts as long as the process: what counts is whether the mount, the mode or Landlock forbids
// it. Landlock is asked after the kernel has said "busy", so reading is tried: who may not read may not write either.
static int writable_when_idle(const char* path) {
  if (faccessat(AT_FDCWD, path, W_OK, 0) != 0) return 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static void try_exe(const char* path) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) BREACH("%s opens for writing\n", path);
  if (errno == ETXTBSY && writable_when_idle(path)) BREACH("%s is writable once it is idle\n", path);
  int handle = open(path, O_PATH | O_CLOEXEC);
  if (handle < 0) return;
  char again[64];
  snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
  fd = open(again, O_WRONLY | O_CLOEXEC);
  if (fd >= 0) BREACH("%s opens for writing through its handle\n", path);
  if (errno == ETXTBSY && writable_when_idle(again)) BREACH("%s is writable by its handle\n", path);
  close(handle);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  char path[64];
  // "engine": without a mount of its own the guest's program is a file of the caller's, which only Landlock keeps, and
  // that is asked too late to be told from "busy".
  if (argc < 2 || strcmp(argv[1], "engine") != 0) try_exe("/proc/self/exe");
  snprintf(path, sizeof path, "/proc/%d/exe", getppid());
  try_exe(path);
  for (int pid = 1; pid < 64; ++pid) {
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    try_exe(path);
  }
  const char* engine = getenv("BAIT_ENGINE");
  if (engine != NULL && open(engine, O_WRONLY) >= 0) BREACH("%s opens for writing\n", engine);
  HELD();
}
