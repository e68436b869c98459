#include "keeper/starter.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "keeper/client.h"
#include "keeper/place.h"
#include "sys/channel.h"

extern "C" char** environ;

namespace cloche::keeper {
namespace {

constexpr int kTheirs = 3;
constexpr const char* kName = "cloche-keeper";

class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Result<pid_t> spawn_program(const std::string& program, std::vector<std::string> words, Actions& actions) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return fail_errno(error, "keeper", program + " could not be started",
                      "reinstall Cloche: it lies beside cloche-init");
  }
  return pid;
}

// With the other end of a socket of ours under a number of its own; every other descriptor of ours ends here.
Result<Private> start_connected(const std::string& program, std::vector<std::string> words) {
  CLOCHE_TRY_ASSIGN(sys::SocketPair channel, sys::make_channel());
  Actions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), channel.theirs.get(), kTheirs);
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), kTheirs + 1);
  CLOCHE_TRY_ASSIGN(const pid_t pid, spawn_program(program, std::move(words), actions));
  return Private{pid, std::move(channel.ours)};
}

// As every command will ask before it speaks to it. What /proc shows to no command would be there for nobody.
Status may_be_used(const std::string& directory) {
  const auto client = Client::connect(directory);
  if (client || client.error().code != ErrorCode::kRefused) return {};  // somebody may have ended it already
  return std::unexpected(client.error());
}

}  // namespace

std::string program_beside(const std::string& init_path) {
  return init_path.substr(0, init_path.rfind('/') + 1) + "cloche-keeper";
}

Result<Private> start_private(const std::string& program, const StockOptions& stock) {
  return start_connected(
      program, {kName, "serve", std::to_string(kTheirs), std::to_string(stock.blank), std::to_string(stock.parked)});
}

Result<Private> start_attendant(const std::string& program, const std::string& directory) {
  return start_connected(program, {kAttendantName, directory, std::to_string(kTheirs)});
}

Status start_resident(const std::string& program, const ResidentOptions& options) {
  CLOCHE_TRY_ASSIGN(sys::Pipe ready, sys::make_pipe());
  Actions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), ready.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), STDERR_FILENO + 1);
  CLOCHE_TRY_ASSIGN(
      const pid_t pid,
      spawn_program(program,
                    {kName, "listen", options.directory, std::to_string(options.stock.blank),
                     std::to_string(options.stock.parked), std::to_string(options.idle_seconds), options.engine},
                    actions));
  ready.write.reset();
  char text[16];
  ssize_t n;
  do {
    n = ::read(ready.read.get(), text, sizeof text);
  } while (n < 0 && errno == EINTR);
  const int error = errno;
  Status of_use;
  if (n > 0) of_use = may_be_used(options.directory);
  if (n > 0 && of_use) return {};
  // Otherwise it has ended, and said why on our stderr.
  if (n != 0) ::kill(pid, SIGTERM);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!of_use) return of_use;
  if (n < 0) return fail_errno(error, "keeper", "it did not say whether it is ready");
  return fail(ErrorCode::kRefused, "keeper", "it could not be started");
}

}  // namespace cloche::keeper
