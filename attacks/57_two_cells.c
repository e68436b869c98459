// 57. Two cells cannot reach each other, by any address family.
// Usage: 57_two_cells listen TOKEN (prints READY, waits to be killed) | 57_two_cells reach TOKEN
//
// attack: C another-cell | args: reach @TOKEN@ | beside: listen @TOKEN@ | not-with: host-network | tries to reach
//     another cell by sockets and shared memory
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "victim.h"

static socklen_t abstract_address(struct sockaddr_un* address, const char* token) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "cloche57-%s", token);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}
static socklen_t path_address(struct sockaddr_un* address, const char* directory, const char* token) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path, sizeof address->sun_path, "%s/cloche57-%.40s", directory, token);
  return sizeof *address;
}
static struct sockaddr_in loopback(unsigned port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}
static unsigned number_of(const char* token) {
  unsigned hash = 5381;
  for (; *token; ++token) hash = hash * 33 + (unsigned char)*token;
  return 20000 + hash % 20000;
}
static void put_up(int domain, const void* address, socklen_t size) {
  int fd = socket(domain, SOCK_STREAM, 0);
  if (fd >= 0 && (bind(fd, address, size) < 0 || listen(fd, 4) < 0)) close(fd);
}
static int reaches(int domain, const void* address, socklen_t size) {
  int fd = socket(domain, SOCK_STREAM, 0);
  int reached = fd >= 0 && connect(fd, address, size) == 0;
  close(fd);
  return reached;
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  if (argc != 3) CANNOT("no role and token were given\n");
  const char* token = argv[2];
  struct sockaddr_un address;
  static const char* const places[] = {"/tmp", "/work", "/dev/shm"};
  struct sockaddr_in inet = loopback(number_of(token));
  if (strcmp(argv[1], "listen") == 0) {
    put_up(AF_UNIX, &address, abstract_address(&address, token));
    for (size_t i = 0; i < 3; ++i) put_up(AF_UNIX, &address, path_address(&address, places[i], token));
    put_up(AF_INET, &inet, sizeof inet);
    shmget((key_t)number_of(token), 4096, IPC_CREAT | 0666);
    printf("READY\n");
    fflush(stdout);
    alarm(30);
    for (;;) pause();
  }
  const char* reached = NULL;
  if (reaches(AF_UNIX, &address, abstract_address(&address, token))) reached = "abstract socket answers";
  for (size_t i = 0; i < 3; ++i) {
    socklen_t size = path_address(&address, places[i], token);
    if (reaches(AF_UNIX, &address, size)) reached = "socket answers";
    struct stat info;  // without walls it would stay on the host
    if (lstat(address.sun_path, &info) == 0 && S_ISSOCK(info.st_mode)) unlink(address.sun_path);
  }
  if (reaches(AF_INET, &inet, sizeof inet)) reached = "TCP port answers";
  int memory = shmget((key_t)number_of(token), 0, 0);
  if (memory >= 0) {
    reached = "shared memory is here";
    shmctl(memory, IPC_RMID, NULL);
  }
  if (reached != NULL) BREACH("the other cell's %s\n", reached);
  HELD();
}
