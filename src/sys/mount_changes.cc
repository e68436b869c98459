#include "sys/mount_changes.h"

#include <fcntl.h>
#include <poll.h>

#include "sys/file.h"

namespace cloche::sys {

Result<MountChanges> MountChanges::open() {
  CLOCHE_TRY_ASSIGN(Fd file, open_file("/proc/self/mountinfo", O_RDONLY));
  return MountChanges(std::move(file));
}

bool MountChanges::any() const {
  pollfd changed{file_.get(), POLLPRI, 0};
  return ::poll(&changed, 1, 0) > 0;
}

}  // namespace cloche::sys
