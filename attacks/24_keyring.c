// 24. A fresh session keyring; keyctl, add_key, request_key denied.
//
// attack: C keyring-search | args: search | looks for keys in the caller's session keyring
// attack: E keyring-join | args: join | tries to join a session keyring
// attack: E keyring-add | args: add | tries to add a key
// attack: C keyring-request | args: request | tries to have a key requested
#include "victim.h"

#define SESSION_KEYRING (-3)
#define KEYCTL_GET_KEYRING_ID 0
#define KEYCTL_JOIN_SESSION_KEYRING 1
#define KEYCTL_SEARCH 10

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  if (chosen("search")) {
    long found = syscall(SYS_keyctl, KEYCTL_SEARCH, SESSION_KEYRING, "user", "cloche-bait", 0);
    if (found > 0) BREACH("the host's session keyring is here\n");
  }
  if (chosen("search")) MUST_REFUSE(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, SESSION_KEYRING, 0));
  if (chosen("join")) MUST_REFUSE(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
  if (chosen("search")) MUST_REFUSE(syscall(SYS_keyctl, HIGH_GARBAGE(KEYCTL_GET_KEYRING_ID), SESSION_KEYRING, 0));
  if (chosen("add")) MUST_REFUSE(syscall(SYS_add_key, "user", "cloche-victim", "x", 1, SESSION_KEYRING));
  if (chosen("request")) MUST_REFUSE(syscall(SYS_request_key, "user", "cloche-bait", NULL, 0));
  HELD();
}
