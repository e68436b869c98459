// 17. no_new_privs is 1.
//
// attack: E new-privileges | looks for a way to gain privileges by execve
#include <sys/prctl.h>

#include "victim.h"

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  int value = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (value < 0) CANNOT("PR_GET_NO_NEW_PRIVS: %s\n", strerror(errno));
  if (value != 1) BREACH("no_new_privs is %d\n", value);
  HELD();
}
