#include "store/live.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

namespace cloche::store {
namespace {

constexpr const char* kStep = "control socket";
constexpr const char* kLive = "live";
constexpr std::string_view kSuffix = ".sock";
// Bound, but not yet listening: nobody is to take it for one that was left.
constexpr std::string_view kComing = ".new-";
constexpr std::time_t kComesWithin = 60;  // seconds
constexpr int kBacklog = 16;

std::string socket_name(std::string_view id) { return std::string(id) + std::string(kSuffix); }

// By the directory's descriptor: a state directory may lie deeper than an address has room for, and no link on the way
// to it counts.
Result<sockaddr_un> address_of(int live, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(live) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(ErrorCode::kInternal, kStep, "its name is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<Fd> new_socket() {
  Fd out(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.valid()) return fail_errno(errno, kStep, "could not be made");
  return out;
}

// 0, or errno.
int try_connect(int socket, int live, const std::string& name) {
  const auto address = address_of(live, name);
  if (!address) return ENAMETOOLONG;
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 ? 0 : errno;
}

// A name of ours that no process listens behind. What is no socket is not ours.
bool is_left(int live, const std::string& name) {
  struct stat st{};
  if (::fstatat(live, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode)) return false;
  if (name.starts_with(kComing) && ::time(nullptr) - st.st_ctime < kComesWithin) return false;
  const auto socket = new_socket();
  return socket && try_connect(socket->get(), live, name) == ECONNREFUSED;
}

Result<std::vector<std::string>> entries(int live) {
  const int fd = ::openat(live, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* list) { ::closedir(list); };
  const std::unique_ptr<DIR, decltype(close)> list(fd < 0 ? nullptr : ::fdopendir(fd), close);
  if (!list) return fail_errno(errno, kStep, "the directory of live runs could not be listed");
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(list.get())) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    if (name.starts_with(kComing)) name.remove_prefix(kComing.size());
    if (is_run_id(name) && out.size() < kMostRuns) out.emplace_back(entry->d_name);
  }
  std::ranges::sort(out);
  return out;
}

// Others may have opened it up since; what lies in it answers to its owner alone.
Status close_to_others(int directory) {
  struct stat st{};
  if (::fstat(directory, &st) == 0 && (st.st_mode & 077) == 0) return {};
  if (::fchmod(directory, 0700) != 0) return fail_errno(errno, kStep, "its directory could not be closed to others");
  return {};
}

}  // namespace

Result<Fd> open_live(const Place& place) { return open_beside_runs(place, kLive, Missing::kFail); }

Result<Fd> make_live(const Place& place) {
  CLOCHE_TRY_ASSIGN(Fd live, open_beside_runs(place, kLive, Missing::kMake));
  CLOCHE_TRY(close_to_others(live.get()));
  return live;
}

Result<Fd> listen_live(int live, const std::string& id) {
  if (!is_run_id(id)) return fail(ErrorCode::kInternal, kStep, "that is not the name of a run");
  const std::string coming = std::string(kComing) + socket_name(id);
  CLOCHE_TRY_ASSIGN(Fd socket, new_socket());
  CLOCHE_TRY_ASSIGN(const sockaddr_un address, address_of(live, coming));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno(errno, kStep, "could not be bound");
  }
  if (::fchmodat(live, coming.c_str(), 0600, 0) == 0 && ::listen(socket.get(), kBacklog) == 0 &&
      ::renameat(live, coming.c_str(), live, socket_name(id).c_str()) == 0) {
    return socket;
  }
  const int error = errno;
  ::unlinkat(live, coming.c_str(), 0);
  return fail_errno(error, kStep, "could not be opened");
}

Result<Fd> connect_live(int live, const std::string& id) {
  CLOCHE_TRY_ASSIGN(Fd socket, new_socket());
  const int error = try_connect(socket.get(), live, socket_name(id));
  if (error == 0) return socket;
  if (error == ECONNREFUSED && is_left(live, socket_name(id))) remove_live(live, id);
  if (error == ECONNREFUSED || error == ENOENT) return fail(ErrorCode::kNotFound, kStep, "nobody listens");
  return fail_errno(error, kStep, error == EAGAIN ? "too many ask this run at once" : "could not be reached",
                    error == EAGAIN ? "try again in a moment" : "");
}

void remove_live(int live, const std::string& id) { ::unlinkat(live, socket_name(id).c_str(), 0); }

Result<std::vector<std::string>> live_names(int live) {
  CLOCHE_TRY_ASSIGN(std::vector<std::string> names, entries(live));
  std::erase_if(names, [](const std::string& name) { return name.starts_with(kComing); });
  for (std::string& name : names) name.resize(name.size() - kSuffix.size());
  return names;
}

std::size_t sweep_live(int live) {
  const auto names = entries(live);
  if (!names) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      *names, [&](const std::string& name) { return is_left(live, name) && ::unlinkat(live, name.c_str(), 0) == 0; }));
}

void sweep_live(const Place& place) {
  if (const auto live = open_live(place)) sweep_live(live->get());
}

}  // namespace cloche::store
