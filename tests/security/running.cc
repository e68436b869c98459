#include "running.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cloche::security {

Running Running::start(const std::vector<std::string>& argv, const std::map<std::string, std::string>& extra) {
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  for (const auto& [name, value] : extra) variables.push_back(name + "=" + value);
  std::vector<char*> env;
  for (auto& variable : variables) env.push_back(variable.data());
  env.push_back(nullptr);

  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, Fd{}};
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int empty = ::open("/dev/null", O_RDONLY);
    ::dup2(empty, 0);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    // What a test runner leaves open must not stand in for the bait.
    for (int fd = 3; fd < 1024; ++fd) ::close(fd);
    ::execve(words[0], words.data(), env.data());
    ::_exit(119);
  }
  ::close(ends[1]);
  return {pid, Fd(ends[0])};
}

Running::Running(Running&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)), output_(std::move(other.output_)) {}

Running::~Running() {
  if (pid_ > 0) (void)finish(std::chrono::seconds(0));
}

bool Running::read_some(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  pollfd ready{out_.get(), POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::min<long long>(left.count(), 60'000))) <= 0) return false;
  char buffer[4096];
  const ssize_t got = ::read(out_.get(), buffer, sizeof buffer);
  ended_ = got <= 0;
  if (ended_) return false;
  output_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

bool Running::saw(const std::string& text, std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (output_.find(text) == std::string::npos) {
    if (!read_some(deadline)) return false;
  }
  return true;
}

bool Running::over(std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (read_some(deadline)) continue;
  return ended_;
}

void Running::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

Ended Running::finish(std::chrono::seconds within) {
  Ended ended;
  if (pid_ <= 0) return ended;
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (read_some(deadline)) continue;
  if (std::chrono::steady_clock::now() >= deadline) {
    ended.in_time = false;
    ::kill(pid_, SIGTERM);  // the bait cleans up after itself on TERM; its own alarm bounds it
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.output = output_;
  return ended;
}

Ended run(const std::vector<std::string>& argv, const std::map<std::string, std::string>& extra) {
  return Running::start(argv, extra).finish();
}

}  // namespace cloche::security
