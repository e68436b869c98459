// Workspaces: a tree of the host that the guest may change as it likes, while the tree itself stays as it is. What the
// guest writes lands in the scratch, by overlayfs or on a copy.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "init/kernel.h"
#include "init/mounts.h"

namespace cloche::init {
namespace {

constexpr int kDirectoryPath = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

// A new directory and its descriptor, or -errno.
int make_dir(int parent, const char* name, mode_t mode) {
  if (mkdirat(parent, name, mode) != 0) return -errno;
  int fd = openat(parent, name, kDirectoryPath);
  return fd < 0 ? -errno : fd;
}

// The kernel stores what it hides in attributes of the user's own (userxattr): the others are for the host's root.
int mount_overlay(int lower, int upper, int work) {
  const DescriptorPath lower_path(lower);
  const DescriptorPath upper_path(upper);
  const DescriptorPath work_path(work);
  const Option options[] = {{"lowerdir", lower_path.text},
                            {"upperdir", upper_path.text},
                            {"workdir", work_path.text},
                            {"userxattr", nullptr}};
  return make_mount("overlay", options, 4, kAttrNoSuid | kAttrNoDev);
}

int folder_for_changes(const Cell& cell, const wire::Step& step) {
  return make_dir(step.y != 0 ? cell.disk_fd : cell.scratch_fd, cell.spec.text(step.b), 0755);
}

int cover_by_overlay(Cell& cell, const wire::Step& step) {
  const char* target = cell.spec.text(step.a);
  int lower = open_target(cell, target);
  if (lower < 0) return -lower;
  struct stat st;
  int error = fstat(lower, &st) == 0 ? 0 : errno;
  int own = error == 0 ? folder_for_changes(cell, step) : -error;
  int upper = own >= 0 ? make_dir(own, wire::kUpperName, st.st_mode & 0777) : own;
  int work = upper >= 0 ? make_dir(own, wire::kOverlayWorkName, 0755) : upper;
  int mount = work >= 0 ? mount_overlay(lower, upper, work) : work;
  error = mount < 0 ? -mount : place(cell, mount, target, step.x, kDirectory);
  const int used[] = {lower, own, upper, work};
  for (int fd : used) {
    if (fd >= 0) close(fd);
  }
  return error;
}

uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// A moment that parts what changed before from what changes after: files get the time of the last tick or, if somebody
// looked at them, the exact one. So this returns when a tick later than the moment has come.
uint64_t parting_moment() {
  const uint64_t moment = read_clock(CLOCK_REALTIME);
  const struct timespec pause = {0, 500'000};
  constexpr int kLongest = 100;  // should somebody set the clock back
  for (int i = 0; i < kLongest && read_clock(CLOCK_REALTIME_COARSE) <= moment; ++i) nanosleep(&pause, nullptr);
  return moment;
}

int cover_by_copy(Cell& cell, const wire::Step& step) {
  const char* target = cell.spec.text(step.a);
  int source = open_target(cell, target);
  if (source < 0) return -source;
  int own = folder_for_changes(cell, step);
  // What the host changes while this reads is to be seen by its time.
  (void)parting_moment();
  int error = own < 0 ? -own : copy_tree(source, own, wire::kUpperName);
  close(source);
  if (error == 0) {
    cell.copied_at = parting_moment();
    int tree = open_tree(own, wire::kUpperName, kOpenTreeClone | kOpenTreeCloexec);
    error = tree < 0 ? errno : place(cell, tree, target, step.x, kDirectory);
  }
  if (own >= 0) close(own);
  return error;
}

// The directory that will hold the target, made where it is missing: everything down there takes what the cell writes.
// No link is followed, whoever made it. A descriptor, or -errno.
int make_parents(const Cell& cell, const char* target, const char*& leaf) {
  int at = dup(cell.root_fd);
  while (at >= 0) {
    const char* slash = strchr(target, '/');
    if (slash == nullptr) {
      leaf = target;
      return at;
    }
    char name[256];
    const auto length = static_cast<size_t>(slash - target);
    int next = -1;
    if (length == 0 || length >= sizeof name) {
      errno = ENAMETOOLONG;
    } else {
      memcpy(name, target, length);
      name[length] = '\0';
      if (mkdirat(at, name, 0755) == 0 || errno == EEXIST || errno == EROFS) {
        const OpenHow how{kDirectoryPath, 0, kResolveNoSymlinks | kResolveBeneath | kResolveNoMagicLinks};
        next = openat2(at, name, how);
      }
    }
    const int error = errno;
    close(at);
    errno = error;
    at = next;
    target = slash + 1;
  }
  return -errno;
}

int put(Cell& cell, const wire::Step& step) {
  int source = -1;
  if (step.y == 0) {
    source = open_without_links(cell.spec.text(step.b));
  } else if (step.y < cell.fd_count) {
    source = cell.fds[step.y];
    cell.fds[step.y] = -1;
  } else {
    errno = EBADF;
  }
  if (source < 0) return errno;
  const char* leaf = nullptr;
  int dir = make_parents(cell, cell.spec.text(step.a), leaf);
  int error = dir < 0 ? -dir : copy_tree(source, dir, leaf);
  if (dir >= 0) close(dir);
  close(source);
  return error;
}

}  // namespace

int run_workspace_step(Cell& cell, const wire::Step& step) {
  switch (step.kind) {
    case wire::StepKind::kOverlay:
      return cover_by_overlay(cell, step);
    case wire::StepKind::kCopyTree:
      return cover_by_copy(cell, step);
    default:
      return put(cell, step);
  }
}

}  // namespace cloche::init
