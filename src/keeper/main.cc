// cloche-keeper: started by `cloche keeper start` or by a program that embeds Cloche; never by hand.
//
//   cloche-keeper listen DIRECTORY BLANK PARKED IDLE-SECONDS ENGINE
//                                                                serves this user; tells on stdout that it is ready
//   cloche-keeper serve FD BLANK PARKED                          serves the one client at the other end of FD
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/probe.h"
#include "keeper/means.h"
#include "keeper/place.h"
#include "keeper/server.h"
#include "sys/file.h"
#include "wire/handover.h"

namespace cloche::keeper {
namespace {

std::optional<unsigned> number(std::string_view text) {
  unsigned out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

int complain(const Error& error) {
  const std::string text = "cloche-keeper: " + error.text() + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return 125;
}

Result<Fd> stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "keeper", "no descriptor left");
  return Fd(fd);
}

// The socket's name goes with whoever listens, and so does that of an attendant which was killed. One that still is at
// a run listens no more without us.
struct Named {
  const Fd& directory;
  explicit Named(const Fd& where) : directory(where) {}
  ~Named() {
    ::unlinkat(directory.get(), wire::kAttendantSocket, 0);
    ::unlinkat(directory.get(), kSocketName, 0);
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;
};

bool say_ready() {
  ssize_t n;
  do {
    n = ::write(STDOUT_FILENO, "ready\n", 6);
  } while (n < 0 && errno == EINTR);
  return n > 0;
}

void forget_ignored_signals() {
  // What our starter ignored would be ignored here, and by every cell's init: a child's end would go unheard.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
}

Status listen(std::span<char*> words) {
  const auto blank = number(words[1]);
  const auto parked = number(words[2]);
  const auto idle = number(words[3]);
  if (!blank || !parked || !idle) return fail(ErrorCode::kInvalidInput, "keeper", "numbers were expected");
  CLOCHE_TRY_ASSIGN(const Fd stop, stop_signals());
  CLOCHE_TRY_ASSIGN(const Fd directory, open_directory(words[0], true));
  CLOCHE_TRY_ASSIGN(auto server, Server::make(probe_fast(), {{*blank, *parked}, std::chrono::seconds(*idle)}));
  CLOCHE_TRY_ASSIGN(Fd socket, listen_in(directory));
  const Named named{directory};
  CLOCHE_TRY(server->listen_on(std::move(socket)));
  CLOCHE_TRY(server->stop_on(stop.get()));
  if (*words[4] != '\0') server->employ(words[4], words[0]);
  // Whoever started us waits for the end of this pipe; from here on we belong to nobody's session.
  if (!say_ready()) return fail_errno(errno, "keeper", "it could not say that it is ready");
  ::setsid();
  (void)!::chdir("/");
  const auto null = sys::open_file("/dev/null", O_RDWR);
  if (null) {
    for (int fd = 0; fd < 3; ++fd) ::dup2(null->get(), fd);
  }
  return server->run();
}

Status serve(std::span<char*> words) {
  const auto fd = number(words[0]);
  const auto blank = number(words[1]);
  const auto parked = number(words[2]);
  if (!fd || !blank || !parked) return fail(ErrorCode::kInvalidInput, "keeper", "numbers were expected");
  CLOCHE_TRY_ASSIGN(const Fd stop, stop_signals());
  CLOCHE_TRY_ASSIGN(auto server, Server::make(probe_fast(), {{*blank, *parked}, {}}));
  CLOCHE_TRY(server->serve_only(Fd(static_cast<int>(*fd))));
  return server->run();
}

}  // namespace
}  // namespace cloche::keeper

int main(int argc, char** argv) {
  using namespace cloche::keeper;
  if (::getauxval(AT_SECURE) != 0) return 126;
  forget_ignored_signals();
  const std::span<char*> words(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  cloche::Status done = cloche::fail(cloche::ErrorCode::kInvalidInput, "keeper",
                                     "it is started by cloche only; use 'cloche keeper start'");
  const bool resident = words.size() == 6 && std::strcmp(words[0], "listen") == 0;
  cloche::Status fresh = resident ? begin_afresh() : cloche::Status();
  // Nothing of this user's other processes may look into it (CONTAINMENT 25).
  ::prctl(PR_SET_DUMPABLE, 0);
  if (resident) done = fresh ? listen(words.subspan(1)) : fresh;
  if (words.size() == 4 && std::strcmp(words[0], "serve") == 0) done = serve(words.subspan(1));
  return done ? 0 : complain(done.error());
}
