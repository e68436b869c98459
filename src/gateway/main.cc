// cloche-gateway: the way out of one cell. Started by the engine, with its control socket and nothing else.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "base/wipe.h"
#include "egress/message.h"
#include "gateway/confine.h"
#include "gateway/server.h"
#include "sys/channel.h"
#include "sys/turns.h"

namespace cloche::gateway {
namespace {

constexpr std::uint16_t kDnsPort = 53;

Result<std::string> read_memfd(int fd) {
  struct stat st{};
  if (::fstat(fd, &st) != 0 || st.st_size < 0 || static_cast<std::size_t>(st.st_size) > egress::kMaxSettings) {
    return fail(ErrorCode::kInternal, "gateway", "the settings are too large");
  }
  std::string bytes(static_cast<std::size_t>(st.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "gateway", "the settings cannot be read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

Result<egress::Settings> receive_settings(int control) {
  std::string bytes(sizeof(egress::Head) + egress::kMaxPayload, '\0');
  for (;;) {
    pollfd waiting{control, POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return fail_errno(errno, "gateway", "could not wait");
    CLOCHE_TRY_ASSIGN(auto received, sys::receive_bytes(control, bytes.data(), bytes.size()));
    if (!received) continue;
    const auto message = egress::unframe(std::string_view(bytes).substr(0, received->size));
    if (!message || message->head.kind != egress::Kind::kSettings || !received->fd.valid()) {
      return fail(ErrorCode::kInternal, "gateway", "the engine did not send settings");
    }
    CLOCHE_TRY_ASSIGN(std::string packed, read_memfd(received->fd.get()));
    auto settings = egress::decode_settings(packed);
    wipe(packed);
    return settings;
  }
}

// Every port that a rule names, also one that is granted later; and nameservers'.
Result<std::vector<std::uint16_t>> ports_of(const egress::Settings& settings) {
  constexpr std::size_t kMost = 4096;
  std::vector<std::string> texts;
  for (const egress::Rule& rule : settings.allow) texts.push_back(rule.text);
  CLOCHE_TRY_ASSIGN(const proto::RuleSet rules, proto::parse_rule_set(texts, {}));
  CLOCHE_TRY_ASSIGN(std::vector<std::uint16_t> ports, rules.ports(kMost));
  ports.push_back(kDnsPort);
  return ports;
}

Status run() {
  CLOCHE_TRY_ASSIGN(egress::Settings settings, receive_settings(egress::kControlFd));
  CLOCHE_TRY_ASSIGN(Vault vault, Vault::make(settings));
  CLOCHE_TRY_ASSIGN(const std::vector<std::uint16_t> ports, ports_of(settings));
  CLOCHE_TRY_ASSIGN(const std::unique_ptr<Loop> loop, Loop::make());
  const std::uint32_t uid = settings.uid;
  CLOCHE_TRY_ASSIGN(const std::unique_ptr<Server> server,
                    Server::make(*loop, egress::kControlFd, std::move(settings), std::move(vault)));
  sys::take_turns_of(std::chrono::milliseconds(20));
  CLOCHE_TRY(leave_host(uid));
  CLOCHE_TRY(lock_down(ports));
  return server->serve();
}

}  // namespace
}  // namespace cloche::gateway

int main() {
  ::signal(SIGPIPE, SIG_IGN);  // splice(2) cannot be told not to raise it
  struct stat st{};
  if (::fstat(cloche::egress::kControlFd, &st) != 0 || !S_ISSOCK(st.st_mode)) {
    std::fputs("cloche-gateway: is started by cloche, for a run with net.allow, sockets.allow or secrets\n", stderr);
    return 2;
  }
  const cloche::Status done = cloche::gateway::run();
  if (!done) {
    const std::string bytes = cloche::egress::frame({.kind = cloche::egress::Kind::kProblem}, done.error().text());
    (void)cloche::sys::send_bytes(cloche::egress::kControlFd, bytes.data(), bytes.size(), {});
  }
  ::_exit(done ? 0 : 1);
}
