// Lays out on the host what each victim would reach if its wall were missing, then runs a command among it:
//   bait --dir DIR [--uid UID] [--groups] [--subreaper] [--tty] [--evil-dev symlink|wrong] [--evil-proc]
//        [--lacking trace|cgroups] [--tell] -- COMMAND ARGS...
//   bait --dir DIR --plant          only the files, for whoever compares them afterwards
// The command inherits open descriptors, ignored and blocked signals, a full environment with loader hooks, a session
// keyring with a key in it and, as root, supplementary groups and a shared mount tree. A process of the bait's answers
// on loopback ports. BAIT_* variables tell a victim where to look, with --tell also arguments behind the last one, for
// where no variables arrive. DIR belongs to the caller, who removes it. Exits
// with the command's code, 128+signal if it was killed.
#include <grp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../set_uid.h"
#include "spoil.h"

struct options {
  const char* dir;
  long uid;
  int tty;
  const char* evil_dev;
  int evil_proc;
  int subreaper;        // orphans come here, where nobody reaps them
  int plant;            // files only
  int tell;             // also by arguments
  int groups;           // an ordinary user with supplementary groups; root has them anyway
  const char* lacking;  // what root does not have, as in many a container: the right to trace, or cgroups
};

static const char* in_dir(const struct options* options, const char* name) {
  static char paths[8][4200];
  static int next;
  char* path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", options->dir, name);
  return path;
}
static void put_new(const char* path, const char* text, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0) die(path);
  close(fd);
}
// Nothing is touched that is right already: the caller compares the tree in "write" down to its times.
static void open_for_all(const char* path) {
  struct stat info;
  if (stat(path, &info) == 0 && (info.st_mode & 07777) != 0777) chmod(path, 0777);
}
static void give(const char* path, uid_t uid) {
  struct stat info;
  if (stat(path, &info) == 0 && info.st_uid == uid && info.st_gid == uid) return;
  if (chown(path, uid, uid) < 0) die("chown");
}
static void export_number(const char* name, unsigned long value) {
  char text[32];
  snprintf(text, sizeof text, "%lu", value);
  setenv(name, text, 1);
}

static void prepare_as_root(const struct options* options) {
  // Hosts that run systemd share their mount tree; a cell must not depend on this one being private.
  if (unshare(CLONE_NEWNS) < 0) die("unshare");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) die("private mount tree");
  if (mount("none", in_dir(options, "read/sub"), "tmpfs", 0, "size=1m,mode=1777") < 0) die("mount read/sub");
  put(in_dir(options, "read/sub/file"), "submount\n", 0666);
  if (options->evil_dev != NULL) spoil_dev(options->evil_dev, in_dir(options, "secret"));
  if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0) die("shared mount tree");
  static const gid_t groups[] = {4, 20, 27};
  if (setgroups(options->uid && !options->groups ? 0 : 3, groups) < 0) die("setgroups");
  if (options->evil_proc) {
    const char* real = in_dir(options, "proc");
    mkdir(real, 0755);
    spoil_proc(real);
  }
  if (options->lacking != NULL && strcmp(options->lacking, "trace") == 0) {
    if (prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) < 0) die("drop the right to trace");
  } else if (options->lacking != NULL) {
    if (umount2("/sys/fs/cgroup", MNT_DETACH) < 0) die("take the cgroups away");
  }
}

// A set-uid program that the host has: what is planted without root belongs to whoever planted it, and gains nothing.
static void name_set_uid_program(void) {
  const char* found = "none";
  for (size_t i = 0; i < sizeof kSetUidPrograms / sizeof *kSetUidPrograms; ++i) {
    struct stat info;
    if (stat(kSetUidPrograms[i], &info) < 0 || info.st_uid != 0 || !(info.st_mode & S_ISUID)) continue;
    if (access(kSetUidPrograms[i], X_OK) < 0) continue;
    found = kSetUidPrograms[i];
    break;
  }
  setenv("BAIT_SETUID_PROGRAM", found, 1);
}

static void listen_at(const char* path, int abstract) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) + 1 >= sizeof address.sun_path) die("the directory's name is too long for a socket");
  strcpy(address.sun_path + (abstract ? 1 : 0), path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, size) < 0 || listen(fd, 64) < 0) die(path);
  if (!abstract) chmod(path, 0777);
}

// A service for everybody on loopback; its port is told by a variable. Returns the descriptor, or -1.
static int serve(int family, int type, const char* variable) {
  struct sockaddr_in6 address6 = {.sin6_family = AF_INET6, .sin6_addr = {{{[15] = 1}}}};
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = family == AF_INET ? sizeof address : sizeof address6;
  void* at = family == AF_INET ? (void*)&address : (void*)&address6;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, at, size) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0) ||
      getsockname(fd, at, &size) < 0) {
    if (fd >= 0) close(fd);
    return -1;
  }
  export_number(variable, ntohs(family == AF_INET ? address.sin_port : address6.sin6_port));
  return fd;
}
static _Noreturn void answer(const int* sockets, int count) {
  for (;;) {
    struct pollfd ready[8];
    for (int i = 0; i < count; ++i) ready[i] = (struct pollfd){sockets[i], POLLIN, 0};
    if (poll(ready, (nfds_t)count, -1) < 0) continue;
    for (int i = 0; i < count; ++i) {
      if (!(ready[i].revents & POLLIN)) continue;
      struct sockaddr_storage from;
      socklen_t size = sizeof from;
      char text[64];
      int client = accept4(sockets[i], NULL, NULL, SOCK_CLOEXEC);
      if (client >= 0) {
        (void)!send(client, "bait\n", 5, MSG_NOSIGNAL);
        close(client);
      } else if (recvfrom(sockets[i], text, sizeof text, 0, (struct sockaddr*)&from, &size) >= 0) {
        sendto(sockets[i], "bait\n", 5, MSG_NOSIGNAL, (struct sockaddr*)&from, size);
      }
    }
  }
}

static void plant_tree(const struct options* options, const char* const* names) {
  for (; *names != NULL; ++names) {
    const char* path = in_dir(options, *names);
    size_t end = strlen(path) - 1;
    if (path[end] != '/') {
      put_new(path, "a canary of the bait's, and nobody's secret\n", 0644);
    } else if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0) {
      die(path);
    }
  }
}
// What looks like somebody's home. Only into a directory that is made here: nobody else can have put links there.
static void plant_home(const struct options* options) {
  static const char* const names[] = {"home/.ssh/",
                                      "home/.ssh/id_ed25519",
                                      "home/.ssh/known_hosts",
                                      "home/.ssh/authorized_keys",
                                      "home/.aws/",
                                      "home/.aws/credentials",
                                      "home/.mozilla/",
                                      "home/.mozilla/firefox/",
                                      "home/.mozilla/firefox/a1b2c3.default/",
                                      "home/.mozilla/firefox/a1b2c3.default/logins.json",
                                      "home/.kube/",
                                      "home/.kube/config",
                                      "home/.docker/",
                                      "home/.docker/config.json",
                                      "home/.gnupg/",
                                      "home/.gnupg/private-keys-v1.d/",
                                      "home/.gnupg/private-keys-v1.d/key",
                                      "home/.config/",
                                      "home/.config/gh/",
                                      "home/.config/gh/hosts.yml",
                                      "home/.config/autostart/",
                                      "home/project/",
                                      "home/project/.git/",
                                      "home/project/.git/config",
                                      "home/project/.git/hooks/",
                                      "home/bin/",
                                      "home/cron/",
                                      "home/.bash_history",
                                      "home/.bashrc",
                                      "home/.netrc",
                                      "home/notes.txt",
                                      NULL};
  if (mkdir(in_dir(options, "home"), 0755) < 0) return;
  plant_tree(options, names);
  if (!options->uid) return;
  give(in_dir(options, "home"), (uid_t)options->uid);
  for (size_t i = 0; names[i] != NULL; ++i) give(in_dir(options, names[i]), (uid_t)options->uid);
}
// What is granted for writing, or is a workspace: of every kind of thing one.
static void plant_write(const struct options* options) {
  static const char* const names[] = {"write/",
                                      "write/file",
                                      "write/tool",
                                      "write/locked",
                                      "write/first",
                                      "write/folder/",
                                      "write/folder/inner",
                                      "write/folder/deep/",
                                      "write/folder/deep/inner",
                                      "write/granted/",
                                      "write/granted/file",
                                      "write/empty/",
                                      "evil-target/",
                                      "evil-target/sub/",
                                      NULL};
  plant_tree(options, names);
  if (symlink("../evil-target", in_dir(options, "write/evil")) < 0 ||
      symlink("file", in_dir(options, "write/link")) < 0)
    die("symlink");
  if (link(in_dir(options, "write/first"), in_dir(options, "write/second")) < 0) die("link");
}

static void lay_out(const struct options* options, pid_t target) {
  char name[64];
  setenv("BAIT_DIR", options->dir, 1);
  setenv("BAIT_FILE", in_dir(options, "secret"), 1);
  setenv("BAIT_READ", in_dir(options, "read"), 1);
  setenv("BAIT_WRITE", in_dir(options, "write"), 1);
  setenv("BAIT_HOME", in_dir(options, "home"), 1);
  setenv("BAIT_EVIL_TARGET", in_dir(options, "evil-target"), 0);
  setenv("BAIT_DOCKER", in_dir(options, "docker.sock"), 1);
  listen_at(in_dir(options, "docker.sock"), 0);
  setenv("BAIT_SOCKET", in_dir(options, "socket"), 1);
  listen_at(in_dir(options, "socket"), 0);
  snprintf(name, sizeof name, "cloche-bait-%d", getpid());
  setenv("BAIT_ABSTRACT", name, 1);
  listen_at(name, 1);
  export_number("BAIT_PID", (unsigned long)target);
  snprintf(name, sizeof name, "/dev/shm/cloche-bait-%d", getpid());
  setenv("BAIT_SHM", name, 1);
  if (options->evil_dev == NULL) put(name, "shared\n", 0666);

  long key = 0x0c10c4e0l + getpid();
  export_number("BAIT_IPC_KEY", (unsigned long)key);
  if (shmget((key_t)key, 4096, IPC_CREAT | 0666) < 0 || msgget((key_t)key, IPC_CREAT | 0666) < 0 ||
      semget((key_t)key, 1, IPC_CREAT | 0666) < 0)
    die("SysV IPC");
  snprintf(name, sizeof name, "/cloche-bait-%d", getpid());
  mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0666, NULL);
  if (queue != (mqd_t)-1) setenv("BAIT_MQ", name, 1);

  // A keyring of our own first: the caller's is not ours to litter.
  syscall(SYS_keyctl, 1 /* join session keyring */, NULL);
  syscall(SYS_add_key, "user", "cloche-bait", "secret", 6, -3 /* session keyring */);

  static const char* const hooks[] = {"LD_LIBRARY_PATH", "LD_AUDIT_DECOY", "GLIBC_TUNABLES", "BASH_ENV",
                                      "PYTHONSTARTUP",   "PYTHONPATH",     "NODE_OPTIONS",   "GIT_DIR",
                                      "PERL5LIB",        "DECOY_TOKEN",    "SSH_AUTH_SOCK"};
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; ++i) setenv(hooks[i], "/decoy", 1);
}

static void clean_up(const struct options* options, pid_t target) {
  key_t key = (key_t)bait_number("BAIT_IPC_KEY");
  int id;
  if ((id = shmget(key, 0, 0)) >= 0) shmctl(id, IPC_RMID, NULL);
  if ((id = msgget(key, 0)) >= 0) msgctl(id, IPC_RMID, NULL);
  if ((id = semget(key, 0, 0)) >= 0) semctl(id, 0, IPC_RMID);
  if (getenv("BAIT_MQ")) mq_unlink(getenv("BAIT_MQ"));
  if (options->evil_dev == NULL) unlink(bait("BAIT_SHM"));
  unlink(bait("BAIT_SOCKET"));
  unlink(bait("BAIT_DOCKER"));
  if (target > 1) kill(target, SIGKILL);
  waitpid(target, NULL, 0);
}

static void leave_open(const struct options* options, pid_t target) {
  static const int numbers[] = {7, 100, 900};
  int file = open(in_dir(options, "secret"), O_RDWR);
  for (size_t i = 0; i < 3 && file >= 0; ++i) dup2(file, numbers[i]);
  dup2(open("/", O_RDONLY | O_DIRECTORY), 50);
  dup2(open("/", O_PATH | O_DIRECTORY), 51);
  dup2((int)syscall(NR_pidfd_open, target, 0), 52);
  fcntl(52, F_SETFD, 0);
}

static volatile sig_atomic_t g_stop;
static void stop(int number) {
  (void)number;
  g_stop = 1;
}

// What victim.h takes for its own.
static char** with_told(char** command) {
  extern char** environ;
  size_t words = 0, variables = 0;
  while (command[words] != NULL) ++words;
  while (environ[variables] != NULL) ++variables;
  char** out = calloc(words + variables + 1, sizeof *out);
  if (out == NULL) die("no memory");
  memcpy(out, command, words * sizeof *out);
  for (char** entry = environ; *entry != NULL; ++entry) {
    if (strncmp(*entry, "BAIT_", 5) == 0 && asprintf(&out[words++], TOLD "%s", *entry) < 0) die("no memory");
  }
  return out;
}

static _Noreturn void become(const struct options* options, char** command, pid_t target, const char* terminal) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  signal(SIGTERM, SIG_DFL);
  signal(SIGALRM, SIG_DFL);
  if (options->tty) {
    setsid();
    int fd = open(terminal, O_RDWR);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0 || dup2(fd, 0) < 0) die(terminal);
    if (fd > 0) close(fd);
  }
  leave_open(options, target);
  struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &core) < 0 && getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = core.rlim_max;
    setrlimit(RLIMIT_CORE, &core);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  execvp(command[0], options->tell ? with_told(command) : command);
  die(command[0]);
  _exit(120);
}

static int parse(int argc, char** argv, struct options* options) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--") == 0) return i + 1;
    if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
      options->dir = argv[++i];
    else if (strcmp(argv[i], "--uid") == 0 && i + 1 < argc)
      options->uid = strtol(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--evil-dev") == 0 && i + 1 < argc)
      options->evil_dev = argv[++i];
    else if (strcmp(argv[i], "--lacking") == 0 && i + 1 < argc)
      options->lacking = argv[++i];
    else if (strcmp(argv[i], "--tty") == 0)
      options->tty = 1;
    else if (strcmp(argv[i], "--evil-proc") == 0)
      options->evil_proc = 1;
    else if (strcmp(argv[i], "--plant") == 0)
      options->plant = 1;
    else if (strcmp(argv[i], "--tell") == 0)
      options->tell = 1;
    else if (strcmp(argv[i], "--groups") == 0)
      options->groups = 1;
    else if (strcmp(argv[i], "--subreaper") == 0)
      options->subreaper = 1;
    else
      break;
    if (options->plant && options->dir != NULL && i + 1 == argc) return argc;
  }
  fprintf(stderr,
          "usage: bait --dir DIR [--uid UID] [--groups] [--subreaper] [--tty] [--evil-dev symlink|wrong] [--evil-proc] "
          "[--lacking trace|cgroups] [--tell] -- COMMAND...\n");
  exit(120);
}

int main(int argc, char** argv) {
  struct options options = {0};
  int first = parse(argc, argv, &options);
  if (options.dir == NULL || (first >= argc && !options.plant)) die("no directory or no command");
  if (options.plant) plant_write(&options);
  plant_home(&options);
  if (options.plant) return 0;
  mkdir(in_dir(&options, "read"), 0755);
  mkdir(in_dir(&options, "read/sub"), 0755);
  mkdir(in_dir(&options, "write"), 0777);
  open_for_all(in_dir(&options, "write"));
  put(in_dir(&options, "secret"), "secret of the host\n", 0644);
  put(in_dir(&options, "read/file"), "granted for reading\n", 0644);
  if (geteuid() != 0) {
    if (options.evil_proc || options.lacking != NULL || options.uid) die("this needs root");
    name_set_uid_program();
    if (options.evil_dev != NULL) {
      own_the_mounts();
      try_unspoiled(argv + first);
      spoil_dev(options.evil_dev, in_dir(&options, "secret"));
    }
  }
  if (geteuid() == 0) {
    static const char* const owned[] = {"", "read", "write", "secret", "read/file"};
    for (size_t i = 0; i < 5 && options.uid; ++i) give(in_dir(&options, owned[i]), (uid_t)options.uid);
    prepare_as_root(&options);
  }
  if (options.uid && (setresgid((gid_t)options.uid, (gid_t)options.uid, (gid_t)options.uid) < 0 ||
                      setresuid((uid_t)options.uid, (uid_t)options.uid, (uid_t)options.uid) < 0))
    die("--uid");
  // The change of user made this process undumpable, which would hide what an ordinary user's processes show.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);

  if (options.subreaper) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  int master = -1;
  char terminal[64] = "";
  if (options.tty) {
    master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct stat info;
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, terminal, sizeof terminal) != 0 || stat(terminal, &info) < 0)
      die("pty");
    export_number("BAIT_TTY_INODE", info.st_ino);
    export_number("BAIT_TTY_FS", info.st_dev);
  }
  int services[] = {serve(AF_INET, SOCK_STREAM, "BAIT_TCP"), serve(AF_INET, SOCK_DGRAM, "BAIT_UDP"),
                    serve(AF_INET6, SOCK_STREAM, "BAIT_TCP6")};
  pid_t self = getpid();
  pid_t target = fork();
  if (target < 0) die("fork");
  if (target == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != self) _exit(0);  // the parent was gone before its death could be signalled
    alarm(120);
    for (int fd = 0; fd < 3; ++fd) close(fd);  // or whoever reads our output would wait for this process, too
    answer(services, 3);
  }
  for (int i = 0; i < 3; ++i) {
    if (services[i] >= 0) close(services[i]);
  }
  // Before anything is laid out: who is stopped in the middle of it cleans up as well.
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  alarm(60);
  lay_out(&options, target);
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) become(&options, argv + first, target, terminal);
  int status = 0;
  // Asked again and again: a signal that comes just before a wait would not end it.
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (g_stop) kill(child, SIGKILL);
    usleep(1000);
  }
  if (options.evil_proc && proc_was_written()) printf("breached: the engine wrote into a /proc that is none\n");
  clean_up(&options, target);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
