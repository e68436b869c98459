#include "observe/host_look.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "base/octal.h"
#include "plan/guest_uid.h"
#include "sys/file.h"
#include "sys/local_socket.h"

namespace cloche {
namespace {

constexpr std::size_t kMostLooks = 1024;
constexpr std::chrono::milliseconds kLongest{100};
constexpr int kMostLinks = 40;
constexpr std::size_t kMostMounts = std::size_t{4} << 20;

// That answer by themselves, without a daemon or a server.
constexpr auto kOwnKinds = std::to_array<std::string_view>(
    {"bcachefs", "bpf",        "btrfs",    "cgroup", "cgroup2", "configfs", "debugfs", "devpts",    "devtmpfs",
     "efivarfs", "erofs",      "exfat",    "ext2",   "ext3",    "ext4",     "f2fs",    "hugetlbfs", "iso9660",
     "jfs",      "mqueue",     "nsfs",     "ntfs3",  "overlay", "proc",     "pstore",  "ramfs",     "reiserfs",
     "rootfs",   "securityfs", "squashfs", "sysfs",  "tmpfs",   "tracefs",  "vfat",    "xfs",       "zfs"});

int access_mode(observe::Right right) {
  switch (right) {
    case observe::Right::kRead:
      return R_OK;
    case observe::Right::kWrite:
      return W_OK;
    case observe::Right::kExecute:
      break;
  }
  return X_OK;
}

// To whoever neither owns it nor is of its group. What a guest made is a guest's.
bool is_closed(const struct stat& st, observe::Right right) {
  if (st.st_uid >= kGuestUidBase) return false;
  const mode_t needed = right == observe::Right::kRead ? S_IROTH : right == observe::Right::kWrite ? S_IWOTH : S_IXOTH;
  const mode_t whole = S_ISDIR(st.st_mode) ? needed | S_IXOTH : needed;
  return (st.st_mode & whole) != whole;
}

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (std::ranges::find(list, name) == list.end()) list.push_back(name);
}

// The text before the mark, which is taken out with it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

std::optional<std::string> target_of(const Fd& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlinkat(link.get(), "", text.data(), text.size());
  if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// Only what lies in a store is the same after it was read. In the kernel's own file systems (trace_pipe, kmsg) reading
// takes away, or does something, though such files call themselves regular.
bool keeps_files(const Fd& place) {
  constexpr auto kStores = std::to_array<std::uint32_t>({
      0xca451a4e,  // bcachefs
      0x9123683e,  // btrfs
      0xe0f5e1e2,  // erofs
      0x2011bab0,  // exfat
      0xef53,      // ext2, ext3, ext4
      0xf2f52010,  // f2fs
      0x9660,      // iso9660
      0x3153464a,  // jfs
      0x7366746e,  // ntfs3
      0x794c7630,  // overlay
      0x858458f6,  // ramfs
      0x52654973,  // reiserfs
      0x73717368,  // squashfs
      0x01021994,  // tmpfs
      0x4d44,      // vfat
      0x58465342,  // xfs
      0x2fc12fc1,  // zfs
  });
  struct statfs system{};
  return ::fstatfs(place.get(), &system) == 0 &&
         std::ranges::find(kStores, static_cast<std::uint32_t>(system.f_type)) != kStores.end();
}

// Nothing of what is no regular file of a store.
std::string head_of(const Fd& place) {
  struct stat st{};
  if (::fstat(place.get(), &st) != 0 || !S_ISREG(st.st_mode) || !keeps_files(place)) return {};
  const Fd file(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 256> bytes{};  // as many as the kernel reads of a program
  const ssize_t size = file.valid() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// Empty for anything but a script.
std::string interpreter_in(std::string_view head) {
  const std::size_t begin = head.starts_with("#!") ? head.find_first_not_of(" \t", 2) : head.npos;
  if (begin == head.npos) return {};
  return std::string(head.substr(begin, head.find_first_of(" \t\r\n", begin) - begin));
}

}  // namespace

HostLook::HostLook(std::string_view mounts) : known_(!mounts.empty()), until_(Clock::now() + kLongest) {
  while (!mounts.empty()) {
    // id parent major:minor root POINT options … - KIND source options
    std::string_view line = cut(mounts, '\n');
    std::string_view point;
    for (int i = 0; i < 5; ++i) point = cut(line, ' ');
    while (!line.empty() && cut(line, ' ') != "-") {
    }
    const std::string_view kind = cut(line, ' ');
    if (std::ranges::find(kOwnKinds, kind) == kOwnKinds.end()) elsewhere_.push_back(unescape_octal(point));
  }
}

HostLook HostLook::of_this_host() {
  const auto text = sys::read_file("/proc/self/mountinfo", kMostMounts);
  return HostLook(text ? *text : std::string());
}

bool HostLook::is_known_to_be_missing(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS;
  const Fd found(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  return !found.valid() && (errno == ENOENT || errno == ENOTDIR);
}

bool HostLook::is_elsewhere(const std::string& path) const {
  return !known_ || std::ranges::find(elsewhere_, path) != elsewhere_.end();
}

bool HostLook::lies_elsewhere(const std::string& path) const {
  if (!known_) return true;
  return std::ranges::any_of(elsewhere_, [&](const std::string& point) {
    return point == "/" || path == point || path.starts_with(point + "/");
  });
}

bool HostLook::reaches_elsewhere(const std::string& path) const {
  const std::string below = path.ends_with('/') ? path : path + "/";
  return lies_elsewhere(path) ||
         std::ranges::any_of(elsewhere_, [&](const std::string& point) { return point.starts_with(below); });
}

// Component by component. Opened as a mere place, a directory that waits to be mounted is not mounted.
std::optional<Fd> HostLook::follow(std::string path, observe::HostPath& out) const {
  int links = 0;
  if (is_elsewhere("/")) return std::nullopt;
  Fd place(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> way;  // names of what is real
  std::size_t at = 0;
  while (place.valid() && at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    const std::string rest = at < path.size() ? path.substr(at) : std::string();
    if (name == "..") {
      // From the top again: what is above a directory is not asked of the directory.
      if (!way.empty()) way.pop_back();
    } else {
      const std::string there = fmt::format("{}/{}", fmt::join(way, "/"), name);
      const std::string whole = there.starts_with('/') ? there : "/" + there;
      if (is_elsewhere(whole)) return std::nullopt;
      Fd next(::openat(place.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat st{};
      if (!next.valid() || ::fstat(next.get(), &st) != 0) return std::nullopt;
      if (!S_ISLNK(st.st_mode)) {
        if (!rest.empty() && is_closed(st, observe::Right::kExecute)) add_once(out.closed, whole);
        place = std::move(next);
        way.push_back(name);
        continue;
      }
      const auto target = target_of(next);
      if (!target || ++links > kMostLinks || whole.starts_with("/proc/")) return std::nullopt;
      out.links.push_back(fmt::format("/{}", fmt::join(way, "/")));
      const std::string base = target->starts_with('/') ? "" : fmt::format("/{}/", fmt::join(way, "/"));
      path = base + *target + "/" + rest;
      way.clear();
      at = 0;
      place = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
      continue;
    }
    path = fmt::format("/{}/{}", fmt::join(way, "/"), rest);
    way.clear();
    at = 0;
    if (++links > kMostLinks * 4) return std::nullopt;
    place = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (!place.valid()) return std::nullopt;
  out.real = fmt::format("/{}", fmt::join(way, "/"));
  return place;
}

std::optional<observe::HostPath> HostLook::look(const std::string& path, observe::Right right) {
  if (++looks_ > kMostLooks || Clock::now() > until_) {
    left_out_.insert(path);
    return std::nullopt;
  }
  observe::HostPath out;
  const auto found = follow(path, out);
  struct stat st{};
  if (!found || ::fstat(found->get(), &st) != 0) return std::nullopt;
  out.directory = S_ISDIR(st.st_mode);
  out.socket = S_ISSOCK(st.st_mode);
  out.regular = S_ISREG(st.st_mode);
  out.datagrams = out.socket && sys::takes_datagrams(found->get());
  if (is_closed(st, right)) add_once(out.closed, out.real);
  const std::string link = fmt::format("/proc/self/fd/{}", found->get());
  out.allowed = ::faccessat(AT_FDCWD, link.c_str(), access_mode(right), AT_EACCESS) == 0;
  if (right == observe::Right::kExecute) out.interpreter = interpreter_in(head_of(*found));
  return out;
}

std::string HostLook::head(const std::string& path) const {
  observe::HostPath out;
  const auto found = follow(path, out);
  return found ? head_of(*found) : std::string();
}

std::string HostLook::interpreter(const std::string& path) const { return interpreter_in(head(path)); }

}  // namespace cloche
