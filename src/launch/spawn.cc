#include "launch/spawn.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "launch/id_map.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "wire/wire.h"

namespace cloche {
namespace {

constexpr std::uint64_t bit(int cap) { return 1ull << cap; }

// What init's steps need until kDropCapabilities; all of them count in the cell's own user namespace only.
constexpr std::uint64_t kInitCaps = bit(CAP_SYS_ADMIN) | bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_SETPCAP) |
                                    bit(CAP_NET_ADMIN) | bit(CAP_SYS_RESOURCE) |
                                    // What a gateway listens on, ports below 1024 among them, and looks at.
                                    bit(CAP_NET_BIND_SERVICE) | bit(CAP_NET_RAW) |
                                    // An overlay works with the rights of whoever mounted it, on the scratch.
                                    bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_CHOWN);

// A process cannot enter a new pid namespace later, and the others are to belong to its user namespace.
constexpr std::uint64_t kAtBirth = CLONE_NEWUSER | CLONE_NEWPID;

// While the child shares our memory, no handler of the host program may run in it.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_{};
};

// In a new user namespace with setgroups denied the groups could no longer be dropped, so the child must be born
// without them. Credentials belong to the thread: the raw call touches no other thread of the host program.
class WithoutGroups {
 public:
  explicit WithoutGroups(const SpawnSpec& spec) {
    if (!spec.drop_groups) return;
    int count = ::getgroups(0, nullptr);
    if (count <= 0) return;
    groups_.resize(static_cast<std::size_t>(count));
    if (::getgroups(count, groups_.data()) != count || ::syscall(SYS_setgroups, 0, nullptr) != 0) groups_.clear();
  }
  ~WithoutGroups() {
    if (!groups_.empty()) ::syscall(SYS_setgroups, groups_.size(), groups_.data());
  }
  WithoutGroups(const WithoutGroups&) = delete;
  WithoutGroups& operator=(const WithoutGroups&) = delete;

 private:
  std::vector<gid_t> groups_;
};

std::string hint_for_clone(int error) {
  switch (error) {
    case EPERM:
      return "this user may not make user namespaces here: 'cloche doctor' tells which setting forbids it; in a "
             "chroot the kernel never allows it";
    case ENOSPC:
    case EUSERS:
      return "the limit on namespaces is reached: raise user.max_user_namespaces and its siblings";
    case EAGAIN:
      return "the limit on processes of this user is reached";
    case ENOSYS:
      return "Linux 5.15 or newer is needed";
    default:
      return {};
  }
}

}  // namespace

void ChildStack::Unmap::operator()(void* p) const { ::munmap(p, kSize); }

Result<ChildStack> ChildStack::make() {
  void* p = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (p == MAP_FAILED) return fail_errno(errno, "spawn", "no memory for the child's stack");
  ChildStack stack;
  stack.memory_.reset(p);
  return stack;
}

Spawned& Spawned::operator=(Spawned&& other) noexcept {
  if (this != &other) {
    end();
    pid = other.pid;
    leased = other.leased;
    pidfd = std::move(other.pidfd);
    control = std::move(other.control);
    stack = std::move(other.stack);
    memory = std::move(other.memory);
  }
  return *this;
}

void Spawned::end() {
  // Closing is not enough where a fork of the host program holds a copy.
  if (leased && control.valid()) ::shutdown(control.get(), SHUT_RDWR);
  if (!pidfd.valid()) return;
  constexpr long kPidfdSendSignal = 424;
  ::syscall(kPidfdSendSignal, pidfd.get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  constexpr auto kPidfd = static_cast<idtype_t>(3);
  while (!leased && ::waitid(kPidfd, static_cast<id_t>(pidfd.get()), &info, WEXITED | __WALL) != 0 && errno == EINTR) {
  }
  pidfd.reset();
}

void move_elsewhere(pid_t pid, SpawnMemory& memory) {
  cpu_set_t others = memory.cpus;
  CPU_CLR(static_cast<unsigned>(std::max(::sched_getcpu(), 0)), &others);
  if (CPU_COUNT(&others) > 0) (void)::sched_setaffinity(pid, sizeof others, &others);
  if (__atomic_exchange_n(&memory.moved, kMoved, __ATOMIC_ACQ_REL) == kNotAwaited) {
    (void)::sched_setaffinity(pid, sizeof memory.cpus, &memory.cpus);
  }
}

Result<Spawned> spawn(const SpawnSpec& spec) {
  Spawned out;
  CLOCHE_TRY_ASSIGN(sys::SocketPair channel, sys::make_channel());
  CLOCHE_TRY_ASSIGN(out.stack, ChildStack::make());
  out.memory = std::make_unique<SpawnMemory>();
  SpawnMemory& memory = *out.memory;
  CLOCHE_TRY_ASSIGN(memory.init, sys::open_file(spec.init_path, O_PATH));
  memory.theirs = std::move(channel.theirs);
  memory.strings = spec.argv;
  memory.cgroup_tasks = spec.cgroup_tasks;
  for (const std::string& s : memory.strings) memory.argv.push_back(s.c_str());
  memory.argv.push_back(nullptr);
  const bool own_user_namespace = (spec.namespaces & CLONE_NEWUSER) != 0;
  for (int fd : spec.keep) {
    constexpr int kAside = 100;
    int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, kAside);
    if (copy < 0) return fail_errno(errno, "spawn", "no descriptor left");
    memory.keep.emplace_back(copy);
    memory.keep_numbers.push_back(copy);
  }
  memory.child = {.control_fd = memory.theirs.get(),
                  .init_fd = memory.init.get(),
                  .argv = memory.argv.data(),
                  .stdio_fd = spec.stdio_fd,
                  .own_session = spec.own_session,
                  .keep = memory.keep_numbers.data(),
                  .keep_count = static_cast<int>(memory.keep_numbers.size()),
                  .cgroups = memory.cgroup_tasks.data(),
                  .cgroup_count = static_cast<int>(memory.cgroup_tasks.size()),
                  .unshare = own_user_namespace ? spec.namespaces & ~kAtBirth : 0,
                  .times = &memory.times,
                  .ambient_caps = own_user_namespace ? kInitCaps : 0};

  const bool elsewhere =
      spec.elsewhere && ::sched_getaffinity(0, sizeof memory.cpus, &memory.cpus) == 0 && CPU_COUNT(&memory.cpus) > 1;
  if (elsewhere) {
    memory.child.cpus = memory.cpus.__bits;
    memory.child.cpus_size = sizeof memory.cpus;
    memory.child.moved = &memory.moved;
  }

  int pidfd = -1;
  CloneArgs args{};
  // CLONE_VM without CLONE_VFORK: nothing is copied, and while the child execs on one core, the engine writes id maps
  // and cgroups on the other. The exit signal is 0 until the exec, which makes it SIGCHLD again.
  args.flags = (own_user_namespace ? spec.namespaces & kAtBirth : spec.namespaces) | CLONE_VM | CLONE_PIDFD;
  if (spec.await_exec) args.flags |= CLONE_VFORK;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.stack = reinterpret_cast<std::uint64_t>(out.stack.base());
  args.stack_size = ChildStack::kSize;
  if (spec.cgroup_fd >= 0) {
    constexpr std::uint64_t kCloneIntoCgroup = 0x200000000ull;
    args.flags |= kCloneIntoCgroup;
    args.cgroup = static_cast<std::uint64_t>(spec.cgroup_fd);
  }
  long pid;
  {
    BlockSignals guard;
    WithoutGroups groupless(spec);
    // Only around the clone: a socket made there would belong to that network, and be seen by whoever is in it next.
    if (spec.network >= 0 && ::setns(spec.network, CLONE_NEWNET) != 0) {
      return fail_errno(errno, "network", "the namespace could not be entered");
    }
    pid = clone_child(args, memory.child);
    if (elsewhere && pid > 0) move_elsewhere(static_cast<pid_t>(pid), memory);
    if (spec.network >= 0 && ::setns(spec.home, CLONE_NEWNET) != 0) {
      const int error = errno;
      if (pid > 0) {
        out.pidfd = Fd(pidfd);
        out.end();
      }
      return fail_errno(error, "network", "the caller's own namespace could not be entered again");
    }
  }
  if (pid < 0) {
    int error = static_cast<int>(-pid);
    return fail_errno(error, "clone3", "could not make the cell's first process", hint_for_clone(error));
  }
  out.pid = static_cast<pid_t>(pid);
  out.pidfd = Fd(pidfd);
  out.control = std::move(channel.ours);
  return out;
}

Result<Spawned> spawn_janitor() {
  CLOCHE_TRY_ASSIGN(sys::SocketPair channel, sys::make_channel());
  constexpr std::size_t kStack = 32 * 1024;
  struct Memory {
    alignas(16) char stack[kStack];
    JanitorSpec spec;
    wire::SweepList list;
  };
  void* place =
      ::mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return fail_errno(errno, "janitor", "no memory for its list");
  auto* memory = static_cast<Memory*>(place);
  memory->spec = {channel.theirs.get(), &memory->list};
  CloneArgs args{};
  int pidfd = -1;
  args.flags = CLONE_VM | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.stack = reinterpret_cast<std::uint64_t>(memory->stack);
  args.stack_size = kStack;
  long pid;
  {
    BlockSignals guard;
    pid = clone_janitor(args, memory->spec);
  }
  if (pid < 0) {
    ::munmap(place, sizeof(Memory));
    return fail_errno(static_cast<int>(-pid), "clone3", "could not make the janitor");
  }
  Spawned out;
  out.pid = static_cast<pid_t>(pid);
  out.pidfd = Fd(pidfd);
  out.control = std::move(channel.ours);
  return out;
}

Result<Fd> make_user_namespace(const IdMap& map) {
  CLOCHE_TRY_ASSIGN(ChildStack stack, ChildStack::make());
  HolderSpec spec;
  CloneArgs args{};
  int pidfd = -1;
  args.flags = CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.stack = reinterpret_cast<std::uint64_t>(stack.base());
  args.stack_size = ChildStack::kSize;
  long pid;
  {
    BlockSignals guard;
    pid = clone_holder(args, spec);
  }
  if (pid < 0) {
    const int error = static_cast<int>(-pid);
    return fail_errno(error, "clone3", "could not make a user namespace", hint_for_clone(error));
  }
  Spawned holder;  // it has ended; until it is reaped it still has its place in /proc, where the map is written
  holder.pid = static_cast<pid_t>(pid);
  holder.pidfd = Fd(pidfd);
  if (spec.fd < 0) return fail_errno(-spec.fd, "open /proc/self/ns/user", "could not be opened");
  Fd made(spec.fd);
  CLOCHE_TRY(write_id_map(holder.pid, map));
  return made;
}

Error spawn_failure(int failure, int error) {
  Error out{ErrorCode::kSystem, "init", error, "the cell could not be prepared", {}};
  switch (failure) {
    case wire::kExecOfInit:
      out.message = "cloche-init could not be executed";
      out.hint = "reinstall Cloche: cloche-init must be executable for everybody";
      break;
    case wire::kEntryOfCgroup:
      out.message = "the cell could not enter its cgroup";
      out.hint = "'cloche doctor' shows what is writable here";
      break;
    case wire::kNamespaces:
      out.step = "namespaces";
      out.message = "could not make the cell's namespaces";
      out.hint = hint_for_clone(error);
      break;
    default:
      break;
  }
  return out;
}

Result<std::optional<int>> try_reap(Spawned& process) {
  constexpr auto kPidfd = static_cast<idtype_t>(3);
  if (process.leased) {
    // Only its parent may take its status; that it has ended is all that matters, the outcome came by the socket.
    pollfd ended{process.pidfd.get(), POLLIN, 0};
    if (::poll(&ended, 1, 0) <= 0) return std::nullopt;
    process.pidfd.reset();
    return std::optional<int>(0);
  }
  siginfo_t info{};
  if (::waitid(kPidfd, static_cast<id_t>(process.pidfd.get()), &info, WEXITED | WNOHANG | __WALL) != 0) {
    return fail_errno(errno, "waitid", "could not reap the cell's first process");
  }
  if (info.si_pid == 0) return std::nullopt;
  process.pidfd.reset();
  return std::optional<int>(info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f);
}

}  // namespace cloche
