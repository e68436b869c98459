// 9. No descriptor can be received from outside: no unix socket is reachable but the declared ones.
//
// attack: B receive-descriptors | not-with: sockets bait | looks for any unix socket by which descriptors could come in
#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "victim.h"

static int reach(const char* path, int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return 0;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  int connected = connect(fd, (struct sockaddr*)&address, sizeof address) == 0;
  close(fd);
  return connected;
}

static int g_seen;
static void walk(const char* directory, int depth) {
  DIR* dir = opendir(directory);
  if (dir == NULL) return;
  struct dirent* entry;
  while ((entry = readdir(dir)) != NULL && ++g_seen < 20000) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char path[4096];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", depth ? directory : "", entry->d_name) >= (int)sizeof path) continue;
    if (lstat(path, &info) < 0) continue;
    if (S_ISSOCK(info.st_mode) && (reach(path, SOCK_STREAM) || reach(path, SOCK_DGRAM)))
      BREACH("the socket %s can be reached\n", path);
    int skipped = strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/usr") == 0;
    if (S_ISDIR(info.st_mode) && !skipped && depth < 6) walk(path, depth + 1);
  }
  closedir(dir);
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  if (reach(bait("BAIT_SOCKET"), SOCK_STREAM)) BREACH("the host's socket %s can be reached\n", bait("BAIT_SOCKET"));
  for (int fd = 0; fd < 64; ++fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
      BREACH("descriptor %d is a unix socket: descriptors can come in by it\n", fd);
  }
  walk("/", 0);
  HELD();
}
