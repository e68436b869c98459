// 40. Host unix sockets are unreachable by path.
//
// attack: B unix-socket | args: planted | not-with: bait | tries to talk to a unix socket of the host
// attack: B docker-socket | args: docker | not-with: sockets bait | tries to talk to the sockets of docker, dbus,
//     systemd and others
// attack: B socket-by-proc | args: proc | not-with: bait | tries to reach a unix socket by /proc/PID/root
#include <sys/socket.h>
#include <sys/un.h>

#include "victim.h"

static void must_not_reach(const char* path) {
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  for (size_t i = 0; i < 3; ++i) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, types[i], 0);
    if (fd < 0) continue;
    int connected = connect(fd, (struct sockaddr*)&address, sizeof address);
    int error = errno;
    close(fd);
    if (connected == 0) BREACH("%s answers\n", path);
    // A wrong type or a refused connection still means that the socket's inode was found.
    if (error == EPROTOTYPE || error == ECONNREFUSED) BREACH("%s can be seen (%s)\n", path, strerror(error));
  }
}

int main(int argc, char** argv) {
  victim_begin(&argc, argv);
  choose(argc, argv);
  const char* bait_socket = bait("BAIT_SOCKET");
  if (chosen("planted")) must_not_reach(bait_socket);
  char path[4200];
  snprintf(path, sizeof path, "%s/socket", bait("BAIT_WRITE"));
  if (chosen("planted")) must_not_reach(path);
  if (chosen("docker")) must_not_reach(bait("BAIT_DOCKER"));
  static const char* const known[] = {"/run/docker.sock",
                                      "/var/run/docker.sock",
                                      "/run/podman/podman.sock",
                                      "/run/dbus/system_bus_socket",
                                      "/run/systemd/private",
                                      "/run/containerd/containerd.sock",
                                      "/run/systemd/journal/stdout",
                                      "/dev/log",
                                      "/run/nscd/socket",
                                      "/tmp/.X11-unix/X0"};
  for (size_t i = 0; chosen("docker") && i < sizeof known / sizeof *known; ++i) must_not_reach(known[i]);
  for (int pid = 1; chosen("proc") && pid < 32; ++pid) {
    snprintf(path, sizeof path, "/proc/%d/root%s", pid, bait_socket);
    must_not_reach(path);
  }
  HELD();
}
