// relay PORT TO: the least that a relay costs. Takes one connection at a time on 127.0.0.1:PORT, connects to
// 127.0.0.1:TO and passes bytes both ways until either side ends. It looks at nothing and survives nothing.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static char buffer[1 << 16];

static struct sockaddr_in place(const char* port) {
  struct sockaddr_in out = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

static void pass(int client, int server) {
  struct pollfd sides[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  for (;;) {
    poll(sides, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (!sides[i].revents) continue;
      ssize_t n = recv(sides[i].fd, buffer, sizeof buffer, 0);
      if (n <= 0) return;
      for (ssize_t at = 0; at < n;) {
        ssize_t sent = send(sides[1 - i].fd, buffer + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0) return;
        at += sent;
      }
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int on = 1;
  const struct sockaddr_in here = place(argv[1]), there = place(argv[2]);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (bind(listener, (const struct sockaddr*)&here, sizeof here) || listen(listener, 128)) return 1;
  for (;;) {
    const int client = accept(listener, NULL, NULL);
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!connect(server, (const struct sockaddr*)&there, sizeof there)) pass(client, server);
    close(client);
    close(server);
  }
}
