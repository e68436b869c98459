// handed serve SOCKET [watch]: a resident process that runs whatever it is handed, in no cell at all.
// handed ask SOCKET COMMAND…: hands it a command and the three standard descriptors, ends as the command did.
//
// The least that a command through a resident process can take: a client that only passes its words on, and a server
// that has nothing to read, to plan, to build or to report. With "watch" it is told of each open and each exec, lets it
// go on, and keeps a line about the run: what no sandbox that explains denials and keeps records goes below.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWords = 4096, kStack = 64 * 1024, kMostArguments = 64 };
static char g_stack[kStack] __attribute__((aligned(16)));
static volatile int g_listener;
static char** g_command;
static int g_streams[3];

static void must(long result, const char* what) {
  if (result >= 0) return;
  perror(what);
  exit(125);
}

static int told_of_opens(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static int become_guest(void* watch) {
  if (watch != NULL) g_listener = told_of_opens();
  for (int i = 0; i < 3; ++i) dup2(g_streams[i], i);
  execv(g_command[0], g_command);
  _exit(127);
}

// Shares memory and descriptors until its exec; the listener is there before the exec is told of.
static int run_watched(void) {
  static int book = -1;
  if (book < 0) must(book = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), "book");
  int kept[3] = {fcntl(0, F_DUPFD_CLOEXEC, 10), fcntl(1, F_DUPFD_CLOEXEC, 10), fcntl(2, F_DUPFD_CLOEXEC, 10)};
  g_listener = 0;
  int gone = -1;
  const pid_t pid =
      clone(become_guest, g_stack + kStack, CLONE_VM | CLONE_FILES | CLONE_PIDFD | SIGCHLD, g_stack, &gone);
  must(pid, "clone");
  while (g_listener == 0) sched_yield();
  const int listener = g_listener;
  must(listener, "seccomp");
  const unsigned long long wake_here = 1;
  ioctl(listener, SECCOMP_IOW(4, __u64), wake_here);
  struct pollfd both[2] = {{listener, POLLIN, 0}, {gone, POLLIN, 0}};
  while (poll(both, 2, -1) > 0 && !(both[1].revents & POLLIN)) {
    if (!(both[0].revents & POLLIN)) {
      both[0].fd = -1;
      continue;
    }
    struct seccomp_notif told;
    memset(&told, 0, sizeof told);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &told) != 0) continue;
    struct seccomp_notif_resp answer = {.id = told.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  int status = 0;
  must(waitpid(pid, &status, 0), "wait");
  must(pwrite(book, g_command[0], strlen(g_command[0]), 0), "book");
  close(listener);
  close(gone);
  for (int i = 0; i < 3; ++i) {
    dup2(kept[i], i);
    close(kept[i]);
  }
  return status;
}

static int run_plain(void) {
  const pid_t pid = vfork();
  if (pid == 0) become_guest(NULL);
  must(pid, "vfork");
  int status = 0;
  must(waitpid(pid, &status, 0), "wait");
  return status;
}

static struct sockaddr_un place(const char* path) {
  struct sockaddr_un out = {.sun_family = AF_UNIX};
  strncpy(out.sun_path, path, sizeof out.sun_path - 1);
  return out;
}

union control {
  struct cmsghdr head;
  char room[CMSG_SPACE(sizeof g_streams)];
};

static _Noreturn void serve(const char* path, int watched) {
  const struct sockaddr_un here = place(path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  must(bind(listener, (const struct sockaddr*)&here, sizeof here), "bind");
  must(listen(listener, 64), "listen");
  for (;;) {
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    must(client, "accept");
    static char words[kWords];
    struct iovec part = {words, sizeof words};
    union control control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    const ssize_t size = recvmsg(client, &message, MSG_CMSG_CLOEXEC);
    if (size > 0 && message.msg_controllen >= sizeof control) {
      memcpy(g_streams, CMSG_DATA(&control.head), sizeof g_streams);
      char* arguments[kMostArguments + 1];
      int count = 0;
      for (char* at = words; at < words + size && count < kMostArguments; at += strlen(at) + 1) arguments[count++] = at;
      arguments[count] = NULL;
      g_command = arguments;
      const int status = watched ? run_watched() : run_plain();
      send(client, &status, sizeof status, MSG_NOSIGNAL);
      for (int i = 0; i < 3; ++i) close(g_streams[i]);
    }
    close(client);
  }
}

static int ask(const char* path, char** command) {
  static char words[kWords];
  size_t size = 0;
  for (; *command != NULL; ++command) {
    const size_t length = strlen(*command) + 1;
    if (size + length > sizeof words) return 2;
    memcpy(words + size, *command, length);
    size += length;
  }
  const struct sockaddr_un there = place(path);
  const int server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  must(connect(server, (const struct sockaddr*)&there, sizeof there), "connect");
  struct iovec part = {words, size};
  union control control = {
      .head = {.cmsg_len = CMSG_LEN(sizeof g_streams), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  const int streams[3] = {0, 1, 2};
  memcpy(CMSG_DATA(&control.head), streams, sizeof streams);
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  must(sendmsg(server, &message, 0), "send");
  int status = 0;
  if (recv(server, &status, sizeof status, 0) != sizeof status) return 125;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "serve") == 0) serve(argv[2], argc > 3);
  if (argc >= 4 && strcmp(argv[1], "ask") == 0) return ask(argv[2], argv + 3);
  return 2;
}
