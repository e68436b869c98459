#include "keeper/place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sys/file.h"
#include "wire/handover.h"

extern "C" char** environ;

namespace cloche::keeper {
namespace {

constexpr std::size_t kStatusLimit = 64 * 1024;

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

Result<ucred> peer_of(const Fd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail_errno(errno, "keeper", "the other end's credentials could not be read");
  return peer;
}

std::unexpected<Error> nobody_here(int error) {
  return std::unexpected(
      Error{ErrorCode::kNotFound, "keeper", error, "no keeper runs here", "'cloche keeper start' starts one"});
}

std::string field(const std::string& status, std::string_view name) {
  const std::size_t at = status.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 2;
  return status.substr(begin, status.find('\n', begin) - begin);
}

Result<std::string> link_of(const std::string& path) {
  char text[256];
  const ssize_t n = ::readlink(path.c_str(), text, sizeof text);
  if (n <= 0) return fail_errno(errno, "keeper", path + " could not be read");
  return std::string(text, static_cast<std::size_t>(n));
}

// In place of whatever has the name.
Result<Fd> listen_as(const Fd& directory, const char* name) {
  ::unlinkat(directory.get(), name, 0);
  CLOCHE_TRY_ASSIGN(Fd socket, make_socket());
  const sockaddr_un address = address_in(directory, name);
  constexpr int kWaiting = 64;
  // Before it has a name, which could be another's by the time that it is changed.
  if (::fchmod(socket.get(), 0600) != 0 ||
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
  CLOCHE_TRY(check_same_user(socket));
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

Result<Fd> listen_as_attendant(const Fd& directory) {
  CLOCHE_TRY_ASSIGN(Fd socket, listen_as(directory, wire::kAttendantSocket));
  // Who speaks is told with each message: it must be who connected.
  constexpr int kOn = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) != 0) {
    return fail_errno(errno, "attendant", "could not listen");
  }
  return socket;
}

std::string identity_of(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return "-";
  return fmt::format("{}:{}:{}.{}", st.st_dev, st.st_ino, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

Status check_same_user(const Fd& socket) {
  CLOCHE_TRY_ASSIGN(const ucred peer, peer_of(socket));
  if (peer.uid == ::geteuid()) return {};
  return fail(ErrorCode::kRefused, "keeper", "the other end is user " + std::to_string(peer.uid),
              "a keeper serves its own user only");
}

namespace {

// Its link below /proc/PID/ns, and the number by which a handle on a process is asked for it (PIDFD_GET_…_NAMESPACE).
struct Namespace {
  const char* name;
  unsigned number;
};
constexpr std::array<Namespace, 7> kNamespaces = {
    {{"mnt", 3}, {"pid", 5}, {"user", 9}, {"net", 4}, {"ipc", 2}, {"uts", 10}, {"cgroup", 1}}};
constexpr std::array<std::string_view, 8> kRights = {"Uid",     "Gid",             "Groups", "NoNewPrivs",
                                                     "Seccomp", "Seccomp_filters", "CapEff", "CapBnd"};
constexpr std::string_view kLabel = "its security label";

// In the words of the links, and without them: below /proc the kernel has to make an entry for each, of each new process.
// Empty before Linux 6.11.
std::vector<std::string> namespaces_by(const Fd& handle) {
  constexpr unsigned kMagic = 0xff;
  std::vector<std::string> out;
  for (const Namespace& one : kNamespaces) {
    const Fd place(::ioctl(handle.get(), _IO(kMagic, one.number), 0));
    struct stat st{};
    if (!place.valid() || ::fstat(place.get(), &st) != 0) return {};
    out.push_back(fmt::format("{}:[{}]", one.name, st.st_ino));
  }
  return out;
}

Result<std::vector<std::string>> namespaces_of(const std::string& proc) {
  std::vector<std::string> out;
  for (const Namespace& one : kNamespaces) {
    CLOCHE_TRY_ASSIGN(std::string link, link_of(proc + "ns/" + one.name));
    out.push_back(std::move(link));
  }
  return out;
}

// On whoever is at the other end; not valid before Linux 6.5.
Fd handle_of(const Fd& socket) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD
  int handle = -1;
  socklen_t size = sizeof handle;
  return Fd(::getsockopt(socket.get(), SOL_SOCKET, kPeerPidfd, &handle, &size) == 0 ? handle : -1);
}

// `handle`: on the same process, if there is one.
Result<Standing> look_at(const std::string& process, const Fd& handle) {
  const std::string proc = "/proc/" + process + "/";
  Standing out;
  if (handle.valid()) out.places = namespaces_by(handle);
  if (out.places.empty()) {
    CLOCHE_TRY_ASSIGN(out.places, namespaces_of(proc));
  }
  // By what it is: one on a mount that was taken away is called "/" as well.
  struct statx root{};
  if (::statx(AT_FDCWD, (proc + "root").c_str(), 0, STATX_INO | STATX_MNT_ID, &root) != 0) {
    return fail_errno(errno, "keeper", proc + "root could not be looked at");
  }
  out.places.push_back(
      fmt::format("{}:{} {} {}", root.stx_dev_major, root.stx_dev_minor, root.stx_ino, root.stx_mnt_id));
  CLOCHE_TRY_ASSIGN(const std::string status, sys::read_file(proc + "status", kStatusLimit));
  for (const std::string_view name : kRights) out.rights.emplace_back(field(status, name));
  // What AppArmor or SELinux make of it; nothing where there is neither.
  out.rights.push_back(sys::read_file(proc + "attr/current", kStatusLimit).value_or(std::string()));
  out.umask = field(status, "Umask");
  return out;
}

}  // namespace

Result<Standing> standing_of(const std::string& process) { return look_at(process, Fd()); }

// What Landlock keeps from a process no file tells. To enter it takes no_new_privs, which is compared, or CAP_SYS_ADMIN; and
// whoever has that and may load modules is kept by nothing.
bool can_tell_confined(const Standing& ours) {
  constexpr std::uint64_t kSysModule = 1ULL << 16;
  constexpr std::uint64_t kSysAdmin = 1ULL << 21;
  const auto right = [&](std::string_view name) {
    const std::string& text = ours.rights.at(static_cast<std::size_t>(std::ranges::find(kRights, name) - kRights.begin()));
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  const std::uint64_t capabilities = std::strtoull(right("CapEff").c_str(), nullptr, 16);
  return right("NoNewPrivs") == "0" && ((capabilities & kSysAdmin) == 0 || (capabilities & kSysModule) != 0);
}

Result<Standing> same_standing(const Fd& socket, const Standing& ours) {
  CLOCHE_TRY(check_same_user(socket));
  CLOCHE_TRY_ASSIGN(const ucred peer, peer_of(socket));
  CLOCHE_TRY_ASSIGN(Standing theirs, look_at(std::to_string(peer.pid), handle_of(socket)));
  for (std::size_t i = 0; i <= kNamespaces.size(); ++i) {
    if (ours.places.at(i) != theirs.places.at(i)) {
      return fail(ErrorCode::kRefused, "keeper",
                  fmt::format("the other end has another {}", i < kNamespaces.size() ? kNamespaces.at(i).name : "root"));
    }
  }
  for (std::size_t i = 0; i <= kRights.size(); ++i) {
    if (ours.rights.at(i) != theirs.rights[i]) {
      return fail(ErrorCode::kRefused, "keeper",
                  fmt::format("the other end differs in {}", i < kRights.size() ? kRights[i] : kLabel));
    }
  }
  return theirs;
}

}  // namespace cloche::keeper
