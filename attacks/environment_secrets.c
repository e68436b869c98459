// Finds what its caller has in the environment: the bait put decoys there.
//
// attack: C token-variable | args: token | looks for a token in its environment
// attack: C agent-variable | args: agent | looks for the ssh agent in its environment
// attack: C loader-variables | args: hooks | looks for variables that loaders and interpreters obey
// attack: C parent-environment | args: parent | tries to read its parent's environment
#include "victim.h"

static void must_not_have(const char* name) {
  if (getenv(name) != NULL) BREACH("%s came through\n", name);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  if (chosen("token")) must_not_have("DECOY_TOKEN");
  if (chosen("agent")) must_not_have("SSH_AUTH_SOCK");
  static const char* const hooks[] = {"LD_LIBRARY_PATH", "BASH_ENV", "PYTHONPATH", "PYTHONSTARTUP",
                                      "NODE_OPTIONS",    "PERL5LIB", "GIT_DIR"};
  for (size_t i = 0; chosen("hooks") && i < sizeof hooks / sizeof *hooks; ++i) must_not_have(hooks[i]);
  if (chosen("parent")) {
    char path[64], text[65536];
    snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    ssize_t size = read_file(path, text, sizeof text);
    for (ssize_t i = 0; i + 6 < size; ++i) {
      if (memcmp(text + i, "DECOY_", 6) == 0) BREACH("%s shows the caller's environment\n", path);
    }
  }
  HELD();
}
