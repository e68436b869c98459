#include "files/guest_rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace cloche::files {
namespace {

// Whether the kernel asks us for no rights to files. Where it cannot be asked itself: yes.
bool reads_everything() {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &head, data) != 0) return true;
  constexpr unsigned kMighty = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
  return (data[0].effective & kMighty) != 0;
}

}  // namespace

Result<GuestRights> GuestRights::of(int lower) {
  if (::geteuid() != 0) {
    return GuestRights(::geteuid(), ::getegid(), reads_everything() ? Judge::kModes : Judge::kKernel);
  }
  struct stat st{};
  if (::fstat(lower, &st) != 0) return fail_errno(errno, "read the workspace", "could not be inspected");
  return GuestRights(st.st_uid, st.st_gid, Judge::kModes);
}

// With an access list the bits say little about others than the owner.
bool GuestRights::may(int fd, const struct stat& st, mode_t right) const {
  if (judge_ == Judge::kKernel) return true;
  const unsigned shift = st.st_uid == user_ ? 6 : st.st_gid == group_ ? 3 : 0;
  if (((st.st_mode >> shift) & right) != right) return false;
  const std::string by_number = "/proc/self/fd/" + std::to_string(fd);
  return st.st_uid == user_ || ::getxattr(by_number.c_str(), "system.posix_acl_access", nullptr, 0) <= 0;
}

bool GuestRights::was_copied(int folder, const std::string& name) const {
  const Fd place(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  if (!place.valid() || ::fstat(place.get(), &st) != 0) return false;
  if (st.st_uid == user_ && st.st_gid == group_) return true;
  if (judge_ == Judge::kModes) return may(place.get(), st, 4);
  return ::faccessat(folder, name.c_str(), R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace cloche::files
