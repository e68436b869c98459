// Reads /proc/self/mountinfo line by line for the victims that judge mounts.
#ifndef CLOCHE_ATTACKS_MOUNTS_H
#define CLOCHE_ATTACKS_MOUNTS_H

#include "victim.h"

struct mount_line {
  char root[1024], point[1024], flags[256], optional[256], type[64], source[256], super[512];
};

__attribute__((unused)) static FILE* open_mounts(void) {
  FILE* file = fopen("/proc/self/mountinfo", "re");
  if (file == NULL) CANNOT("/proc/self/mountinfo: %s\n", strerror(errno));
  return file;
}

__attribute__((unused)) static int next_mount(FILE* file, struct mount_line* line) {
  char text[8192];
  if (fgets(text, sizeof text, file) == NULL) return 0;
  memset(line, 0, sizeof *line);
  char* rest = strstr(text, " - ");
  if (rest == NULL) return 0;
  *rest = '\0';
  int used = 0;
  sscanf(text, "%*d %*d %*s %1023s %1023s %255s %n", line->root, line->point, line->flags, &used);
  if (used > 0 && used < (int)strlen(text)) snprintf(line->optional, sizeof line->optional, "%s", text + used);
  sscanf(rest + 3, "%63s %255s %511s", line->type, line->source, line->super);
  return 1;
}

__attribute__((unused)) static int has_flag(const char* flags, const char* wanted) {
  size_t length = strlen(wanted);
  for (const char* at = flags; at != NULL && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, wanted, length) == 0 && (at[length] == ',' || at[length] == '\0')) return 1;
  }
  return 0;
}

#endif
