// 57. Two cells cannot reach each other, by any address family.
// Usage: 57_two_cells listen TOKEN (prints READY, waits to be killed) | 57_two_cells reach TOKEN
//        57_two_cells clean TOKEN (outside, when both are gone: without walls it all was the host's)
//
// attack: C another-cell | args: reach @TOKEN@ | beside: listen @TOKEN@ | after: clean @TOKEN@ |
//     not-with: host-network | tries to reach another cell by sockets and shared memory
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
// Nobody else's has that size.
enum { kMemory = 5757 };
static key_t key_of(const char* token) { return (key_t)(0x0c570000u + number_of(token)); }
static void clean(const char* token) {
  static const char* const places[] = {"/tmp", "/work", "/dev/shm"};
  struct shmid_ds info;
  int memory = shmget(key_of(token), 0, 0);
  if (memory >= 0 && shmctl(memory, IPC_STAT, &info) == 0 && info.shm_segsz == kMemory) shmctl(memory, IPC_RMID, NULL);
  for (size_t i = 0; i < 3; ++i) {
    struct sockaddr_un address;
    struct stat found;
    path_address(&address, places[i], token);
    if (lstat(address.sun_path, &found) == 0 && S_ISSOCK(found.st_mode)) unlink(address.sun_path);
  }
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
    shmget(key_of(token), kMemory, IPC_CREAT | IPC_EXCL | 0666);
    printf("READY\n");
    fflush(stdout);
    alarm(30);
    for (;;) pause();
  }
  if (strcmp(argv[1], "clean") == 0) {
    clean(token);
    return 0;
  }
  const char* reached = NULL;
  if (reaches(AF_UNIX, &address, abstract_address(&address, token))) reached = "abstract socket answers";
  for (size_t i = 0; i < 3; ++i) {
    if (reaches(AF_UNIX, &address, path_address(&address, places[i], token))) reached = "socket answers";
  }
  if (reaches(AF_INET, &inet, sizeof inet)) reached = "TCP port answers";
  if (shmget(key_of(token), 0, 0) >= 0) reached = "shared memory is here";
  if (reached != NULL) BREACH("the other cell's %s\n", reached);
  HELD();
}
