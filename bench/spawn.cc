// bench_spawn COUNT AT_ONCE COMMAND [ARGUMENT…]: runs the command COUNT times, AT_ONCE at a time, without its output.
// Prints the microseconds from spawn to reaped of each, then "wall MICROSECONDS peak KIB". The peak is of the command
// alone, not of the cell that it starts. "{n}" in an argument becomes a number that no other run has.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

extern "C" char** environ;

namespace {

using Clock = std::chrono::steady_clock;

double since_us(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Spawner {
 public:
  explicit Spawner(std::span<char*> command) : command_(command.begin(), command.end()) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;
  ~Spawner() { posix_spawn_file_actions_destroy(&actions_); }

  pid_t start() {
    const std::string number = std::to_string(::getpid()) + "-" + std::to_string(++started_);
    std::vector<std::string> words = command_;
    for (std::string& word : words) {
      if (const std::size_t at = word.find("{n}"); at != std::string::npos)
        word.replace(at, std::strlen("{n}"), number);
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    return posix_spawn(&pid, argv.front(), &actions_, nullptr, argv.data(), environ) == 0 ? pid : -1;
  }

 private:
  std::vector<std::string> command_;
  posix_spawn_file_actions_t actions_{};
  unsigned started_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  if (words.size() < 4) {
    std::fputs("usage: bench_spawn COUNT AT_ONCE COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  const int count = std::atoi(words[1]);
  const auto at_once = static_cast<std::size_t>(std::atoi(words[2]));
  Spawner spawner(words.subspan(3));
  std::map<pid_t, Clock::time_point> running;
  long peak = 0;
  int started = 0;
  const auto begin = Clock::now();
  while (started < count || !running.empty()) {
    while (started < count && running.size() < at_once) {
      const auto now = Clock::now();
      const pid_t pid = spawner.start();
      if (pid < 0) {
        std::fprintf(stderr, "bench_spawn: %s could not be started\n", words[3]);
        return 1;
      }
      running.emplace(pid, now);
      ++started;
    }
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, 0, &usage);
    const auto found = running.find(pid);
    if (found == running.end()) continue;
    if (status != 0) {
      std::fprintf(stderr, "bench_spawn: %s ended with status %d\n", words[3], status);
      return 1;
    }
    std::printf("%.1f\n", since_us(found->second));
    peak = std::max(peak, usage.ru_maxrss);
    running.erase(found);
  }
  std::printf("wall %.1f peak %ld\n", since_us(begin), peak);
  return 0;
}
