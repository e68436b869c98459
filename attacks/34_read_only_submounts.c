// 34. Read-only holds for submounts. BAIT_READ is granted read-only; BAIT_READ/sub is a writable tmpfs of its own.
//
// attack: D write-read-only | options: --read @READ@ --read @WRITE@/granted | no-process-user: Landlock does not
//     judge modes and times of the user's own files | tries to write to what is granted for reading, and to mounts
//     below it
#include "victim.h"

// Harmless in directories of the system, too.
static void must_not_make(const char* directory) {
  const char* path = own_path(directory, "34");
  g_litter[0] = path;
  MUST_DENY_PATH("create", path, open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
  MUST_DENY_PATH("mkdir", path, mkdir(path, 0755));
  g_litter[0] = NULL;
}
// What was planted may be changed as well.
static void must_not_write(const char* directory) {
  char path[4200];
  must_not_make(directory);
  snprintf(path, sizeof path, "%s/file", directory);
  MUST_DENY_PATH("write", path, open(path, O_WRONLY));
  MUST_DENY_PATH("chmod", path, chmod(path, 0600));
  MUST_DENY_PATH("unlink", path, unlink(path));
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  const char* granted = bait("BAIT_READ");
  char sub[4200];
  snprintf(sub, sizeof sub, "%s/file", granted);
  if (access(sub, R_OK) < 0) CANNOT("%s is not granted\n", granted);
  must_not_write(granted);
  snprintf(sub, sizeof sub, "%s/sub", granted);
  must_not_write(sub);
  // Inside of what is a workspace in some cells: there the guest may write all around it.
  snprintf(sub, sizeof sub, "%s/granted", bait("BAIT_WRITE"));
  must_not_write(sub);
  snprintf(sub, sizeof sub, "%s/granted/file", bait("BAIT_WRITE"));
  if (access(sub, R_OK) < 0) CANNOT("%s is not granted\n", sub);
  must_not_make("/usr");
  must_not_make("/usr/bin");
  HELD();
}
