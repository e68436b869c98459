// 5. The environment is built from an allowlist; loader and interpreter hooks are dropped.
//
// attack: C foreign-variables | looks for variables that nobody passed on purpose
#include "victim.h"

extern char** environ;

int main(void) {
  victim_begin();
  static const char* const allowed[] = {"PATH",    "HOME",   "LC_CTYPE", "LC_ALL", "USER", "LOGNAME",
                                        "SHELL",   "TMPDIR", "TERM",     "PWD",    "TZ",   "XDG_RUNTIME_DIR",
                                        "HOSTNAME"};
  static const char* const prefixes[] = {"BAIT_", "CLOCHE_"};
  for (char** entry = environ; *entry != NULL; ++entry) {
    size_t length = strcspn(*entry, "=");
    int known = 0;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i)
      known |= strlen(allowed[i]) == length && strncmp(*entry, allowed[i], length) == 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i)
      known |= strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0;
    if (!known) BREACH("the variable %.*s came through\n", (int)length, *entry);
  }
  HELD();
}
