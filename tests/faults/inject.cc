// inject [-o FILE] [-d SECONDS] list|none|ROLE:CALL:NTH:ERRNO COMMAND [ARGUMENT...]: runs a command under ptrace and
// lets one system call of its launch path fail. The call is not made; its caller gets -ERRNO. But for close, which
// closes whatever it answers, and for futex, where a wake that never happened would be no error but a lie.
//
// Every process of the tree is followed and named by its part: engine, child (the engine's, in new namespaces), plain
// (the engine's, without: a janitor, or the first process of tier 0), holder, init (plain-init on tier 0, bwrap-init
// under bwrap), helper, guest (which is to become the guest), janitor, gateway, keeper, drop, bwrap, and X-child or
// X-thread for what these start. The second of a kind is child.2 and so on. Other programs are called by their names,
// so COMMAND may be a shell that prepares the ground, starts the engine and cleans up; what runs before it is seen but
// is no guest. A guest is let go when its exec is done, so that nothing of it is seen or touched.
//
// FILE gets a line for each thing that happened: "call ROLE NAME NTH" (list, until the guest's exec), "fault ROLE NAME
// NTH" (done), "guest" (it starts), "crash ROLE SIGNAL", "end ROLE exit|signal NUMBER", "left ROLE" (lives on after the
// command), "deadline". Ends as the command does.
#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "filter/table.h"

namespace {

constexpr int kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
constexpr int kSyscallStop = SIGTRAP | 0x80;
constexpr int kSettleSeconds = 20;  // for whoever ends after the command
constexpr int kLongestName = 64;

struct Fault {
  std::string role;
  std::string call;
  int nth = 0;
  int error = 0;
};

struct Tracee {
  std::string role;
  bool in_fault = false;         // its call is skipped; the answer is still to be put in
  unsigned long long first = 0;  // argument of that call
};

volatile sig_atomic_t g_late = 0;
void be_late(int) { g_late = 1; }

std::string name_of_call(std::uint64_t number) {
  static const std::map<std::uint64_t, std::string> names = [] {
    std::map<std::uint64_t, std::string> out;
    for (const auto& group : cloche::filter::groups()) {
      for (const auto& entry : group.entries) {
        if (entry.x86_64 >= 0) out[static_cast<std::uint64_t>(entry.x86_64)] = std::string(entry.name);
      }
    }
    return out;
  }();
  const auto found = names.find(number);
  return found != names.end() ? found->second : "call-" + std::to_string(number);
}

// What a call with many trades is asked for stands behind its name: "fcntl/1030".
std::string name_of_call(const __ptrace_syscall_info& info) {
  const std::string name = name_of_call(info.entry.nr);
  switch (info.entry.nr) {
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_fsconfig:
    case SYS_epoll_ctl:
      return name + "/" + std::to_string(info.entry.args[1]);
    case SYS_prctl:
    case SYS_keyctl:
      return name + "/" + std::to_string(info.entry.args[0]);
    default:
      return name;
  }
}

std::uint64_t peek(pid_t pid, std::uint64_t address) {
  errno = 0;
  const long word = ptrace(PTRACE_PEEKDATA, pid, address, nullptr);
  return errno == 0 ? static_cast<std::uint64_t>(word) : 0;
}

// What the process that has just been replaced is called: its stack begins with argc and argv.
std::string first_argument(pid_t pid) {
  user_regs_struct regs{};
  if (ptrace(PTRACE_GETREGS, pid, nullptr, &regs) != 0) return {};
  const std::uint64_t text = peek(pid, regs.rsp + 8);
  std::string out;
  while (text != 0 && out.size() < kLongestName) {
    const std::uint64_t word = peek(pid, text + out.size());
    for (int i = 0; i < 8; ++i) {
      const char c = static_cast<char>(word >> (8 * i));
      if (c == '\0') return out.substr(out.rfind('/') + 1);
      out += c;
    }
  }
  return out;
}

// Another call in its place, which no filter forbids and which changes nothing; -1 would be the filter's to judge.
// Returns the first argument as it was.
unsigned long long skip_call(pid_t pid) {
  user_regs_struct regs{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
  const unsigned long long first = regs.rdi;
  // The kernel's brk has no errno: where it fails, the break is where it was.
  if (regs.orig_rax == SYS_brk) {
    regs.rdi = 0;
  } else {
    regs.orig_rax = SYS_getppid;
  }
  ptrace(PTRACE_SETREGS, pid, nullptr, &regs);
  return first;
}

void answer_call(pid_t pid, unsigned long long first, int error) {
  user_regs_struct regs{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
  if (regs.orig_rax == SYS_brk) {
    regs.rdi = first;  // callers count on their registers
  } else {
    regs.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
  }
  ptrace(PTRACE_SETREGS, pid, nullptr, &regs);
}

class Tracer {
 public:
  Tracer(std::FILE* log, bool listing, Fault fault)
      : log_(log), listing_(listing), watching_(listing || fault.nth > 0), fault_(std::move(fault)) {}

  int run(char** command, unsigned seconds);

 private:
  void handle(pid_t pid, int status);
  void handle_event(pid_t pid, int event);
  void handle_syscall(pid_t pid);
  void resume(pid_t pid, int signal = 0) {
    ptrace(watching_ ? PTRACE_SYSCALL : PTRACE_CONT, pid, nullptr, static_cast<std::uintptr_t>(signal));
  }
  std::string role_of_child(pid_t parent) const;
  std::string numbered(const std::string& role);
  static std::string role_of_init(const std::string& before);
  void ended(pid_t pid, int status);
  // Lines go out at once: whoever reads them may have to end us.
  template <typename... Words>
  void say(const char* format, Words... words) {
    std::fprintf(log_, format, words...);
    std::fflush(log_);
  }

  std::FILE* log_;
  bool listing_;
  bool watching_;  // system calls are of interest, still
  Fault fault_;
  pid_t command_ = -1;
  int status_ = -1;
  std::map<pid_t, Tracee> tracees_;
  std::set<pid_t> early_;  // stopped before its parent told of it
  std::map<std::string, int> roles_;
  std::map<std::pair<std::string, std::string>, int> seen_;
};

std::string Tracer::numbered(const std::string& role) {
  const int number = ++roles_[role];
  return number == 1 ? role : role + "." + std::to_string(number);
}

std::string Tracer::role_of_child(pid_t parent) const {
  user_regs_struct regs{};
  ptrace(PTRACE_GETREGS, parent, nullptr, &regs);
  // clone3's first word, clone's first argument; fork and vfork have none.
  const std::uint64_t flags = regs.orig_rax == SYS_clone3  ? peek(parent, regs.rdi)
                              : regs.orig_rax == SYS_clone ? regs.rdi
                                                           : 0;
  const std::string role = tracees_.at(parent).role;
  const std::string part = role.substr(0, role.find('.'));
  if ((flags & CLONE_THREAD) != 0) return part + "-thread";
  if (part.ends_with("init")) return (flags & CLONE_VFORK) != 0 ? "guest" : "helper";
  if (part != "engine" && part != "keeper") return part + "-child";
  if ((flags & CLONE_NEWUSER) == 0) return "plain";
  return (flags & CLONE_VFORK) != 0 ? "holder" : "child";
}

// The engine may have begun a first process before it knew that another kind would be wanted: they differ by name, and
// have the number by which they were begun. Whether the one that is not wanted gets to its exec is a matter of chance.
std::string Tracer::role_of_init(const std::string& before) {
  const std::string kind = before.substr(0, before.find_first_of(".-"));
  const std::size_t number = before.find('.');
  return (kind == "child" ? "init" : kind + "-init") + (number == std::string::npos ? "" : before.substr(number));
}

void Tracer::handle_event(pid_t pid, int event) {
  if (event == PTRACE_EVENT_EXEC) {
    Tracee& tracee = tracees_[pid];
    if (tracee.role.starts_with("guest")) {
      if (roles_.contains("engine")) {
        say("guest\n");
        // The launch is over; but a call that was skipped still gets its answer.
        const bool busy = std::ranges::any_of(tracees_, [](const auto& entry) { return entry.second.in_fault; });
        if (!busy) watching_ = false;
      }
      ptrace(PTRACE_DETACH, pid, nullptr, 0);
      tracees_.erase(pid);
      return;
    }
    std::string name = first_argument(pid);
    if (name.starts_with(".")) name.erase(0, 1);
    if (name.starts_with("cloche-")) name.erase(0, 7);
    if (name == "cloche") name = "engine";
    tracee.role = name == "init" ? role_of_init(tracee.role) : numbered(name);
  } else if (event != PTRACE_EVENT_STOP) {
    unsigned long message = 0;
    // A parent that was killed meanwhile tells nothing more.
    if (ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &message) == 0 && message != 0) {
      const auto child = static_cast<pid_t>(message);
      tracees_[child].role = numbered(role_of_child(pid));
      if (early_.erase(child) != 0) resume(child);
    }
  }
  resume(pid);
}

void Tracer::handle_syscall(pid_t pid) {
  Tracee& tracee = tracees_[pid];
  __ptrace_syscall_info info{};
  const long size = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
  if (size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && watching_) {
    const std::string call = name_of_call(info);
    const int nth = ++seen_[{tracee.role, call}];
    if (listing_) say("call %s %s %d\n", tracee.role.c_str(), call.c_str(), nth);
    if (nth == fault_.nth && tracee.role == fault_.role && call == fault_.call) {
      tracee.in_fault = true;
      if (info.entry.nr != SYS_close && info.entry.nr != SYS_futex) tracee.first = skip_call(pid);
    }
  } else if (size > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT && tracee.in_fault) {
    answer_call(pid, tracee.first, fault_.error);
    tracee.in_fault = false;
    watching_ = false;  // from here on at full speed
    say("fault %s %s %d\n", fault_.role.c_str(), fault_.call.c_str(), fault_.nth);
  }
  resume(pid);
}

void Tracer::ended(pid_t pid, int status) {
  const std::string role = tracees_.contains(pid) ? tracees_[pid].role : "unknown";
  const bool exited = WIFEXITED(status);
  say("end %s %s %d\n", role.c_str(), exited ? "exit" : "signal", exited ? WEXITSTATUS(status) : WTERMSIG(status));
  tracees_.erase(pid);
  early_.erase(pid);
  if (pid != command_) return;
  status_ = status;
  alarm(kSettleSeconds);
}

void Tracer::handle(pid_t pid, int status) {
  if (!WIFSTOPPED(status)) {
    ended(pid, status);
    return;
  }
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  if (!tracees_.contains(pid)) {
    early_.insert(pid);
  } else if (signal == kSyscallStop) {
    handle_syscall(pid);
  } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
    ptrace(PTRACE_LISTEN, pid, nullptr, nullptr);  // stopped as a whole, and stays so
  } else if (event != 0) {
    handle_event(pid, event);
  } else {
    for (int bad : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
      if (signal != bad) continue;
      say("crash %s %d\n", tracees_[pid].role.c_str(), signal);
      // The first process of a pid namespace survives its own faults as long as it is traced, and crashes for ever.
      kill(pid, SIGKILL);
    }
    resume(pid, signal);
  }
}

int Tracer::run(char** command, unsigned seconds) {
  int gate[2];
  if (pipe(gate) != 0) return 127;
  command_ = fork();
  if (command_ == 0) {
    close(gate[1]);
    char word;
    if (read(gate[0], &word, 1) != 1) _exit(127);
    close(gate[0]);
    execv(command[0], command);
    _exit(127);
  }
  if (command_ < 0 || ptrace(PTRACE_SEIZE, command_, nullptr, kOptions) != 0) {
    std::perror("inject: ptrace");
    return 127;
  }
  tracees_[command_].role = "inject";  // until its exec
  close(gate[0]);
  if (write(gate[1], "g", 1) != 1) return 127;
  close(gate[1]);
  // It waits in its read; a stop there makes the next resume one that shows system calls.
  ptrace(PTRACE_INTERRUPT, command_, nullptr, nullptr);
  alarm(seconds);
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid > 0) {
      handle(pid, status);
    } else if (errno == ECHILD) {
      break;
    }
    if (g_late != 0) break;
  }
  if (status_ < 0) say("deadline\n");
  for (const auto& [pid, tracee] : tracees_) say("left %s %d\n", tracee.role.c_str(), static_cast<int>(pid));
  if (status_ < 0) return 128 + SIGALRM;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

bool parse_fault(const char* text, Fault& out) {
  char role[kLongestName];
  char call[kLongestName];
  if (std::sscanf(text, "%63[^:]:%63[^:]:%d:%d", role, call, &out.nth, &out.error) != 4) return false;
  out.role = role;
  out.call = call;
  return out.nth > 0 && out.error > 0;
}

int usage() {
  std::fputs("usage: inject [-o FILE] [-d SECONDS] list|none|ROLE:CALL:NTH:ERRNO COMMAND [ARGUMENT...]\n", stderr);
  return 127;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* log = stderr;
  unsigned seconds = 60;
  int option;
  while ((option = getopt(argc, argv, "+o:d:")) != -1) {
    if (option == 'o') log = std::fopen(optarg, "we");
    if (option == 'd') seconds = static_cast<unsigned>(std::atoi(optarg));
    if (option == '?' || log == nullptr) return usage();
  }
  if (argc - optind < 2) return usage();
  Fault fault;
  const std::string what = argv[optind];
  if (what != "list" && what != "none" && !parse_fault(argv[optind], fault)) return usage();
  struct sigaction late{};
  late.sa_handler = be_late;  // no SA_RESTART: it ends the wait
  sigaction(SIGALRM, &late, nullptr);
  return Tracer(log, what == "list", fault).run(argv + optind + 1, seconds);
}
