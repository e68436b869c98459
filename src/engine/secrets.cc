#include "engine/secrets.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "base/wipe.h"
#include "egress/placeholder.h"
#include "sys/channel.h"
#include "sys/file.h"

namespace cloche {
namespace {

constexpr Millis kPatience{30'000};
constexpr std::size_t kRoom = egress::kLongestSecret + 3;  // a line's end, and one byte too many

Error refused(const SecretGrant& grant, std::string message, std::string hint, int error = 0) {
  return {ErrorCode::kRefused, "secret " + grant.name, error, std::move(message), std::move(hint)};
}

// How long to wait, and for whom it is worth it.
struct Patience {
  Clock::time_point deadline;
  int cancel = -1;
};

// 0 when there is something to read, else ETIMEDOUT, ECANCELED or what went wrong. Without a descriptor it is a pause.
int await(int fd, const Patience& patience, Millis longest = kPatience) {
  const auto left = std::chrono::duration_cast<Millis>(patience.deadline - Clock::now());
  if (left <= Millis::zero()) return ETIMEDOUT;
  pollfd ready[] = {{fd, POLLIN, 0}, {patience.cancel, POLLIN, 0}};  // poll passes over -1
  const int polled = ::poll(ready, 2, static_cast<int>(std::min(left, longest).count()));
  if (polled < 0 && errno != EINTR) return errno;
  if (polled > 0 && ready[1].revents != 0) return ECANCELED;
  return polled > 0 ? 0 : EAGAIN;
}

// Into one place that never moves, so that no copy is left behind. Ends at the deadline, with ETIMEDOUT.
int read_all(int fd, std::string& out, const Patience& patience) {
  out.assign(kRoom, '\0');
  std::size_t size = 0;
  int error = 0;
  while (error == 0 && size < kRoom) {
    const int waited = await(fd, patience);
    if (waited != 0 && waited != EAGAIN) error = waited;
    if (waited != 0) continue;
    const ssize_t n = ::read(fd, out.data() + size, kRoom - size);
    if (n == 0) break;
    if (n < 0 && errno != EINTR && errno != EAGAIN) error = errno;
    if (n > 0) size += static_cast<std::size_t>(n);
  }
  if (error != 0) wipe(out);
  out.resize(error != 0 ? 0 : size);
  return error;
}

void drop_line_end(std::string& text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

Result<std::string> from_file(const SecretGrant& grant, const Patience& patience) {
  // Without waiting: a pipe that nobody writes to is a file, too.
  auto fd = sys::open_file(grant.from, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  std::string value;
  const int error = fd ? read_all(fd->get(), value, patience) : fd.error().errno_value;
  if (error != 0) {
    return std::unexpected(refused(grant, fmt::format("'{}' cannot be read", grant.from),
                                   "check that it exists and that this user may read it", error));
  }
  return value;
}

// A program of the caller's, in a group of its own so that all of it can be ended.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() { end(); }

  int start(const std::string& text, const std::map<std::string, std::string>& env, int out) {
    std::vector<std::string> pairs;
    for (const auto& [name, value] : env) pairs.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& pair : pairs) environment.push_back(pair.data());
    environment.push_back(nullptr);
    std::string words[] = {"sh", "-c", text};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int error = ::posix_spawn(&pid_, "/bin/sh", &actions, &attributes, argv, environment.data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) pid_ = -1;
    return error;
  }

  // Its exit code; else it did not end by itself in time, or died of a signal.
  Result<int> wait(const Patience& patience) {
    int status = 0;
    while (pid_ > 1) {
      const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended < 0 && errno == EINTR) continue;
      if (ended != 0) pid_ = -1;
      if (ended < 0) return fail_errno(errno, "secret", "somebody else took the command's end");
      if (ended > 0 && WIFEXITED(status)) return WEXITSTATUS(status);
      if (ended > 0) break;
      if (const int waited = await(-1, patience, Millis{2}); waited != 0 && waited != EAGAIN) {
        return fail_errno(waited, "secret", "the command did not end");
      }
    }
    return fail(ErrorCode::kSystem, "secret", "the command did not end");
  }

 private:
  void end() {
    if (pid_ <= 1) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  pid_t pid_ = -1;
};

Result<std::string> from_command(const SecretGrant& grant, const std::map<std::string, std::string>& env,
                                 const Patience& patience) {
  CLOCHE_TRY_ASSIGN(sys::Pipe pipe, sys::make_pipe());
  Command command;
  if (const int error = command.start(grant.from, env, pipe.write.get()); error != 0) {
    return std::unexpected(refused(grant, "its command could not be started", "check value_command", error));
  }
  pipe.write.reset();
  std::string value;
  int error = read_all(pipe.read.get(), value, patience);
  pipe.read.reset();
  const auto code = error == 0 ? command.wait(patience) : Result<int>(-1);
  if (error == 0 && code && *code == 0) return value;
  wipe(value);
  if (error == ECANCELED || (!code && code.error().errno_value == ECANCELED)) {
    return std::unexpected(refused(grant, "the run was cancelled while its command ran", "", ECANCELED));
  }
  const bool late = error == ETIMEDOUT || (error == 0 && !code);
  return std::unexpected(refused(grant,
                                 late ? fmt::format("its command did not end well within {}", to_text(kPatience))
                                      : fmt::format("its command ended with code {}", code ? *code : -1),
                                 "run the command by hand to see why"));
}

}  // namespace

Result<std::string> read_secret(const SecretGrant& grant, const std::map<std::string, std::string>& env, int cancel) {
  const Patience patience{Clock::now() + kPatience, cancel};
  Result<std::string> value = std::string();
  switch (grant.source) {
    case SecretGrant::Source::kFile:
      value = from_file(grant, patience);
      break;
    case SecretGrant::Source::kEnv: {
      const auto found = env.find(grant.from);
      if (found == env.end()) {
        return std::unexpected(
            refused(grant, fmt::format("the variable '{}' is not set", grant.from), "set it where cloche is started"));
      }
      value = found->second;
      break;
    }
    case SecretGrant::Source::kCommand:
      value = from_command(grant, env, patience);
      break;
  }
  if (!value) return value;
  drop_line_end(*value);
  if (Status usable = egress::check_value(grant.name, *value); !usable) {
    wipe(*value);
    return std::unexpected(usable.error());
  }
  return value;
}

}  // namespace cloche
