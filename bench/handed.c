// handed serve SOCKET [watch|cell|quiet]: a resident process that runs whatever it is handed.
// handed ask SOCKET COMMAND…: hands it a command and the three standard descriptors, ends as the command did.
//
// The least that a command through a resident process can take: a client that only passes its words on, and a server
// that has nothing to read, to plan, to build or to report. By itself it runs the command in no cell at all. With
// "watch" it is told of each open and each exec, lets it go on, and keeps a line about the run: what no sandbox that
// explains denials and keeps records goes below. With "cell" it does that, too, and the command runs in a cell that
// stands ready up to the exec (bare_cell.h): what no sandbox with these walls goes below. With "quiet" the cell is the
// same, but nobody is told of anything, and nothing is kept.
#include "bare_cell.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { kWords = 4096, kStack = 64 * 1024, kMostArguments = 64 };
static char g_stack[kStack] __attribute__((aligned(16)));
static volatile int g_listener;
static char** g_command;
static int g_streams[3];

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

static void wake_here(int listener) {
  const unsigned long long same_cpu = 1;
  ioctl(listener, SECCOMP_IOW(4, __u64), same_cpu);
}

// Until `gone` is readable.
static void let_all_go_on(int listener, int gone) {
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
}

static void keep_a_line(const char* text) {
  static int book = -1;
  if (book < 0) must(book = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), "book");
  must(pwrite(book, text, strlen(text), 0), "book");
}

// Shares memory and descriptors until its exec; the listener is there before the exec is told of.
static int run_watched(void) {
  int kept[3] = {fcntl(0, F_DUPFD_CLOEXEC, 10), fcntl(1, F_DUPFD_CLOEXEC, 10), fcntl(2, F_DUPFD_CLOEXEC, 10)};
  g_listener = 0;
  int gone = -1;
  const pid_t pid =
      clone(become_guest, g_stack + kStack, CLONE_VM | CLONE_FILES | CLONE_PIDFD | SIGCHLD, g_stack, &gone);
  must(pid, "clone");
  while (g_listener == 0) sched_yield();
  const int listener = g_listener;
  must(listener, "seccomp");
  wake_here(listener);
  let_all_go_on(listener, gone);
  int status = 0;
  must(waitpid(pid, &status, 0), "wait");
  keep_a_line(g_command[0]);
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

static void send_with(int socket, const void* bytes, size_t size, const int* fds, int count) {
  struct iovec part = {(void*)bytes, size};
  union control control = {
      .head = {.cmsg_len = CMSG_LEN(sizeof *fds * count), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.head), fds, sizeof *fds * count);
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = CMSG_SPACE(sizeof *fds * count)};
  must(sendmsg(socket, &message, MSG_NOSIGNAL), "send");
}

// How many bytes came; the descriptors only if there are as many as asked for.
static ssize_t receive_with(int socket, void* bytes, size_t size, int* fds, int count) {
  struct iovec part = {bytes, size};
  union control control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0 || message.msg_controllen < CMSG_SPACE(sizeof *fds * count)) return 0;
  memcpy(fds, CMSG_DATA(&control.head), sizeof *fds * count);
  return got;
}

// From one word after the other, each with its end.
static char** words_of(char* words, ssize_t size) {
  static char* arguments[kMostArguments + 1];
  int count = 0;
  for (char* at = words; at < words + size && count < kMostArguments; at += strlen(at) + 1) arguments[count++] = at;
  arguments[count] = NULL;
  return arguments;
}

enum way { kNoCell, kNoCellWatched, kReadyCell, kQuietCell };
static enum way g_way;

// A cell that stands ready: its guest-to-be has its walls and waits for its words at the door.
struct ready {
  struct groups groups;
  int door[2];    // ours, the guest-to-be's
  int mapped[2];  // tells the first process that its maps are written
  int ended[2];   // by which the first process tells how the guest ended
  pid_t pid;
  int listener;
};

static int first_process(void* argument) {
  const struct ready* cell = argument;
  char byte;
  must(read(cell->mapped[0], &byte, 1), "maps");
  enter_cell(&cell->groups);
  build_root();
  const pid_t guest = fork();
  must(guest, "fork");
  if (guest == 0) {
    static char words[kWords];
    setsid();
    const int told = put_up_walls(g_way == kQuietCell ? kUnwatched : kWatched);
    const int listener = g_way == kQuietCell ? cell->door[1] : told;
    syscall(436, 3, ~0u, 4);  // closed at the exec
    send_with(cell->door[1], "", 1, &listener, 1);
    const ssize_t size = receive_with(cell->door[1], words, sizeof words, g_streams, 3);
    if (size <= 0) _exit(125);
    for (int i = 0; i < 3; ++i) dup2(g_streams[i], i);
    char** command = words_of(words, size);
    execv(command[0], command);
    _exit(127);
  }
  int status = 0;
  must(waitpid(guest, &status, 0), "wait");
  must(write(cell->ended[1], &status, sizeof status), "tell");
  _exit(0);
}

static void make_ready(struct ready* cell) {
  static unsigned serial = 0;
  char name[64];
  snprintf(name, sizeof name, "cloche-handed-%d-%u", (int)getpid(), serial++);
  open_groups(&cell->groups, name, kMake);
  must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cell->door), "door");
  must(pipe2(cell->mapped, O_CLOEXEC), "pipe");
  must(pipe2(cell->ended, O_CLOEXEC), "pipe");
  must(cell->pid = clone(first_process, g_stack + kStack,
                         CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | SIGCHLD,
                         cell),
       "clone");
  write_maps(cell->pid);
  must(write(cell->mapped[1], "x", 1), "maps");
  char byte;
  if (receive_with(cell->door[0], &byte, 1, &cell->listener, 1) != 1) exit(125);
  if (g_way != kQuietCell) wake_here(cell->listener);
}

static void clear_away(struct ready* cell) {
  must(waitpid(cell->pid, NULL, 0), "wait");
  const int fds[] = {cell->door[0],   cell->door[1],  cell->mapped[0], cell->mapped[1],
                     cell->ended[0], cell->ended[1], cell->listener};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; ++i) close(fds[i]);
  close_groups(&cell->groups);
  remove_groups(&cell->groups);
}

static int run_in_cell(struct ready* cell, const char* words, ssize_t size) {
  send_with(cell->door[0], words, size, g_streams, 3);
  if (g_way != kQuietCell) let_all_go_on(cell->listener, cell->ended[0]);
  int status = 0;
  must(read(cell->ended[0], &status, sizeof status), "status");
  if (g_way != kQuietCell) keep_a_line(words);
  return status;
}

static struct ready g_ready;

static void end_at_signal(int signal) {
  (void)signal;
  kill(g_ready.pid, SIGKILL);
  clear_away(&g_ready);
  _exit(0);
}

static _Noreturn void serve(const char* path) {
  const struct sockaddr_un here = place(path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const int in_cell = g_way >= kReadyCell;
  if (in_cell) {
    make_ready(&g_ready);
    signal(SIGTERM, end_at_signal);
  }
  must(bind(listener, (const struct sockaddr*)&here, sizeof here), "bind");
  must(listen(listener, 64), "listen");
  for (;;) {
    static char words[kWords];
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    must(client, "accept");
    const ssize_t size = receive_with(client, words, sizeof words, g_streams, 3);
    if (size > 0) {
      g_command = words_of(words, size);
      const int status = in_cell            ? run_in_cell(&g_ready, words, size)
                         : g_way == kNoCell ? run_plain()
                                            : run_watched();
      send(client, &status, sizeof status, MSG_NOSIGNAL);
      for (int i = 0; i < 3; ++i) close(g_streams[i]);
    }
    close(client);
    if (in_cell && size > 0) {
      clear_away(&g_ready);
      make_ready(&g_ready);
    }
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
  const int streams[3] = {0, 1, 2};
  send_with(server, words, size, streams, 3);
  int status = 0;
  if (recv(server, &status, sizeof status, 0) != sizeof status) return 125;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "serve") == 0) {
    const char* how = argc > 3 ? argv[3] : "";
    g_way = strcmp(how, "quiet") == 0   ? kQuietCell
            : strcmp(how, "cell") == 0  ? kReadyCell
            : strcmp(how, "watch") == 0 ? kNoCellWatched
                                        : kNoCell;
    serve(argv[2]);
  }
  if (argc >= 4 && strcmp(argv[1], "ask") == 0) return ask(argv[2], argv + 3);
  return 2;
}
