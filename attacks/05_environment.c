// 5. The environment is built from an allowlist; loader and interpreter hooks are dropped.
//
// attack: C foreign-variables | args: @VARIABLES@ | looks for variables that nobody passed on purpose
//
// The arguments are names of those that somebody did.
#include "victim.h"

extern char** environ;

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  static const char* const allowed[] = {"PATH",    "HOME",   "LC_CTYPE", "LC_ALL", "USER", "LOGNAME",
                                        "SHELL",   "TMPDIR", "TERM",     "PWD",    "TZ",   "XDG_RUNTIME_DIR",
                                        "HOSTNAME"};
  static const char* const prefixes[] = {"BAIT_", "CLOCHE_"};
  for (char** entry = environ; *entry != NULL; ++entry) {
    size_t length = strcspn(*entry, "=");
    int known = 0;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i)
      known |= strlen(allowed[i]) == length && strncmp(*entry, allowed[i], length) == 0;
    for (int i = 1; i < argc; ++i) known |= strlen(argv[i]) == length && strncmp(*entry, argv[i], length) == 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i)
      known |= strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0;
    if (!known) BREACH("the variable %.*s came through\n", (int)length, *entry);
  }
  HELD();
}
