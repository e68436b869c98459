#include "keeper/place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include <fmt/format.h>

#include "keeper/peer.h"
#include "wire/handover.h"
#include "wire/walls.h"

extern "C" char** environ;

namespace cloche::keeper {
namespace {

// By descriptor: the directory that was checked is the one that is used, whatever its name leads to by now.
sockaddr_un address_in(const Fd& directory, const char* name = kSocketName) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + "/" + name;
  path.copy(out.sun_path, sizeof out.sun_path - 1);
  return out;
}

Result<Fd> make_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "keeper", "could not make a socket");
  return Fd(fd);
}

std::unexpected<Error> nobody_here(int error) {
  return std::unexpected(
      Error{ErrorCode::kNotFound, "keeper", error, "no keeper runs here", "'cloche keeper start' starts one"});
}

// In place of whatever has the name.
Result<Fd> listen_as(const Fd& directory, const char* name) {
  ::unlinkat(directory.get(), name, 0);
  CLOCHE_TRY_ASSIGN(Fd socket, make_socket());
  const sockaddr_un address = address_in(directory, name);
  constexpr int kWaiting = 64;
  // Who speaks is told with each message: it must be who connected.
  constexpr int kOn = 1;
  // The mode before it has a name, which could be another's by the time that it is changed.
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) != 0 || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno(errno, "keeper", "could not listen");
  }
  if (::listen(socket.get(), kWaiting) != 0) {
    const int error = errno;
    ::unlinkat(directory.get(), name, 0);
    return fail_errno(error, "keeper", "could not listen");
  }
  return socket;
}

}  // namespace

std::string default_directory() {
  char path[PATH_MAX];
  // One that long would not be found by anybody.
  return wire::keeper_directory(environ, ::geteuid(), path, sizeof path) ? path : "/nonexistent";
}

Result<Fd> open_directory(const std::string& path, bool make) {
  if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "keeper", "the directory " + path + " could not be made",
                      "set XDG_RUNTIME_DIR or CLOCHE_KEEPER_DIR to a directory of your own");
  }
  const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return nobody_here(ENOENT);
    return fail_errno(errno, "keeper", "the directory " + path + " could not be opened");
  }
  Fd directory(fd);
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, "keeper", path + " could not be inspected");
  if (st.st_uid != ::geteuid() || (st.st_mode & 077) != 0) {
    return fail(ErrorCode::kRefused, "keeper", path + " is not this user's own, or open to others",
                "remove it, or name another with CLOCHE_KEEPER_DIR");
  }
  return directory;
}

Result<Fd> connect_in(const Fd& directory) {
  CLOCHE_TRY_ASSIGN(Fd socket, make_socket());
  // One that is stopped, with a full queue, must not hold us.
  constexpr timeval kPatience{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const sockaddr_un address = address_in(directory);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return nobody_here(errno);
  }
  CLOCHE_TRY_ASSIGN(const Peer listener, Peer::of(socket));
  if (listener.uid() != ::geteuid()) {
    return fail(ErrorCode::kRefused, "keeper", fmt::format("the keeper there is user {}'s", listener.uid()),
                "an engine uses its own user's only");
  }
  return socket;
}

Result<Fd> listen_in(const Fd& directory) {
  // One at a time: between bind and listen a socket looks like one that nobody listens on any more.
  const Fd turn(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!turn.valid() || ::flock(turn.get(), LOCK_EX) != 0) return fail_errno(errno, "keeper", "could not be locked");
  if (connect_in(directory)) {
    return fail(ErrorCode::kRefused, "keeper", "one is running already", "'cloche keeper stop' ends it");
  }
  return listen_as(directory, kSocketName);
}

Result<Fd> listen_as_attendant(const Fd& directory) { return listen_as(directory, wire::kAttendantSocket); }

std::string identity_of(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return "-";
  return fmt::format("{}:{}:{}.{}", st.st_dev, st.st_ino, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

Status check_listener(const Fd& socket) {
  CLOCHE_TRY_ASSIGN(const Peer listener, Peer::of(socket));
  if (wire::same_walls(static_cast<std::uint32_t>(listener.pid())) && listener.lives()) return {};
  if (::access(fmt::format("/proc/{}/status", listener.pid()).c_str(), R_OK) != 0 && listener.lives()) {
    return fail(ErrorCode::kRefused, "keeper",
                "/proc does not show this user the keeper, so nobody could tell whose it is",
                "mount /proc of this pid namespace, and without hidepid");
  }
  return fail(ErrorCode::kRefused, "keeper",
              "whoever listens as the keeper has other rights or other walls than this process",
              "end it, or name another directory with CLOCHE_KEEPER_DIR");
}

}  // namespace cloche::keeper
