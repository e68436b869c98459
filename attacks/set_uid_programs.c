// 23. A set-uid program of the system gets no rights.
//
// attack: E set-uid-program | tries to gain root's rights by a set-uid program of the system
#include "set_uid.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  if (geteuid() == 0) BREACH("it is root already\n");
  for (size_t i = 0; i < sizeof kSetUidPrograms / sizeof *kSetUidPrograms; ++i) {
    struct stat info;
    if (stat(kSetUidPrograms[i], &info) < 0 || !(info.st_mode & S_ISUID)) continue;
    if (rights_of(kSetUidPrograms[i]) == RIGHTS_MORE) BREACH("%s got its owner's rights\n", kSetUidPrograms[i]);
  }
  HELD();
}
