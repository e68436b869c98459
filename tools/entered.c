// entered WHERE PROGRAM [WORD…]: runs a static program and appends to the file WHERE the number of each function that
// it enters, once, in the order of the first time. Standard input has the functions: lines with an address in hex. The
// number of a function is that of its line, from 0. What other programs do that it starts is not looked at.
//
// A breakpoint on each function, taken away when it is met.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 1 << 17 };
static const unsigned char kBreakpoint = 0xcc;

struct Function {
  unsigned long address;
  unsigned number;
  unsigned char first;  // its first byte
};
static struct Function functions[kMost];
static size_t count;

static _Noreturn void give_up(const char* what) {
  fprintf(stderr, "entered: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int by_address(const void* a, const void* b) {
  const unsigned long x = ((const struct Function*)a)->address, y = ((const struct Function*)b)->address;
  return (x > y) - (x < y);
}

static void read_functions(void) {
  for (unsigned number = 0; count < kMost && scanf("%lx%*[^\n]", &functions[count].address) == 1; ++number) {
    functions[count++].number = number;
  }
  qsort(functions, count, sizeof *functions, by_address);
}

// One descriptor serves for every thread of the program, as long as it is this program.
static void place_breakpoints(int memory) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && functions[i].address == functions[i - 1].address) {
      functions[i].first = functions[i - 1].first;
      continue;
    }
    if (pread(memory, &functions[i].first, 1, (off_t)functions[i].address) != 1) give_up("reading the program");
    if (pwrite(memory, &kBreakpoint, 1, (off_t)functions[i].address) != 1) give_up("placing a breakpoint");
  }
}

// Whether it was one of ours.
static int meet(pid_t thread, int memory, FILE* out) {
  const unsigned long at =
      (unsigned long)ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user_regs_struct, rip), 0) - 1;
  const struct Function wanted = {.address = at};
  struct Function* found = bsearch(&wanted, functions, count, sizeof *functions, by_address);
  if (found == NULL) return 0;
  while (found > functions && found[-1].address == at) --found;
  unsigned char now = 0;
  if (pread(memory, &now, 1, (off_t)at) != 1) give_up("reading the program");
  if (now == kBreakpoint) {  // else another thread of it was here first
    for (struct Function* it = found; it < functions + count && it->address == at; ++it)
      fprintf(out, "%u\n", it->number);
    if (pwrite(memory, &found->first, 1, (off_t)at) != 1) give_up("taking a breakpoint away");
  }
  if (ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rip), at) != 0) give_up("going back");
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: entered WHERE PROGRAM [WORD...] <FUNCTIONS\n");
    return 2;
  }
  read_functions();
  FILE* out = fopen(argv[1], "a");
  if (out == NULL) give_up(argv[1]);
  const pid_t program = fork();
  if (program == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(argv[2], argv + 2);
    give_up(argv[2]);
  }
  int status = 0;
  if (program < 0 || waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) give_up("starting the program");
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)program);
  const int memory = open(path, O_RDWR | O_CLOEXEC);
  if (memory < 0) give_up(path);
  place_breakpoints(memory);
  const long follow =
      PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, program, 0, follow) != 0) give_up("following");
  ptrace(PTRACE_CONT, program, 0, 0);
  int end = 1;
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread == program) end = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      continue;
    }
    const int event = status >> 16, sign = WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXEC && thread != program) {
      ptrace(PTRACE_DETACH, thread, 0, 0);  // another program
      continue;
    }
    int pass = 0;
    if (event == 0 && sign == SIGTRAP) {
      pass = meet(thread, memory, out) ? 0 : sign;
    } else if (event == 0 && sign != SIGSTOP) {
      pass = sign;
    }
    ptrace(PTRACE_CONT, thread, 0, pass);
  }
  if (fclose(out) != 0) give_up(argv[1]);
  return end;
}
