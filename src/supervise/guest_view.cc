#include "supervise/guest_view.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "filter/watch.h"
#include "supervise/readings.h"
#include "sys/access_list.h"

namespace cloche::guest_view {
namespace {

constexpr std::size_t kPage = 4096;

ssize_t read_memory(pid_t pid, std::uint64_t from, char* to, std::size_t size) {
  iovec local{to, size};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  iovec remote{reinterpret_cast<void*>(from), size};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string inet_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(v4.sin_port));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return fmt::format("[{}]:{}", text.data(), ntohs(v6.sin6_port));
}

Address unix_address(const sockaddr_storage& address, std::size_t size) {
  sockaddr_un local{};
  std::memcpy(&local, &address, std::min(size, sizeof local));
  if (size <= offsetof(sockaddr_un, sun_path)) return {};
  const std::size_t length = std::min(size, sizeof local) - offsetof(sockaddr_un, sun_path);
  if (local.sun_path[0] == '\0') return {observe::Family::kAbstract, "@" + std::string(local.sun_path + 1, length - 1)};
  return {observe::Family::kPath, std::string(local.sun_path, ::strnlen(local.sun_path, length))};
}

// The rest of the line that begins so.
std::string_view line_after(std::string_view text, std::string_view beginning) {
  const std::size_t at = text.find(beginning);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + beginning.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Its number in the innermost table of processes that it is in.
long own_number(pid_t pid) {
  const std::string status = read_start(fmt::format("/proc/{}/status", pid), kPage);
  const std::string_view numbers = line_after(status, "\nNSpid:");
  return std::atol(std::string(numbers.substr(numbers.rfind('\t') + 1)).c_str());
}

}  // namespace

std::string read_start(const std::string& path, std::size_t room) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out(file.valid() ? room : 0, '\0');
  std::size_t used = 0;
  while (used < out.size()) {
    const ssize_t got = ::read(file.get(), out.data() + used, out.size() - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  out.resize(used);
  return out;
}

std::optional<std::string> read_name(pid_t pid, std::uint64_t address) {
  std::string out;
  std::array<char, kPage> piece{};
  while (out.size() < PATH_MAX) {
    // Never beyond the page: the next one need not be there.
    const std::size_t room = std::min<std::size_t>(kPage - address % kPage, out.empty() ? 256 : kPage);
    const ssize_t got = read_memory(pid, address, piece.data(), room);
    if (got <= 0) return std::nullopt;
    const auto* end = static_cast<const char*>(std::memchr(piece.data(), 0, static_cast<std::size_t>(got)));
    if (end != nullptr) return out.append(piece.data(), static_cast<std::size_t>(end - piece.data()));
    out.append(piece.data(), static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
  }
  return std::nullopt;
}

std::optional<Address> read_address(pid_t pid, std::uint64_t address, std::uint64_t size) {
  sockaddr_storage out{};
  const std::size_t wanted = std::min<std::size_t>(size, sizeof out);
  if (wanted < sizeof out.ss_family) return std::nullopt;
  const ssize_t got = read_memory(pid, address, reinterpret_cast<char*>(&out), wanted);
  if (got < 0 || static_cast<std::size_t>(got) != wanted) return std::nullopt;
  if (out.ss_family == AF_UNIX) return unix_address(out, wanted);
  if (out.ss_family == AF_INET && wanted >= sizeof(sockaddr_in)) {
    return Address{observe::Family::kInet, inet_text(out)};
  }
  if (out.ss_family == AF_INET6 && wanted >= sizeof(sockaddr_in6) - sizeof(std::uint32_t)) {
    return Address{observe::Family::kInet, inet_text(out)};
  }
  return Address{};
}

std::vector<Place> read_receivers(pid_t pid, std::uint64_t header) {
  msghdr message{};
  if (read_memory(pid, header, reinterpret_cast<char*>(&message), sizeof message) != sizeof message) return {};
  if (message.msg_name == nullptr || message.msg_namelen == 0) return {};
  return {{reinterpret_cast<std::uint64_t>(message.msg_name), message.msg_namelen}};
}

std::vector<Place> read_receivers(pid_t pid, std::uint64_t headers, std::uint64_t count) {
  std::vector<Place> out;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kMostMessages); ++i) {
    std::ranges::copy(read_receivers(pid, headers + i * sizeof(mmsghdr)), std::back_inserter(out));
  }
  return out;
}

std::optional<std::string> starting_point(pid_t pid, int place) {
  const std::string link =
      place == AT_FDCWD ? fmt::format("/proc/{}/cwd", pid) : fmt::format("/proc/{}/fd/{}", pid, place);
  std::string path = read_link(link);
  if (!path.starts_with('/')) return std::nullopt;  // gone, no directory, or a pipe
  return path;
}

bool is_kept_by_mount(pid_t pid, int descriptor, Act act) {
  const std::string info = read_start(fmt::format("/proc/{}/fdinfo/{}", pid, descriptor), kPage);
  const auto flags = std::strtoull(std::string(line_after(info, "flags:\t")).c_str(), nullptr, 8);
  const bool useless = (flags & O_PATH) != 0 || (act == Act::kMap && (flags & O_ACCMODE) == O_WRONLY);
  const std::string_view id = line_after(info, "\nmnt_id:\t");
  if (id.empty() || useless) return false;
  constexpr std::size_t kMostMounts = std::size_t{256} << 10;
  // Not in the list is what came from outside, or has no place: memory of the guest's.
  const auto mounts = parse_mountinfo(read_start(fmt::format("/proc/{}/mountinfo", pid), kMostMounts));
  const auto mount = std::ranges::find(mounts, id, &MountReading::id);
  return mount != mounts.end() && mount->has(act == Act::kMap ? "noexec" : "ro");
}

std::uint64_t OpenFiles::of(pid_t pid) {
  const auto count = [this] {
    struct stat st{};
    return directory_.valid() && ::fstat(directory_.get(), &st) == 0 && st.st_size > 0
               ? static_cast<std::uint64_t>(st.st_size)
               : 0;
  };
  // Of a process that is gone the kernel counts none, also when another one has its number.
  if (const std::uint64_t known = pid == pid_ ? count() : 0; known > 0) return known;
  pid_ = pid;
  directory_ = Fd(::open(fmt::format("/proc/{}/fd", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return count();
}

std::string program_of(pid_t pid) {
  const std::string path = read_link(fmt::format("/proc/{}/exe", pid));
  return path.substr(path.rfind('/') + 1);
}

Fd root_of(pid_t pid) {
  return Fd(::open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Seen look(const Fd& root, const std::string& path, Patience patience, Links links) {
  if (!root.valid()) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | (links == Links::kAll ? 0 : O_NOFOLLOW);
  const auto open = [&](std::uint64_t resolve) {
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve;
    return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  };
  // Most names lead through no link, and are then what they say: where they end need not be asked.
  Fd found = open(RESOLVE_CACHED | RESOLVE_NO_SYMLINKS);
  bool straight = found.valid();
  if (!straight && errno == ELOOP) {
    found = open(RESOLVE_CACHED);
  } else if (!straight && errno == EAGAIN && patience == Patience::kWaits) {
    // Not by way of a link, which may lead to where it is not known how long an answer takes.
    found = open(RESOLVE_NO_SYMLINKS);
    straight = found.valid();
  }
  if (!found.valid()) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    return {missing ? observe::Presence::kMissing : observe::Presence::kUnknown, {}, false, 0, 0};
  }
  struct stat st{};
  const bool directory = ::fstat(found.get(), &st) == 0 && S_ISDIR(st.st_mode);
  std::string real = straight ? path : read_link(fmt::format("/proc/self/fd/{}", found.get()));
  return {observe::Presence::kThere, std::move(real), directory, st.st_uid, st.st_gid};
}

bool names_others(const Fd& root, const std::string& path, uid_t user, gid_t group) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  const Fd found(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  return found.valid() &&
         !sys::named_by_access_lists(fmt::format("/proc/self/fd/{}", found.get()), user, group).empty();
}

namespace {

// Of a link that is at hand; empty for anything else.
std::string target_of(const Fd& root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED;
  const Fd found(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  std::array<char, PATH_MAX> text{};
  const ssize_t size = found.valid() ? ::readlinkat(found.get(), "", text.data(), text.size()) : 0;
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

// The path with its first link followed; empty where it has none.
std::string without_first_link(const Fd& root, const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string start = path.substr(0, end);
    if (const std::string target = target_of(root, start); !target.empty()) {
      const std::string rest = end == std::string::npos ? "" : path.substr(end);
      return observe::absolute(start.substr(0, start.rfind('/')), target + rest);
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace

std::string leads_to(const Fd& root, std::string path) {
  constexpr int kMostLinks = 8;
  constexpr std::ptrdiff_t kDeepest = 32;
  std::string out;
  for (int links = 0; links < kMostLinks && root.valid() && std::ranges::count(path, '/') <= kDeepest; ++links) {
    path = without_first_link(root, path);
    if (path.empty()) return out;
    out = path;
  }
  return {};
}

bool may_know_process(pid_t pid, long target) {
  if (::access(fmt::format("/proc/{}/root/proc/{}", pid, target).c_str(), F_OK) == 0) return true;
  // Numbers rise: one not far above its own may have been a child that is gone.
  constexpr long kNear = 10'000;
  static_assert(kNear >= filter::kOwnNumbers, "of what is left out of the telling nothing could be told");
  if (target < own_number(pid) + kNear) return true;
  return !is_process(target);  // nor is there one outside
}

std::optional<Handle> handle_of(pid_t pid, int descriptor) {
  const std::string info = read_start(fmt::format("/proc/{}/fdinfo/{}", pid, descriptor), kPage);
  const long process = std::atol(std::string(line_after(info, "\nPid:")).c_str());
  if (process <= 0) return std::nullopt;
  const std::string_view numbers = line_after(info, "\nNSpid:");
  return Handle{process, std::ranges::count(numbers, '\t') > 1};
}

bool is_process(long target) { return ::access(fmt::format("/proc/{}", target).c_str(), F_OK) == 0; }

bool descends_from(long target, pid_t ancestor) {
  constexpr int kDeepest = 256;
  for (int depth = 0; depth < kDeepest && target > 1; ++depth) {
    if (target == ancestor) return true;
    const Fd stat(::open(fmt::format("/proc/{}/stat", target).c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    if (!stat.valid() || ::read(stat.get(), text.data(), text.size() - 1) <= 0) return false;
    // "pid (name) state ppid": the name may hold anything, also parentheses.
    const char* end = std::strrchr(text.data(), ')');
    if (end == nullptr || std::sscanf(end + 1, " %*c %ld", &target) != 1) return false;
  }
  return false;
}

}  // namespace cloche::guest_view
