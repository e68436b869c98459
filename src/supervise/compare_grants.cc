#include "supervise/compare_grants.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "sys/file.h"

namespace cloche {

Status compare_grants(pid_t guest, const std::vector<std::string>& paths, const std::vector<Fd>& checked) {
  if (checked.empty()) return {};
  CLOCHE_TRY_ASSIGN(const Fd root, sys::open_file("/proc/" + std::to_string(guest) + "/root", O_PATH | O_DIRECTORY));
  for (std::size_t i = 0; i < checked.size(); ++i) {
    CLOCHE_TRY_ASSIGN(const Fd shown, sys::open_without_symlinks(paths[i].substr(1), root.get()));
    struct stat before{};
    struct stat now{};
    if (::fstat(checked[i].get(), &before) != 0 || ::fstat(shown.get(), &now) != 0)
      return fail_errno(errno, "grant " + paths[i], "could not be compared with what the cell shows");
    if (before.st_dev != now.st_dev || before.st_ino != now.st_ino) {
      return fail(ErrorCode::kRefused, "grant " + paths[i], "the path led elsewhere when it was mounted",
                  "somebody changes the granted path: grant one that others cannot change");
    }
  }
  return {};
}

}  // namespace cloche
