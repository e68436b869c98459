// bench_hold plain|INIT NUMBER PROGRAM: holds NUMBER idle processes, plain ones or each in a cell of its own, until its
// input ends. Prints "held NUMBER", which is less where memory runs short.
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/interrupt.h"
#include "cloche/cloche.h"

extern "C" char** environ;

namespace {

constexpr long kLeastAvailableKib = 4L * 1024 * 1024;
constexpr std::size_t kAtOnce = 4;  // cells that are being started

bool may_go_on(const Interrupt& interrupt) {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    long kib = 0;
    in >> kib;
    if (name == "MemAvailable:") return !interrupt.seen() && kib > kLeastAvailableKib;
    std::getline(in, name);
  }
  return false;
}

void report_and_wait(const Interrupt& interrupt, std::size_t held) {
  std::printf("held %zu\n", held);
  std::fflush(stdout);
  interrupt.wait_for_end_of_input();
}

int hold_plain(const Interrupt& interrupt, std::size_t number, std::string program) {
  std::vector<pid_t> children;
  char* argv[] = {program.data(), nullptr};
  while (children.size() < number && may_go_on(interrupt)) {
    pid_t pid = -1;
    if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ) != 0) break;
    children.push_back(pid);
  }
  report_and_wait(interrupt, children.size());
  for (const pid_t pid : children) ::kill(pid, SIGKILL);
  for (const pid_t pid : children) ::waitpid(pid, nullptr, 0);
  return 0;
}

// Its first output says that the guest runs.
int hold_cells(const Interrupt& interrupt, const std::string& init, std::size_t number, const std::string& program) {
  auto runtime = cloche::Runtime::create({.init_path = init, .tail_bytes = 1024});
  if (!runtime) {
    std::fprintf(stderr, "bench_hold: %s\n", runtime.error().c_str());
    return 1;
  }
  cloche::PolicyBuilder builder("untrusted");
  builder.exec(program);
  if (::geteuid() != 0) builder.limit("mode", "best-effort");
  auto policy = builder.build();
  if (!policy) {
    std::fprintf(stderr, "bench_hold: %s\n", policy.error().c_str());
    return 1;
  }
  std::vector<cloche::RunHandle> handles;
  std::atomic<std::size_t> ready = 0;
  const auto failed = [&] {
    for (const cloche::RunHandle& handle : handles) {
      if (!handle.done()) continue;
      std::fprintf(stderr, "bench_hold: %s\n", handle.wait().message.c_str());
      return true;
    }
    return false;
  };
  const auto wait_until = [&](std::size_t wanted) {
    while (ready < wanted && !interrupt.seen()) {
      if (failed()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  };
  while (handles.size() < number && may_go_on(interrupt)) {
    handles.push_back((*runtime)->start(
        *policy, {.argv = {program}, .cancellable = true, .on_stdout = [&ready](std::string_view) { ++ready; }}));
    if (handles.size() > kAtOnce && !wait_until(handles.size() - kAtOnce)) return 1;
  }
  if (!wait_until(handles.size())) return 1;
  report_and_wait(interrupt, handles.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  if (words.size() != 4) {
    std::fputs("usage: bench_hold plain|INIT NUMBER PROGRAM\n", stderr);
    return 2;
  }
  const Interrupt interrupt;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const std::string way = words[1];
  const auto number = static_cast<std::size_t>(std::atoi(words[2]));
  return way == "plain" ? hold_plain(interrupt, number, words[3]) : hold_cells(interrupt, way, number, words[3]);
}
