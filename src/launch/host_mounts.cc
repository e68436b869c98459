#include "launch/host_mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "launch/id_map.h"
#include "launch/spawn.h"
#include "sys/file.h"

namespace cloche {
namespace {

constexpr long kSysOpenTree = 428;
constexpr long kSysMountSetattr = 442;
constexpr unsigned kClone = 1;
constexpr unsigned kAtRecursive = 0x8000;
constexpr std::uint64_t kAttrIdmap = 0x00100000;

struct MountAttr {
  std::uint64_t set, clear, propagation, userns_fd;
};

using Owner = std::pair<uid_t, gid_t>;

}  // namespace

Result<std::vector<Fd>> clone_host_mounts(const std::vector<HostMount>& mounts, std::uint32_t guest_uid) {
  std::vector<Fd> out;
  std::map<Owner, Fd> namespaces;  // whose only purpose are their maps
  for (const HostMount& mount : mounts) {
    const std::string step = "grant " + mount.path;
    CLOCHE_TRY_ASSIGN(Fd place, sys::open_without_symlinks(mount.path));
    struct stat st{};
    if (::fstat(place.get(), &st) != 0) return fail_errno(errno, step, "the granted path cannot be inspected");
    int tree =
        static_cast<int>(::syscall(kSysOpenTree, place.get(), "", kClone | O_CLOEXEC | kAtRecursive | AT_EMPTY_PATH));
    if (tree < 0) return fail_errno(errno, step, "the granted path cannot be mounted");
    Fd owner_fd(tree);
    const Owner owner{st.st_uid, st.st_gid};
    if (!namespaces.contains(owner)) {
      CLOCHE_TRY_ASSIGN(Fd map, make_user_namespace({owner.first, owner.second, guest_uid, guest_uid}));
      namespaces.emplace(owner, std::move(map));
    }
    MountAttr attr{kAttrIdmap, 0, 0, static_cast<std::uint64_t>(namespaces.at(owner).get())};
    if (::syscall(kSysMountSetattr, tree, "", AT_EMPTY_PATH | kAtRecursive, &attr, sizeof attr) != 0) {
      // Reading what everybody may read needs no mapping; writing would leave the guest's uid on the host's disk.
      if (mount.writable) {
        return std::unexpected(Error{
            ErrorCode::kRefused, step, errno, "its file system cannot map owners, so root cannot grant it for writing",
            "run as the directory's owner, or grant one on ext4, xfs, btrfs (tmpfs from Linux 6.3)"});
      }
    }
    out.push_back(std::move(owner_fd));
  }
  return out;
}

bool maps_owners(const std::string& path) {
  const auto tried = clone_host_mounts({{path, true}}, kGuestUidBase);
  return tried || tried.error().code != ErrorCode::kRefused || tried.error().errno_value == 0;
}

bool surely_maps_owners(const std::string& path) {
  constexpr long kExt4 = 0xef53, kXfs = 0x58465342, kBtrfs = 0x9123683e, kTmpfs = 0x01021994;
  struct statfs fs{};
  if (::statfs(path.c_str(), &fs) != 0) return false;
  const auto type = static_cast<long>(fs.f_type);
  return type == kExt4 || type == kXfs || type == kBtrfs || type == kTmpfs;
}

}  // namespace cloche
