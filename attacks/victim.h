// What every victim shares. A victim runs inside a cell and tries one attack, or of several the one that its first
// argument names. The lines "// attack:" at its top tell `cloche prove` of them (docs/prove.md):
//   exit 0   held: every attempt was refused in the expected way, and the last line says so
//   exit 1   breached: one line on stdout says what got through
//   exit 77  could not be tried: one line says which fact is missing
// Successful attempts must be harmless too, because each victim is also run with its wall taken away, and by people
// without any sandbox: nothing is touched but what the bait planted, and memory (256M), processes (200), disk (64M) and
// time (10 s, or 30 where a busy machine is slow) are bounded by the victim itself.
#ifndef CLOCHE_ATTACKS_VICTIM_H
#define CLOCHE_ATTACKS_VICTIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// <linux/capability.h> is not at hand for every C library.
#define CAP_SYS_PTRACE 19

// Numbers that older C libraries lack; 424 and up are the same on every architecture.
#define NR_pidfd_send_signal 424
#define NR_io_uring_setup 425
#define NR_io_uring_enter 426
#define NR_io_uring_register 427
#define NR_open_tree 428
#define NR_move_mount 429
#define NR_fsopen 430
#define NR_fsconfig 431
#define NR_fsmount 432
#define NR_fspick 433
#define NR_pidfd_open 434
#define NR_clone3 435
#define NR_pidfd_getfd 438
#define NR_process_madvise 440
#define NR_mount_setattr 442
#define NR_process_mrelease 448

#define NS_CGROUP 0x02000000ul
#define NS_UTS 0x04000000ul
#define NS_IPC 0x08000000ul
#define NS_USER 0x10000000ul
#define NS_PID 0x20000000ul
#define NS_NET 0x40000000ul
#define NS_MNT 0x00020000ul
#define NS_TIME 0x00000080ul

// Fills the upper half of an argument: the kernel drops it, a filter that compares 64 bits is fooled by it.
#define HIGH_GARBAGE(x) ((long)(0xdeadbeef00000000ul | (unsigned long)(uint32_t)(x)))

static const char* g_litter[4];  // files and directories of the victim's own that would stay on the host
__attribute__((noreturn, format(printf, 2, 3), unused)) static void verdict(int code, const char* format, ...) {
  for (size_t i = 0; i < sizeof g_litter / sizeof *g_litter && g_litter[i] != NULL; ++i) remove(g_litter[i]);
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  fflush(stdout);
  _exit(code);
}
#define HELD() held()
#define BREACH(...) verdict(1, "breached: " __VA_ARGS__)
#define CANNOT(...) verdict(77, "cannot be tried: " __VA_ARGS__)

static const char* g_choice;  // the one attempt that is wanted; NULL: all
static int g_chosen;
__attribute__((unused)) static void choose(int argc, char** argv) { g_choice = argc > 1 ? argv[1] : NULL; }
__attribute__((unused)) static int chosen(const char* name) {
  if (g_choice != NULL && strcmp(g_choice, name) != 0) return 0;
  g_chosen = 1;
  return 1;
}
// Whoever starts victims believes "held" only when he reads it: a command that never started one also exits with 0. It
// may print the same, and its own arguments; so a word is given behind them, and answered by what becomes of it here
// (FNV-1a). What the bait has to tell comes behind it once more: some sandboxes pass no variables on, and none of ours
// is asked to.
#define WORD "--word="
#define TOLD "--bait="
static char g_answer[24];
static void answer_to_word(const char* word) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *word != '\0'; ++word) hash = (hash ^ (unsigned char)*word) * 0x100000001b3u;
  snprintf(g_answer, sizeof g_answer, " %016llx", (unsigned long long)hash);
}
__attribute__((noreturn, unused)) static void held(void) {
  if (g_choice != NULL && !g_chosen) CANNOT("there is no attempt %s\n", g_choice);
  verdict(0, "held%s\n", g_answer);
}

static int is_for_us(char* argument) {
  if (strncmp(argument, WORD, strlen(WORD)) == 0) {
    answer_to_word(argument + strlen(WORD));
    return 1;
  }
  return strncmp(argument, TOLD "BAIT_", strlen(TOLD "BAIT_")) == 0 && putenv(argument + strlen(TOLD)) == 0;
}

// Takes what is ours out of the arguments. A victim that hangs must not look like one that held.
__attribute__((unused)) static void victim_begin(int* argc, char** argv) {
  while (*argc > 1 && is_for_us(argv[*argc - 1])) argv[--*argc] = NULL;
  setvbuf(stdout, NULL, _IOLBF, 0);
  alarm(10);
  printf("begun%s\n", g_answer);
}

__attribute__((unused)) static int is_refusal(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS;
}
__attribute__((unused)) static int is_path_refusal(int error) {
  return is_refusal(error) || error == EROFS || error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV;
}

__attribute__((unused)) static void must_refuse(const char* what, long result, int error) {
  if (result >= 0) BREACH("%s succeeded\n", what);
  if (!is_refusal(error)) BREACH("%s reached the kernel (%s)\n", what, strerror(error));
}
// Any errno but a refusal means that the call got past the filter and only its arguments were wrong.
#define MUST_REFUSE(call)                   \
  do {                                      \
    errno = 0;                              \
    long must_result = (long)(call);        \
    must_refuse(#call, must_result, errno); \
  } while (0)

__attribute__((unused)) static void must_deny_path(const char* what, const char* path, long result, int error) {
  if (result >= 0) BREACH("%s %s succeeded\n", what, path);
  if (!is_path_refusal(error)) BREACH("%s %s failed only with %s\n", what, path, strerror(error));
}

// The call is made before errno is read; as plain arguments their order would be the compiler's choice.
#define MUST_DENY_PATH(what, path, call)            \
  do {                                              \
    errno = 0;                                      \
    long deny_result = (long)(call);                \
    must_deny_path(what, path, deny_result, errno); \
  } while (0)

// Runs the attempt where a signal from the filter is an answer rather than the end of the victim.
__attribute__((unused)) static int in_child(int (*attempt)(void)) {
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) CANNOT("fork: %s\n", strerror(errno));
  if (child == 0) _exit(attempt());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) CANNOT("waitpid: %s\n", strerror(errno));
  }
  return status;
}

__attribute__((unused)) static const char* bait(const char* name) {
  const char* value = getenv(name);
  if (value == NULL || *value == '\0') CANNOT("nobody told %s; run under the bait\n", name);
  return value;
}
__attribute__((unused)) static long bait_number(const char* name) { return strtol(bait(name), NULL, 10); }

// Behind what was got in spite of a limit. Another sandbox was never told of one; it may have one of its own, which
// shows when something stopped the victim before it had all that it asked for.
__attribute__((unused)) static const char* past_limit(const char* limit, int has_all) {
  static char text[64];
  const char* limits = getenv("BAIT_LIMITS");
  if (limits != NULL && strcmp(limits, "none") == 0) return has_all ? ", and nothing stopped it" : "";
  snprintf(text, sizeof text, " under a limit of %s", limit);
  return text;
}

__attribute__((unused)) static ssize_t read_file(const char* path, char* buffer, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t used = 0;
  ssize_t got;
  while (used + 1 < size && (got = read(fd, buffer + used, size - 1 - used)) > 0) used += (size_t)got;
  close(fd);
  buffer[used] = '\0';
  return (ssize_t)used;
}

__attribute__((unused)) static void nap(void) {
  struct timespec pause = {0, 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
}

// A name that nobody else has: attacks also run without any sandbox, among the files of whoever starts them. What is
// made under it is made with O_EXCL or its like, and nothing else is ever removed.
__attribute__((unused)) static const char* own_path(const char* directory, const char* what) {
  static char paths[16][4300];
  static int next;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char* path = paths[next++ % 16];
  snprintf(path, sizeof paths[0], "%s/victim-%s-%d-%lx", directory, what, getpid(), (unsigned long)now.tv_nsec + next);
  return path;
}

// Copies the running program, so that an attempt to execute what was just written has something real to execute.
__attribute__((unused)) static int copy_self_to(int to) {
  int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (from < 0) return -1;
  char buffer[65536];
  ssize_t got;
  while ((got = read(from, buffer, sizeof buffer)) > 0) {
    if (write(to, buffer, (size_t)got) != got) break;
  }
  close(from);
  return got == 0 ? 0 : -1;
}
#define PAYLOAD "--payload"
#define PAYLOAD_RAN 42
#define RUN_PAYLOAD_IF_ASKED(argc, argv) \
  if ((argc) > 1 && strcmp((argv)[1], PAYLOAD) == 0) _exit(PAYLOAD_RAN)

#endif
