// cloche-init: pid 1 of a cell. The engine execs it in fresh namespaces with one descriptor, the control socket. It
// receives the plan's steps, performs them in order, makes the process that becomes the guest, and then reaps, passes
// signals to the whole tree, and ends when the guest does or the engine is gone. When it ends, the kernel ends the
// cell. It holds no privilege by the time the guest runs, and is not dumpable, so that a guest can read nothing of it.
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace cloche::init {
namespace {

// Everything the process needs lives here: there is no heap.
Cell g_cell;
char* g_argv[wire::kMaxArgs + 2];
SpecRoom g_room;
SpecRoom g_exec_room;
char g_guest_stack[32 * 1024] __attribute__((aligned(16)));

bool is_guest_step(wire::StepKind kind) { return kind >= wire::StepKind::kGuestSession; }

wire::Phase phase_of(wire::StepKind kind) {
  using wire::StepKind;
  if (kind <= StepKind::kPackets) return wire::kNames;
  if (kind <= StepKind::kRootReadOnly) return wire::kMounting;
  if (kind < StepKind::kLandlock) return wire::kLimiting;
  return kind < StepKind::kFilter ? wire::kLandlocking : wire::kFiltering;
}

// The second spec: what to exec, and with which descriptors. The walls stand; this code has a guest's rights.
void exec_guest(Cell& cell, int32_t index) {
  wire::Message message;
  int fds[5];
  uint32_t count = 0;
  Spec spec;
  if (int error = receive_spec(message, g_exec_room, spec, fds, 5, count); error != 0) fail_step(index, error);
  if (message.kind != wire::MessageKind::kGo) _exit(125);
  const wire::SpecHeader& header = spec.header();
  const bool has_terminal = cell.tty_slave >= 0;
  if (header.step_count != 1 || header.stdio_count != (has_terminal ? 0 : 3) || count != 1 + header.stdio_count) {
    fail_step(index, EPROTO);
  }
  for (uint32_t i = 0; i < header.stdio_count; ++i) {
    if (dup2(fds[1 + i], static_cast<int>(i)) < 0) fail_step(index, errno);
  }
  const wire::Step& step = spec.step(0);
  // In two steps neither of which is told to an observer: of where a guest begins there is nothing to tell.
  const int place = openat(-1, spec.text(step.b), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (place < 0 || fchdir(place) != 0) fail_step(wire::kWorkingDirectory, errno);
  // argv, its end, envp, its end; g_argv is zeroed.
  for (uint32_t i = 0; i < header.argc; ++i) g_argv[i] = const_cast<char*>(spec.text(spec.args()[i]));
  for (uint32_t i = 0; i < header.envc; ++i) {
    g_argv[header.argc + 1 + i] = const_cast<char*>(spec.text(spec.args()[header.argc + i]));
  }
  execve(spec.text(step.a), g_argv, g_argv + header.argc + 1);
  fail_step(index, errno);
}

// A thread that moves itself needs no lock on all of the kernel's forks; being moved by the engine would wait for one,
// for milliseconds. Before the guest exists, so that nothing of it is ever outside.
int enter_groups(const Cell& cell) {
  const uint32_t expected = cell.spec.header().cgroup_count;
  if (expected == 0) return 0;
  wire::Message message;
  int fds[wire::kMaxGroups];
  uint32_t count = 0;
  if (int error = receive_message(message, fds, wire::kMaxGroups, count); error != 0) return error;
  if (message.kind != wire::MessageKind::kGroups || count != expected) return EPROTO;
  for (uint32_t i = 0; i < count; ++i) {
    if (write(fds[i], "0", 1) != 1) return errno;
    close(fds[i]);
  }
  return 0;
}

int run_step(Cell& cell, const wire::Step& step) {
  using wire::StepKind;
  switch (step.kind) {
    case StepKind::kNewRoot:
    case StepKind::kScratch:
    case StepKind::kDiskScratch:
    case StepKind::kDir:
    case StepKind::kSymlink:
    case StepKind::kFile:
    case StepKind::kBind:
    case StepKind::kBindFd:
    case StepKind::kScratchDir:
    case StepKind::kOverlay:
    case StepKind::kCopyTree:
    case StepKind::kPut:
    case StepKind::kHide:
    case StepKind::kDevice:
    case StepKind::kProc:
    case StepKind::kPts:
    case StepKind::kPivot:
    case StepKind::kRootReadOnly:
      return run_mount_step(cell, step);
    case StepKind::kLocalRoutes:
    case StepKind::kListen:
    case StepKind::kPackets:
    case StepKind::kListenUnix:
      return run_way_out_step(cell, step);
    case StepKind::kCgroup:
      return enter_groups(cell);
    default:
      return run_identity_step(cell, step);
  }
}

// The guest-to-be. Shares memory with init, which is suspended until the exec, so nothing is copied.
int become_guest(void* argument) {
  Cell& cell = *static_cast<Cell*>(argument);
  const wire::SpecHeader& header = cell.spec.header();
  // Should init die before its time (tier 0 has no pid namespace), the guest goes with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (uint32_t i = 0; i < header.step_count; ++i) {
    const wire::Step& step = cell.spec.step(i);
    if (!is_guest_step(step.kind)) continue;
    cell.watch.enter(phase_of(step.kind));
    if (step.kind != wire::StepKind::kExec) {
      if (int error = run_guest_step(cell, step); error != 0) fail_step(static_cast<int32_t>(i), error);
      continue;
    }
    // Before the engine is told: its receipt says that this succeeded. The control socket stays usable until the exec,
    // and what comes with kGo closes itself too.
    if (syscall(kSysCloseRange, 3, ~0u, kCloseRangeCloexec) != 0) fail_step(static_cast<int32_t>(i), errno);
    wire::Message message;
    memset(&message, 0, sizeof message);
    message.kind = wire::MessageKind::kReady;
    message.probe = cell.probe;
    cell.watch.enter(wire::kWaiting);
    memcpy(message.took, cell.watch.took, sizeof message.took);
    message.stamp = cell.watch.since;
    if (int error = send_message(message, cell.notifier); error != 0) fail_step(static_cast<int32_t>(i), error);
    exec_guest(cell, static_cast<int32_t>(i));
  }
  fail_step(wire::kReadingSpec, EPROTO);
}

// The cell's own terminal: its master goes to the engine, its slave to the guest.
int open_terminal(Cell& cell) {
  const wire::SpecHeader& header = cell.spec.header();
  int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return errno;
  int unlocked = 0;
  if (ioctl(master, TIOCSPTLCK, &unlocked) != 0) return errno;
  constexpr unsigned long kTiocGptPeer = 0x5441;
  cell.tty_slave = ioctl(master, kTiocGptPeer, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (cell.tty_slave < 0) return errno;
  struct winsize size;
  memset(&size, 0, sizeof size);
  size.ws_row = static_cast<unsigned short>(header.tty_rows);
  size.ws_col = static_cast<unsigned short>(header.tty_cols);
  ioctl(master, TIOCSWINSZ, &size);
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kTty;
  tell(message, master);
  close(master);
  return 0;
}

// Whatever the guest leaves there outlives it as long as the engine holds this.
void hand_over_scratch(const Cell& cell) {
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kScratchIs;
  message.amount = cell.copied_at;
  tell(message, cell.scratch_fd);
}

void read_spec(Cell& cell) {
  wire::Message message;
  if (int error = receive_spec(message, g_room, cell.spec, cell.fds, wire::kMaxFds, cell.fd_count); error != 0) {
    fail_step(wire::kReadingSpec, error);
  }
  if (message.kind != wire::MessageKind::kSpec) fail_step(wire::kReadingSpec, EPROTO);
  const wire::SpecHeader& header = cell.spec.header();
  uint32_t expected = 1 + header.mount_count;
  while (cell.fd_count < expected) {
    uint32_t more = 0;
    int error = receive_message(message, cell.fds + cell.fd_count, wire::kMaxFds - cell.fd_count, more);
    if (error != 0 || more == 0) fail_step(wire::kReadingSpec, error != 0 ? error : EPROTO);
    cell.fd_count += more;
  }
}

// Whatever the engine's caller ignored or blocked ends here: an ignored SIGCHLD would keep init from ever hearing of
// the guest's end. The kernel's own structure (handler, flags, restorer, mask) is used, because musl keeps 32 to 34 for
// itself. Init stays deaf to everything but what it reads (SIGCHLD, the control socket); the guest opens its own mask.
void reset_signals() {
  const unsigned long standard[4] = {0, 0, 0, 0};
  for (int signal = 1; signal < _NSIG; ++signal) syscall(SYS_rt_sigaction, signal, standard, nullptr, sizeof(uint64_t));
  const uint64_t all = ~uint64_t{0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof all);
}

// The kernel finds these by going through those of all other user namespaces, newest first, which takes 50 us and more
// the first time. Now nobody waits for it.
void look_up_limits() {
  (void)access(wire::kMostInotifyInstances, F_OK);
  (void)access(wire::kMostInotifyWatches, F_OK);
}

[[noreturn]] void run_cell(const char* network) {
  Cell& cell = g_cell;
  cell.watch.since = now();
  begin_network(network);
  reset_signals();
  fcntl(wire::kControlFd, F_SETFD, FD_CLOEXEC);
  wire::Message hello;
  memset(&hello, 0, sizeof hello);
  hello.kind = wire::MessageKind::kHello;
  hello.stamp = cell.watch.since;
  tell(hello, -1);
  if (*network != '\0') look_up_limits();
  read_spec(cell);
  // From here on nothing of this process can be read or traced through /proc, by the guest least of all. Not before:
  // the engine could not have written the id maps.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) fail_step(wire::kReadingSpec, errno);
  umask(0);  // modes are the plan's, whatever the caller's mask; the guest gets the usual one
  prepare_way_out(cell);
  const wire::SpecHeader& header = cell.spec.header();
  for (uint32_t i = 0; i < header.step_count; ++i) {
    const wire::Step& step = cell.spec.step(i);
    if (is_guest_step(step.kind)) continue;
    cell.watch.enter(phase_of(step.kind));
    if (int error = run_step(cell, step); error != 0) fail_step(static_cast<int32_t>(i), error);
  }
  if (header.tty != 0) {
    if (int error = open_terminal(cell); error != 0) fail_step(wire::kReadingSpec, error);
  }
  // The receipt says that the old root is gone: it is, before there is a guest.
  if (int error = finish_unmount(); error != 0) fail_step(wire::kReadingSpec, error);
  umask(022);
  if (header.hand_over != 0) hand_over_scratch(cell);
  wire::Message built;
  memset(&built, 0, sizeof built);
  built.kind = wire::MessageKind::kBuilt;
  tell(built, -1);
  // The last handle on a mount waits for a grace period of the kernel: here while nobody waits for this cell, and in
  // any other when the guest is on its way (watch()). A cell that stands ready has no terminal.
  if (header.parked != 0) syscall(kSysCloseRange, wire::kControlFd + 1, ~0u, 0);
  int guest = clone(become_guest, g_guest_stack + sizeof g_guest_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &cell);
  if (guest < 0) fail_step(static_cast<int32_t>(header.step_count) - 1, errno);
  watch(header.leased != 0, guest);
}

}  // namespace
}  // namespace cloche::init

int main(int, char** argv) {
  // The engine names what it wants; under bwrap the program has a path of its own.
  const char* name = argv[0] != nullptr ? argv[0] : "";
  if (strcmp(name, "cloche-init") == 0 || strcmp(name, "/.cloche-init") == 0) {
    cloche::init::run_cell(argv[1] != nullptr ? argv[1] : "");
  }
  if (strcmp(name, "cloche-janitor") == 0) cloche::init::run_janitor();
  if (strcmp(name, "cloche-drop") == 0) cloche::init::run_dropped(argv + 1);
  static constexpr char kText[] = "cloche-init: started by the cloche engine only; use 'cloche run'\n";
  (void)!write(2, kText, sizeof kText - 1);
  return 125;
}
