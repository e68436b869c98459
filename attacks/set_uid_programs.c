// 23. A set-uid program of the system gets no rights. The loader prints what LD_SHOW_AUXV asks for in every program but
// one that has more rights than its caller: silence is the breach. "--version" is all that is asked of the program.
//
// attack: E set-uid-program | tries to gain root's rights by a set-uid program of the system
#include "victim.h"

static const char* g_program;
static int g_end;
static int show(void) {
  static char* const env[] = {"LD_SHOW_AUXV=1", NULL};
  char* const argv[] = {(char*)(intptr_t)g_program, "--version", NULL};
  dup2(g_end, 1);
  dup2(g_end, 2);
  execve(g_program, argv, env);
  return 127;
}

int main(void) {
  victim_begin();
  static const char* const known[] = {"/usr/bin/su",     "/bin/su",         "/usr/bin/mount", "/bin/mount",
                                      "/usr/bin/umount", "/usr/bin/newgrp", "/usr/bin/sudo"};
  if (geteuid() == 0) BREACH("it is root already\n");
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    struct stat info;
    int ends[2];
    g_program = known[i];
    if (stat(g_program, &info) < 0 || !(info.st_mode & S_ISUID) || pipe(ends) < 0) continue;
    g_end = ends[1];
    int status = in_child(show);
    close(ends[1]);
    char text[8192] = "";
    ssize_t got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) continue;  // it cannot be started at all
    if (got <= 0 || strstr(text, "AT_SECURE") == NULL) BREACH("%s got its owner's rights\n", g_program);
  }
  HELD();
}
