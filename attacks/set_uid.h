// Whether a set-uid program of the system gets its owner's rights. The loader prints what LD_SHOW_AUXV asks for in
// every program but one that has more rights than its caller: silence is the breach. "--version" is all that is asked
// of it.
#ifndef CLOCHE_ATTACKS_SET_UID_H
#define CLOCHE_ATTACKS_SET_UID_H

#include "victim.h"

static const char* const kSetUidPrograms[] = {"/usr/bin/su",     "/bin/su",         "/usr/bin/mount", "/bin/mount",
                                              "/usr/bin/umount", "/usr/bin/newgrp", "/usr/bin/sudo"};

static const char* g_program;
static int g_end;
__attribute__((unused)) static int show_rights(void) {
  static char* const env[] = {"LD_SHOW_AUXV=1", NULL};
  char* const argv[] = {(char*)(intptr_t)g_program, "--version", NULL};
  dup2(g_end, 1);
  dup2(g_end, 2);
  execve(g_program, argv, env);
  return 127;
}

enum rights { RIGHTS_OWN, RIGHTS_MORE, RIGHTS_UNKNOWN };  // unknown: it cannot be started at all
__attribute__((unused)) static enum rights rights_of(const char* program) {
  int ends[2];
  if (pipe(ends) < 0) return RIGHTS_UNKNOWN;
  g_program = program;
  g_end = ends[1];
  int status = in_child(show_rights);
  close(ends[1]);
  char text[8192] = "";
  ssize_t got = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return RIGHTS_UNKNOWN;
  return got > 0 && strstr(text, "AT_SECURE") != NULL ? RIGHTS_OWN : RIGHTS_MORE;
}

#endif
