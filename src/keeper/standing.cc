#include "keeper/standing.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/file.h"

namespace cloche::keeper {
namespace {

constexpr std::size_t kStatusLimit = 64 * 1024;

// Lines "name:value". Who asks in their order has each looked at once.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}
  std::string of(std::string_view name) {
    for (std::size_t at : {next_, std::size_t{0}}) {
      while (at < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at), text_.size());
        const std::string_view line = text_.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) continue;
        next_ = at;
        return std::string(line.substr(name.size() + 1));
      }
    }
    return {};
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
};

Result<std::string> link_of(const std::string& path) {
  char text[256];
  const ssize_t n = ::readlink(path.c_str(), text, sizeof text);
  if (n <= 0) return fail_errno(errno, "keeper", path + " could not be read");
  return std::string(text, static_cast<std::size_t>(n));
}

// Its link below /proc/PID/ns, what that begins with, and the number by which a handle on a process is asked for it
// (PIDFD_GET_…_NAMESPACE). Where its children are to be counts as well: a cell of its own would be there. Walls come
// first, what makes no difference to a run next, and the clock last.
struct Namespace {
  const char* link;
  const char* kind;
  unsigned number;
};
constexpr std::array<Namespace, 10> kNamespaces = {{{"mnt", "mnt", 3},
                                                    {"pid", "pid", 5},
                                                    {"user", "user", 9},
                                                    {"net", "net", 4},
                                                    {"pid_for_children", "pid", 6},
                                                    {"ipc", "ipc", 2},
                                                    {"uts", "uts", 10},
                                                    {"cgroup", "cgroup", 1},
                                                    {"time", "time", 7},
                                                    {"time_for_children", "time", 8}}};
constexpr std::size_t kWallsEnd = 4;
constexpr std::size_t kClockBegin = 8;
constexpr std::string_view kNone = "-";  // a kernel without namespaces of this kind
constexpr std::array<std::string_view, 8> kRights = {"Uid",    "Gid",        "Groups",  "CapEff",
                                                     "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters"};
constexpr std::string_view kLabel = "its security label";

// In the words of the links, and without them: below /proc the kernel has to make an entry for each, of each new
// process. Empty before Linux 6.11.
std::vector<std::string> namespaces_by(const Fd& handle, std::span<const Namespace> which) {
  constexpr unsigned kMagic = 0xff;
  std::vector<std::string> out;
  for (const Namespace& one : which) {
    const Fd place(::ioctl(handle.get(), _IO(kMagic, one.number), 0));
    struct stat st{};
    if (!place.valid() && errno == EOPNOTSUPP) {
      out.emplace_back(kNone);
    } else if (!place.valid() || ::fstat(place.get(), &st) != 0) {
      return {};
    } else {
      out.push_back(fmt::format("{}:[{}]", one.kind, st.st_ino));
    }
  }
  return out;
}

Result<std::vector<std::string>> namespaces_of(const std::string& proc, std::span<const Namespace> which) {
  std::vector<std::string> out;
  for (const Namespace& one : which) {
    auto link = link_of(proc + "ns/" + one.link);
    if (!link && link.error().errno_value != ENOENT) return std::unexpected(link.error());
    out.push_back(link ? std::move(*link) : std::string(kNone));
  }
  return out;
}

// `handle`: on the same process, if there is one.
Result<std::vector<std::string>> look_at_namespaces(const std::string& proc, const Fd& handle,
                                                    std::span<const Namespace> which) {
  if (handle.valid()) {
    if (auto out = namespaces_by(handle, which); !out.empty()) return out;
  }
  return namespaces_of(proc, which);
}

std::string proc_of(const std::string& process) { return "/proc/" + process + "/"; }

// What AppArmor or SELinux make of it; where there is neither, nobody has one, and the kernel says so.
constexpr std::string_view kNoLabels = "no labels";
Result<std::string> label_of(const std::string& proc) {
  auto out = sys::read_file(proc + "attr/current", kStatusLimit);
  if (!out && (out.error().errno_value == EINVAL || out.error().errno_value == ENOENT)) return std::string(kNoLabels);
  return out;
}

// Root and rights.
Result<Standing> look_at(const std::string& proc, bool labels) {
  Standing out;
  // By what it is: one on a mount that was taken away is called "/" as well.
  struct statx root{};
  if (::statx(AT_FDCWD, (proc + "root").c_str(), 0, STATX_INO | STATX_MNT_ID, &root) != 0) {
    return fail_errno(errno, "keeper", proc + "root could not be looked at");
  }
  // Where a filter hides the call, the C library makes do with another one, which knows no mounts.
  if ((root.stx_mask & STATX_MNT_ID) == 0) {
    return fail(ErrorCode::kRefused, "keeper", "the mount of " + proc + "root cannot be known",
                "statx(2) must be allowed");
  }
  out.root = fmt::format("{}:{} {} {}", root.stx_dev_major, root.stx_dev_minor, root.stx_ino, root.stx_mnt_id);
  CLOCHE_TRY_ASSIGN(const std::string status, sys::read_file(proc + "status", kStatusLimit));
  Fields fields(status);
  out.umask = fields.of("Umask");
  for (const std::string_view name : kRights) out.rights.push_back(fields.of(name));
  if (labels) {
    CLOCHE_TRY_ASSIGN(std::string label, label_of(proc));
    out.rights.push_back(std::move(label));
  }
  return out;
}

}  // namespace

Result<Standing> standing_of(const std::string& process) {
  CLOCHE_TRY_ASSIGN(Standing out, look_at(proc_of(process), true));
  CLOCHE_TRY_ASSIGN(out.namespaces, namespaces_of(proc_of(process), kNamespaces));
  return out;
}

// What Landlock keeps from a process no file tells. To enter it takes no_new_privs, which is compared, or
// CAP_SYS_ADMIN; and whoever has that and may load modules is kept by nothing.
bool can_tell_confined(const Standing& ours) {
  constexpr std::uint64_t kSysModule = 1ULL << 16;
  constexpr std::uint64_t kSysAdmin = 1ULL << 21;
  const auto right = [&](std::string_view name) {
    const std::string& text =
        ours.rights.at(static_cast<std::size_t>(std::ranges::find(kRights, name) - kRights.begin()));
    return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  const std::uint64_t capabilities = std::strtoull(right("CapEff").c_str(), nullptr, 16);
  return right("NoNewPrivs") == "0" && ((capabilities & kSysAdmin) == 0 || (capabilities & kSysModule) != 0);
}

namespace {

std::unexpected<Error> differs(std::string_view how) {
  return fail(ErrorCode::kRefused, "keeper", fmt::format("the other end {}", how));
}

Status same_namespaces(const Peer& peer, const Standing& ours, std::size_t begin, std::size_t end) {
  const std::span which(kNamespaces.data() + begin, end - begin);
  CLOCHE_TRY_ASSIGN(const auto theirs, look_at_namespaces(proc_of(std::to_string(peer.pid())), peer.handle(), which));
  for (std::size_t i = 0; i < which.size(); ++i) {
    if (ours.namespaces.at(begin + i) != theirs.at(i)) return differs(fmt::format("has another {}", which[i].link));
  }
  return {};
}

Status same_rights(const Standing& theirs, const Standing& ours) {
  if (ours.root != theirs.root) return differs("has another root");
  for (std::size_t i = 0; i < theirs.rights.size(); ++i) {
    if (ours.rights.at(i) != theirs.rights.at(i)) {
      return differs(fmt::format("differs in {}", i < kRights.size() ? kRights.at(i) : kLabel));
    }
  }
  return {};
}

}  // namespace

Result<Standing> same_standing(const Peer& peer, const Standing& ours, Look look) {
  if (peer.uid() != ::geteuid()) {
    return fail(ErrorCode::kRefused, "keeper", fmt::format("the other end is user {}", peer.uid()),
                "a keeper serves its own user only");
  }
  Standing theirs;
  const bool walls = look != Look::kClock;
  CLOCHE_TRY(
      same_namespaces(peer, ours, walls ? 0 : kClockBegin, look == Look::kWalls ? kWallsEnd : kNamespaces.size()));
  if (walls) {
    CLOCHE_TRY_ASSIGN(theirs, look_at(proc_of(std::to_string(peer.pid())), ours.rights.back() != kNoLabels));
    CLOCHE_TRY(same_rights(theirs, ours));
  }
  // Afterwards: as long as it lives, what was seen by its number was seen of it.
  if (!peer.lives()) return fail(ErrorCode::kRefused, "keeper", "whoever was at the other end is gone");
  return theirs;
}

}  // namespace cloche::keeper
