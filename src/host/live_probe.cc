#include "host/live_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "base/fd.h"

namespace cloche::host {
namespace {

constexpr std::chrono::milliseconds kPatience{2'000};
constexpr unsigned kFsconfigSetString = 1;
constexpr unsigned kFsconfigCreate = 6;
constexpr int kStopMark = -1;

// Every text that the child writes, made before it exists: it must not allocate.
struct ChildWork {
  char uid_map[64] = {};
  char gid_map[64] = {};
  int report = kStopMark;
};

bool write_file(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  const bool whole = ::write(fd, text, length) == static_cast<ssize_t>(length);
  const int saved = errno;
  ::close(fd);
  errno = saved;
  return whole;
}

bool make_proc() {
  const long context = ::syscall(SYS_fsopen, "proc", 1u);
  if (context < 0) return false;
  if (::syscall(SYS_fsconfig, context, kFsconfigSetString, "subset", "pid", 0) != 0) return false;
  if (::syscall(SYS_fsconfig, context, kFsconfigCreate, nullptr, nullptr, 0) != 0) return false;
  return ::syscall(SYS_fsmount, context, 1u, 0u) >= 0;
}

[[noreturn]] void child_main(const ChildWork& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  LiveAnswer answer;
  auto failed = [&](LiveStep step) { answer = {step, errno}; };
  // An old kernel has no setgroups file; the map is then written without it.
  const bool groups_denied = write_file("/proc/self/setgroups", "deny") || errno == ENOENT;
  if (!groups_denied || !write_file("/proc/self/uid_map", work.uid_map) ||
      !write_file("/proc/self/gid_map", work.gid_map)) {
    failed(LiveStep::kMap);
  } else if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    failed(LiveStep::kMountPrivate);
  } else if (!make_proc()) {
    failed(LiveStep::kProc);
  }
  const ssize_t sent = ::write(work.report, &answer, sizeof answer);
  ::_exit(sent == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
}

int patience_left(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Waits until there is something to read or the pipe ended; false when patience ran out first.
bool wait_readable(int fd, std::chrono::steady_clock::time_point until) {
  pollfd item{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&item, 1, patience_left(until));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

void kill_and_reap(pid_t child) {
  ::kill(child, SIGKILL);  // ours and not yet reaped, so the number cannot belong to anybody else
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

LiveAnswer try_namespaces() {
  Pipe pipe = make_pipe();
  if (!pipe.read.valid()) return {LiveStep::kClone, errno};
  ChildWork work;
  std::snprintf(work.uid_map, sizeof work.uid_map, "1000 %u 1", ::geteuid());
  std::snprintf(work.gid_map, sizeof work.gid_map, "1000 %u 1", ::getegid());
  work.report = pipe.write.get();

  constexpr unsigned long kFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD;
  const long child = ::syscall(SYS_clone, kFlags, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return {LiveStep::kClone, errno};
  if (child == 0) child_main(work);
  pipe.write.reset();

  LiveAnswer answer{LiveStep::kTimeout, 0};
  if (wait_readable(pipe.read.get(), std::chrono::steady_clock::now() + kPatience)) {
    LiveAnswer received;
    if (::read(pipe.read.get(), &received, sizeof received) == static_cast<ssize_t>(sizeof received)) {
      answer = received;
    }
  }
  kill_and_reap(static_cast<pid_t>(child));
  return answer;
}

std::optional<std::string> ask_version(const std::string& program) {
  Pipe pipe = make_pipe();
  if (!pipe.read.valid()) return std::nullopt;
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe.write.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  std::string flag = "--version";
  char* argv[] = {name.data(), flag.data(), nullptr};
  char* env[] = {nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  pipe.write.reset();

  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  while (text.size() < 256 && text.find('\n') == std::string::npos && wait_readable(pipe.read.get(), until)) {
    char chunk[256];
    const ssize_t got = ::read(pipe.read.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  kill_and_reap(child);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || end == 0) return std::nullopt;
  text.resize(end);
  return text;
}

}  // namespace cloche::host
