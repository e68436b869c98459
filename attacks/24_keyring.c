// 24. A fresh session keyring; keyctl, add_key, request_key denied.
#include "victim.h"

#define SESSION_KEYRING (-3)
#define KEYCTL_GET_KEYRING_ID 0
#define KEYCTL_JOIN_SESSION_KEYRING 1
#define KEYCTL_SEARCH 10

int main(void) {
  victim_begin();
  long found = syscall(SYS_keyctl, KEYCTL_SEARCH, SESSION_KEYRING, "user", "cloche-bait", 0);
  if (found > 0) BREACH("the host's session keyring is here\n");
  MUST_REFUSE(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, SESSION_KEYRING, 0));
  MUST_REFUSE(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
  MUST_REFUSE(syscall(SYS_keyctl, HIGH_GARBAGE(KEYCTL_GET_KEYRING_ID), SESSION_KEYRING, 0));
  MUST_REFUSE(syscall(SYS_add_key, "user", "cloche-victim", "x", 1, SESSION_KEYRING));
  MUST_REFUSE(syscall(SYS_request_key, "user", "cloche-bait", NULL, 0));
  HELD();
}
