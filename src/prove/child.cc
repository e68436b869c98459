#include "prove/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::prove {
namespace {

constexpr std::size_t kMostKept = 16 << 10;  // of the beginning, and of the end

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(int output, const char* directory, char* const* argv, char* const* env) {
  // A terminal's ^C is for us alone: we tell the bait, which cleans up.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  const int empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  // What somebody left open in us must not stand in for the bait.
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
  if (::chdir(directory) == 0) ::execve(argv[0], argv, env);
  ::_exit(121);
}

}  // namespace

Result<Child> Child::start(const Words& argv, const Environment& env, const std::string& directory) {
  Words words = argv;
  std::vector<std::string> variables;
  for (const auto& [name, value] : env) variables.push_back(name + "=" + value);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "prove", "no pipe could be made");
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, "prove", "no process could be made");
  if (pid == 0) become(writing.get(), directory.c_str(), arguments.data(), environment.data());
  return Child(pid, std::move(reading));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      head_(std::move(other.head_)),
      tail_(std::move(other.tail_)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(out_, other.out_);
  std::swap(head_, other.head_);
  std::swap(tail_, other.tail_);
  return *this;
}

Child::~Child() {
  if (pid_ <= 0) return;
  signal(SIGTERM);
  out_.reset();
  // The bait takes its shared memory and its sockets away.
  for (int round = 0; round < 300; ++round) {
    const pid_t got = ::waitpid(pid_, nullptr, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) return;
    ::usleep(10'000);
  }
  signal(SIGKILL);
  (void)reap();
}

void Child::read_some() {
  char buffer[65536];
  const ssize_t got = ::read(out_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return out_.reset();
  std::string_view text(buffer, static_cast<std::size_t>(got));
  const std::string_view first = text.substr(0, kMostKept - std::min(head_.size(), kMostKept));
  head_ += first;
  tail_ += text.substr(first.size());
  if (tail_.size() > kMostKept) tail_.erase(0, tail_.size() - kMostKept);
}

bool Child::has_said(std::string_view word) const { return head_.find(word) != std::string::npos; }

void Child::signal(int number) const {
  if (pid_ > 1) ::kill(pid_, number);
}

int Child::reap() {
  if (pid_ <= 0) return -1;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Child::output() const { return tail_.empty() ? head_ : head_ + "\n" + tail_; }

}  // namespace cloche::prove
