#include "launch/gateway.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/wipe.h"
#include "egress/message.h"
#include "launch/id_map.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "wire/wire.h"

namespace cloche {
namespace {

constexpr Millis kPatience{10'000};
constexpr rlim_t kOpenFiles = 8192;  // two for each connection, and those that wait
constexpr const char* kStep = "gateway";

Result<Fd> seal(const std::string& bytes) {
  const int fd = ::memfd_create("cloche-gateway", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return fail_errno(errno, kStep, "no memory for its settings");
  Fd owner(fd);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, kStep, "no memory for its settings");
    done += static_cast<std::size_t>(n);
  }
  constexpr int kAll = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(fd, F_ADD_SEALS, kAll) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) {
    return fail_errno(errno, kStep, "its settings could not be sealed");
  }
  return owner;
}

// The exec is told of a moment before the kernel hands the new process's files in /proc to its owner: what an ordinary
// user is refused at first is tried again.
Status write_first(const std::string& path, const std::string& text) {
  constexpr Millis kSoon{2'000};
  constexpr timespec kPause{0, 100'000};
  const auto deadline = Clock::now() + kSoon;
  for (;;) {
    Status written = sys::write_checked(path, text, PROC_SUPER_MAGIC);
    if (written || written.error().errno_value != EACCES || Clock::now() >= deadline) return written;
    ::nanosleep(&kPause, nullptr);
  }
}

// One uid and one gid, under the same number inside. Root's gateway may drop groups; for an ordinary user the kernel
// wants that forbidden.
Status write_maps(pid_t pid, const GatewayIdentity& identity) {
  const std::string proc = "/proc/" + std::to_string(pid);
  const auto line = [](std::uint32_t id) { return std::to_string(id) + " " + std::to_string(id) + " 1\n"; };
  if (!identity.own_uid) CLOCHE_TRY(write_first(proc + "/setgroups", "deny"));
  CLOCHE_TRY(write_first(proc + "/gid_map", line(identity.gid)));
  return sys::write_checked(proc + "/uid_map", line(identity.uid), PROC_SUPER_MAGIC);
}

Status limit(pid_t pid) {
  struct Cap {
    int resource;
    rlim_t most;
  };
  constexpr Cap kCaps[] = {
      {RLIMIT_NOFILE, kOpenFiles},
      {RLIMIT_CORE, 1},  // it holds secrets; 1, because a piped core_pattern ignores 0
      {RLIMIT_FSIZE, 0},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
#if !defined(__SANITIZE_ADDRESS__)
      {RLIMIT_DATA, rlim_t{1} << 30},
#endif
  };
  for (const Cap& cap : kCaps) {
    rlimit now{};
    if (::prlimit(pid, static_cast<__rlimit_resource>(cap.resource), nullptr, &now) != 0) {
      return fail_errno(errno, kStep, "its limits could not be read");
    }
    const rlim_t most = std::min(cap.most, now.rlim_max);
    const rlimit wanted{most, most};
    if (::prlimit(pid, static_cast<__rlimit_resource>(cap.resource), &wanted, nullptr) != 0) {
      return fail_errno(errno, kStep, "its limits could not be set");
    }
  }
  return {};
}

Error ended_early() {
  return {ErrorCode::kSystem, kStep, 0, "the gateway ended before it was ready",
          "reinstall Cloche: cloche-gateway must be of the same version"};
}

Status send_settings(const Fd& control, egress::Settings& settings) {
  std::string bytes = encode(settings);
  auto memfd = bytes.size() <= egress::kMaxSettings
                   ? seal(bytes)
                   : fail(ErrorCode::kInvalidInput, kStep, "rules and certificates are more than it can take");
  wipe(bytes);
  if (!memfd) return std::unexpected(memfd.error());
  const std::string message = egress::frame({.kind = egress::Kind::kSettings});
  return sys::send_bytes(control.get(), message.data(), message.size(), {memfd->get()});
}

// Its first word: that it is confined, or why not.
Result<egress::Confined> await_confined(Spawned& process) {
  const auto deadline = Clock::now() + kPatience;
  std::string bytes(sizeof(egress::Head) + egress::kMaxPayload + 1, '\0');
  for (;;) {
    const auto left = std::chrono::duration_cast<Millis>(deadline - Clock::now()).count();
    if (left <= 0)
      return fail(ErrorCode::kSystem, kStep, "the gateway was not ready in time",
                  "the host may be overloaded: try again");
    pollfd ready{process.control.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left)) < 0 && errno != EINTR) return fail_errno(errno, kStep, "poll failed");
    CLOCHE_TRY_ASSIGN(std::optional<sys::Received> received,
                      sys::receive_bytes(process.control.get(), bytes.data(), bytes.size()));
    if (!received) continue;
    if (received->size == 0) return std::unexpected(ended_early());
    // The few instructions before its exec speak as an init's would.
    if (received->size == sizeof(wire::Message)) {
      wire::Message told{};
      std::memcpy(&told, bytes.data(), sizeof told);
      if (told.kind == wire::MessageKind::kFailed) {
        return fail_errno(told.error, kStep, "cloche-gateway could not be started",
                          "reinstall Cloche: cloche-gateway must be executable for everybody");
      }
    }
    const auto framed = egress::unframe(std::string_view(bytes).substr(0, received->size));
    if (framed && framed->head.kind == egress::Kind::kProblem) {
      return fail(ErrorCode::kSystem, kStep, std::string(framed->payload));
    }
    auto confined = framed ? egress::decode_confined(framed->payload) : std::nullopt;
    if (!confined || framed->head.kind != egress::Kind::kConfined || received->sender != process.pid) {
      return fail(ErrorCode::kSystem, kStep, "the gateway says what was not asked for",
                  "reinstall Cloche: cloche-gateway must be of the same version");
    }
    return std::move(*confined);
  }
}

bool has_ended(const Spawned& process) {
  pollfd ended{process.pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

Result<Gateway> start(const std::string& program, const GatewayIdentity& identity, egress::Settings& settings) {
  if (::access(program.c_str(), X_OK) != 0) {
    return std::unexpected(Error{ErrorCode::kRefused, kStep, errno, program + " cannot be executed",
                                 "reinstall Cloche: cloche-gateway belongs beside cloche-init"});
  }
  CLOCHE_TRY_ASSIGN(const Fd nothing, sys::open_file("/dev/null", O_RDWR));
  SpawnSpec spec;
  spec.namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  spec.argv = {"cloche-gateway"};
  spec.init_path = program;
  spec.drop_groups = identity.own_uid;
  spec.stdio_fd = nothing.get();
  spec.own_session = true;
  // Until its exec it has the memory of an engine that is not dumpable, and an ordinary user could not write its maps.
  spec.await_exec = true;
  Gateway out;
  CLOCHE_TRY_ASSIGN(out.process, spawn(spec));
  out.process.memory.reset();
  out.process.stack = ChildStack();
  GatewayIdentity own = identity;
  if (own.own_uid) own.uid = own.gid = kGuestUidBase + static_cast<std::uint32_t>(out.process.pid);
  out.uid = own.uid;
  settings.uid = own.own_uid ? own.uid : 0;
  Status ready = limit(out.process.pid);
  if (ready) ready = write_maps(out.process.pid, own);
  if (ready) ready = send_settings(out.process.control, settings);
  // Of one that is gone, its last word says more than what could not be done to it.
  if (!ready && ready.error().errno_value != EPIPE && !has_ended(out.process)) {
    return std::unexpected(ready.error());
  }
  CLOCHE_TRY_ASSIGN(egress::Confined said, await_confined(out.process));
  out.authority = std::move(said.authority);
  out.limits = said.limits;
  return out;
}

}  // namespace

std::string gateway_beside(const std::string& init_path) {
  return init_path.substr(0, init_path.rfind('/') + 1) + "cloche-gateway";
}

void wipe_values(egress::Settings& settings) {
  for (egress::Secret& secret : settings.secrets) wipe(secret.value);
}

Result<Gateway> start_gateway(const std::string& program, const GatewayIdentity& identity, egress::Settings settings) {
  auto started = start(program, identity, settings);
  wipe_values(settings);
  return started;
}

}  // namespace cloche
