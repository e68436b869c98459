// The new root, built with the descriptor-based mount API: no path of the host is walked twice, and no mount point is
// ever reached through a symbolic link.
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "init/cell.h"
#include "init/kernel.h"
#include "init/mounts.h"

namespace cloche::init {

int make_mount(const char* type, const Option* options, int option_count, uint64_t attributes) {
  int context = static_cast<int>(syscall(kSysFsopen, type, kFsCloexec));
  if (context < 0) return -errno;
  int result = 0;
  for (int i = 0; i < option_count && result == 0; ++i) {
    unsigned command = options[i].value != nullptr ? kFsconfigSetString : kFsconfigSetFlag;
    if (syscall(kSysFsconfig, context, command, options[i].key, options[i].value, 0) != 0) result = -errno;
  }
  if (result == 0 && syscall(kSysFsconfig, context, kFsconfigCreate, nullptr, nullptr, 0) != 0) result = -errno;
  if (result == 0) {
    result = static_cast<int>(syscall(kSysFsmount, context, kFsCloexec, attributes));
    if (result < 0) result = -errno;
  }
  close(context);
  return result;
}

namespace {

constexpr char kFirstScratchDir[] = "work";

int make_tmpfs(uint64_t size, uint64_t inodes, uint64_t attributes) {
  char size_text[32];
  char inode_text[32];
  snprintf(size_text, sizeof size_text, "%llu", static_cast<unsigned long long>(size));
  snprintf(inode_text, sizeof inode_text, "%llu", static_cast<unsigned long long>(inodes));
  const Option options[] = {{"size", size_text}, {"nr_inodes", inode_text}, {"mode", "0755"}};
  return make_mount("tmpfs", options, 3, kAttrNoSuid | kAttrNoDev | attributes);
}

// Attached over "/": path look-ups start below it and never see it, so the host's paths stay reachable until the
// pivot.
int attach_aside(int mount_fd) { return move_mount(mount_fd, "", AT_FDCWD, "/", kMoveMountFromEmpty) == 0 ? 0 : errno; }

// The new root and the scratch are ours; everything else that is mounted belongs to the host.
bool is_ours(const Cell& cell, uint64_t device) { return device == cell.root_device || device == cell.scratch_device; }

int note_device(int fd, uint64_t& device) {
  struct stat st;
  if (fstat(fd, &st) != 0) return errno;
  device = st.st_dev;
  return 0;
}

// Walks to `path` below the root, making directories on the way, but only on our own tmpfs: a grant's own directories
// are the host's, and no run leaves anything there. A descriptor or -errno; `ours` tells where it led.
int walk(const Cell& cell, const char* path, bool& ours) {
  int dir = cell.root_fd;
  ours = true;
  for (const char* at = path;;) {
    const char* slash = strchr(at, '/');
    const size_t length = slash != nullptr ? static_cast<size_t>(slash - at) : strlen(at);
    char name[256];
    int next = -1;
    bool made = false;
    if (length == 0 || length >= sizeof name) {
      errno = ENAMETOOLONG;
    } else {
      memcpy(name, at, length);
      name[length] = '\0';
      made = ours && mkdirat(dir, name, 0755) == 0;
      const OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                        kResolveNoSymlinks | kResolveBeneath | kResolveNoMagicLinks};
      next = made || !ours || errno == EEXIST ? openat2(dir, name, how) : -1;
    }
    int error = next < 0 ? errno : 0;
    if (dir != cell.root_fd) close(dir);
    // What was there already may be the host's.
    uint64_t device = 0;
    if (error == 0 && !made) {
      error = note_device(next, device);
      ours = is_ours(cell, device);
      if (error != 0) close(next);
    }
    if (error != 0) return -error;
    if (slash == nullptr) return next;
    dir = next;
    at = slash + 1;
  }
}

void forget_parent(Cell& cell) {
  if (cell.parent_fd >= 0 && cell.parent_fd != cell.root_fd) close(cell.parent_fd);
  cell.parent_fd = -1;
}

}  // namespace

// Neighbours come one after the other in a plan, so the last one is kept.
int open_parent(Cell& cell, const char* target, const char*& leaf) {
  const char* slash = strrchr(target, '/');
  const size_t length = slash != nullptr ? static_cast<size_t>(slash - target) : 0;
  leaf = slash != nullptr ? slash + 1 : target;
  if (length >= sizeof cell.parent_path) return -ENAMETOOLONG;
  if (cell.parent_fd >= 0 && cell.parent_path[length] == '\0' && strncmp(cell.parent_path, target, length) == 0) {
    return cell.parent_fd;
  }
  forget_parent(cell);
  memcpy(cell.parent_path, target, length);
  cell.parent_path[length] = '\0';
  int dir = cell.root_fd;
  bool ours = true;
  if (length > 0) {
    const OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, kResolveNoSymlinks | kResolveBeneath | kResolveNoMagicLinks};
    dir = openat2(cell.root_fd, cell.parent_path, how);
    if (dir < 0 && errno == ENOENT) {
      dir = walk(cell, cell.parent_path, ours);
    } else if (dir < 0) {
      dir = -errno;
    } else {
      uint64_t device = 0;
      if (int error = note_device(dir, device); error != 0) {
        close(dir);
        return -error;
      }
      ours = is_ours(cell, device);
    }
    if (dir < 0) return dir;
  }
  cell.parent_fd = dir;
  cell.parent_is_ours = ours;
  return dir;
}

namespace {

// Makes the mount point `leaf`, if it lies on our own tmpfs. True if it was made, and is what it should be.
bool make_point(const Cell& cell, int dir, const char* leaf, bool file) {
  if (!cell.parent_is_ours) return false;
  return (file ? mknodat(dir, leaf, S_IFREG | 0444, 0) : mkdirat(dir, leaf, 0755)) == 0;
}

// Puts a detached mount on the target, which is made if it lies on our own tmpfs. What was there before is opened
// first, and never by way of a link.
int attach(Cell& cell, int tree, const char* target, bool file) {
  const char* leaf = nullptr;
  int dir = open_parent(cell, target, leaf);
  if (dir < 0) return -dir;
  if (make_point(cell, dir, leaf, file)) {
    return move_mount(tree, "", dir, leaf, kMoveMountFromEmpty) == 0 ? 0 : errno;
  }
  if (cell.parent_is_ours && errno != EEXIST) return errno;
  const OpenHow how{static_cast<uint64_t>(O_PATH | O_CLOEXEC | O_NOFOLLOW), 0, kResolveNoSymlinks | kResolveBeneath};
  int at = openat2(dir, leaf, how);
  if (at < 0) return errno;
  int error = move_mount(tree, "", at, "", kMoveMountFromEmpty | kMoveMountToEmpty) == 0 ? 0 : errno;
  close(at);
  return error;
}

// What was kept of a place is below what now lies on it.
void covered(Cell& cell, const char* target) {
  const size_t length = strlen(target);
  if (strncmp(cell.parent_path, target, length) == 0 &&
      (cell.parent_path[length] == '\0' || cell.parent_path[length] == '/')) {
    forget_parent(cell);
  }
}

}  // namespace

int place(Cell& cell, int tree, const char* target, uint64_t flags, Shape shape) {
  MountAttr attr;
  attr.set = kAttrNoSuid;
  if ((flags & wire::kAllowDevices) == 0) attr.set |= kAttrNoDev;
  if ((flags & wire::kReadOnly) != 0) attr.set |= kAttrReadOnly;
  if ((flags & wire::kNoExec) != 0) attr.set |= kAttrNoExec;
  attr.propagation = kPropagationPrivate;
  struct stat st;
  int error = shape != kUnknown || fstat(tree, &st) == 0 ? 0 : errno;
  if (error == 0 && mount_setattr(tree, "", kAtEmptyPath | kAtRecursive, attr) != 0) error = errno;
  if (error == 0) {
    error = attach(cell, tree, target, shape == kUnknown ? !S_ISDIR(st.st_mode) : shape == kFile);
    covered(cell, target);
  }
  close(tree);
  return error;
}

int open_target(const Cell& cell, const char* target) {
  const OpenHow how{O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, kResolveNoSymlinks | kResolveBeneath | kResolveNoMagicLinks};
  int fd = openat2(cell.root_fd, target, how);
  return fd < 0 ? -errno : fd;
}

int open_without_links(const char* path) {
  // A guest with a writable grant could leave a link there that turns the next run's grant into another place.
  const OpenHow how{static_cast<uint64_t>(O_PATH | O_CLOEXEC | O_NOFOLLOW), 0, kResolveNoSymlinks};
  int place = openat2(AT_FDCWD, path, how);
  if (place < 0) return place;
  struct stat st;
  // With O_PATH and O_NOFOLLOW a link at the very end is opened itself instead of being refused.
  if (fstat(place, &st) == 0 && !S_ISLNK(st.st_mode)) return place;
  close(place);
  errno = ELOOP;
  return -1;
}

namespace {

int open_source(const char* path, uint64_t flags) {
  constexpr unsigned kClone = kOpenTreeClone | kOpenTreeCloexec | kAtRecursive;
  if ((flags & wire::kNoSymlinks) == 0) return open_tree(AT_FDCWD, path, kClone);
  int place = open_without_links(path);
  if (place < 0) return place;
  int tree = open_tree(place, "", kClone | kAtEmptyPath);
  int error = errno;
  close(place);
  errno = error;
  return tree;
}

int bind(Cell& cell, const wire::Step& step) {
  int tree = open_source(cell.spec.text(step.b), step.x);
  if (tree < 0) return errno == ENOENT && (step.x & wire::kOptional) != 0 ? 0 : errno;
  return place(cell, tree, cell.spec.text(step.a), step.x, kUnknown);
}

int bind_device(Cell& cell, const wire::Step& step) {
  // A host whose /dev was tampered with must not hand in another device, nor a link to anything else.
  const OpenHow how{static_cast<uint64_t>(O_PATH | O_CLOEXEC | O_NOFOLLOW), 0, kResolveNoSymlinks};
  int node = openat2(AT_FDCWD, cell.spec.text(step.b), how);
  if (node < 0) return errno;
  struct stat st;
  int error = fstat(node, &st) == 0 ? 0 : errno;
  if (error == 0 &&
      (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(static_cast<unsigned>(step.x), static_cast<unsigned>(step.y)))) {
    error = ENODEV;
  }
  int tree = error == 0 ? open_tree(node, "", kOpenTreeClone | kOpenTreeCloexec | kAtEmptyPath) : -1;
  if (error == 0 && tree < 0) error = errno;
  close(node);
  if (error != 0) return error;
  // Read-only, which keeps nobody from writing to the device: anybody may write to the host's node, and so set its
  // times.
  return place(cell, tree, cell.spec.text(step.a), wire::kAllowDevices | wire::kNoExec | wire::kReadOnly, kFile);
}

int clone_scratch(const Cell& cell, const char* name) {
  return open_tree(cell.scratch_fd, name, kOpenTreeClone | kOpenTreeCloexec);
}

// One of the engine's, or -errno.
int take_mount(Cell& cell, uint64_t index) {
  if (index >= cell.fd_count || cell.fds[index] < 0) return -EBADF;
  int out = cell.fds[index];
  cell.fds[index] = -1;
  return out;
}

// Since 6.15 a part of a mount that is attached nowhere can be cloned; before that it must hang somewhere first, which
// costs an unmount, and each unmount waits for a grace period. So the first directory is tried at once.
int make_scratch(Cell& cell, const wire::Step& step) {
  int mount_fd = step.z != 0 ? take_mount(cell, step.z) : make_tmpfs(step.x, step.y, 0);
  if (mount_fd < 0) return -mount_fd;
  cell.scratch_fd = mount_fd;
  if (int error = note_device(mount_fd, cell.scratch_device); error != 0) return error;
  if (mkdirat(mount_fd, kFirstScratchDir, 0755) != 0) return errno;
  // What the engine mounted is not ours until it hangs in our namespace.
  cell.first_scratch_tree = step.z != 0 ? -1 : clone_scratch(cell, kFirstScratchDir);
  if (cell.first_scratch_tree >= 0) return 0;
  cell.scratch_attached = true;
  return attach_aside(mount_fd);
}

// Goes aside always: what the engine cloned belongs to its mount namespace, and overlayfs takes only what hangs in
// ours.
int take_disk(Cell& cell, const wire::Step& step) {
  int tree = -1;
  if (step.y == 0) {
    tree = open_source(cell.spec.text(step.b), wire::kNoSymlinks);
    if (tree < 0) return errno;
  } else {
    tree = take_mount(cell, step.y);
    if (tree < 0) return -tree;
  }
  MountAttr attr;
  attr.set = kAttrNoSuid | kAttrNoDev;
  attr.propagation = kPropagationPrivate;
  if (mount_setattr(tree, "", kAtEmptyPath | kAtRecursive, attr) != 0) return errno;
  cell.disk_fd = tree;
  return attach_aside(tree);
}

int scratch_dir(Cell& cell, const wire::Step& step) {
  const char* name = cell.spec.text(step.b);
  const bool first = strcmp(name, kFirstScratchDir) == 0;
  const auto mode = static_cast<mode_t>(step.y);
  if ((first ? fchmodat(cell.scratch_fd, name, mode, 0) : mkdirat(cell.scratch_fd, name, mode)) != 0) return errno;
  int tree = first && cell.first_scratch_tree >= 0 ? cell.first_scratch_tree : clone_scratch(cell, name);
  if (tree < 0) return errno;
  if (first) cell.first_scratch_tree = -1;
  return place(cell, tree, cell.spec.text(step.a), step.x, kDirectory);
}

int write_file(Cell& cell, const wire::Step& step) {
  const char* leaf = nullptr;
  int dir = open_parent(cell, cell.spec.text(step.a), leaf);
  if (dir < 0) return -dir;
  int fd = openat(dir, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, static_cast<mode_t>(step.x));
  if (fd < 0) return errno;
  int error = 0;
  const char* data = cell.spec.data(step);
  size_t left = step.data_size;
  while (left > 0 && error == 0) {
    ssize_t n = write(fd, data, left);
    if (n < 0) {
      error = errno;
    } else {
      data += n;
      left -= static_cast<size_t>(n);
    }
  }
  close(fd);
  return error;
}

int make_link(Cell& cell, const wire::Step& step) {
  const char* leaf = nullptr;
  int dir = open_parent(cell, cell.spec.text(step.a), leaf);
  if (dir < 0) return -dir;
  return symlinkat(cell.spec.text(step.b), dir, leaf) == 0 ? 0 : errno;
}

int make_dir(Cell& cell, const wire::Step& step) {
  const char* leaf = nullptr;
  int dir = open_parent(cell, cell.spec.text(step.a), leaf);
  if (dir < 0) return -dir;
  if (make_point(cell, dir, leaf, false)) return 0;
  if (cell.parent_is_ours && errno != EEXIST) return errno;
  const OpenHow how{static_cast<uint64_t>(O_PATH | O_CLOEXEC | O_NOFOLLOW), 0, kResolveNoSymlinks | kResolveBeneath};
  int fd = openat2(dir, leaf, how);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int place_new(Cell& cell, int mount_fd, const char* target) {
  if (mount_fd < 0) return -mount_fd;
  int error = attach(cell, mount_fd, target, false);
  covered(cell, target);
  close(mount_fd);
  return error;
}

int mount_proc(Cell& cell, const wire::Step& step) {
  const Option options[] = {{"subset", "pid"}};
  return place_new(cell, make_mount("proc", options, 1, kAttrNoSuid | kAttrNoDev | kAttrNoExec | kAttrReadOnly),
                   cell.spec.text(step.a));
}

int mount_pts(Cell& cell, const wire::Step& step) {
  const Option options[] = {{"newinstance", nullptr}, {"ptmxmode", "0666"}, {"mode", "0620"}, {"max", "16"}};
  return place_new(cell, make_mount("devpts", options, 4, kAttrNoSuid | kAttrNoExec), cell.spec.text(step.a));
}

// Room for nothing but its own root: what is read back tells it from a tmpfs of the host.
int hide(Cell& cell, const wire::Step& step) {
  return place_new(cell, make_tmpfs(1, 1, kAttrReadOnly | kAttrNoExec), cell.spec.text(step.a));
}

int pivot(Cell& cell) {
  forget_parent(cell);
  int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (old_root < 0 || fchdir(cell.root_fd) != 0) return errno;
  if (syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  // Now the old root lies on top of the new one, and the scratch on top of the old root: each unmount takes the
  // topmost.
  if (cell.scratch_attached && umount2(".", MNT_DETACH) != 0) return errno;
  if (cell.disk_fd >= 0 && umount2(".", MNT_DETACH) != 0) return errno;
  if (chdir("/") != 0) return errno;
  return begin_unmount(old_root);
}

int make_root(Cell& cell, const wire::Step& step) {
  // Its links are followed all the time, and the first to follow one would write down when: an observer, who must not
  // wait, then cannot follow it.
  int mount_fd = make_tmpfs(step.x, step.y, kAttrNoAtime);
  if (mount_fd < 0) return -mount_fd;
  cell.root_fd = mount_fd;
  if (int error = note_device(mount_fd, cell.root_device); error != 0) return error;
  return attach_aside(mount_fd);
}

}  // namespace

int run_mount_step(Cell& cell, const wire::Step& step) {
  using wire::StepKind;
  switch (step.kind) {
    case StepKind::kNewRoot:
      return make_root(cell, step);
    case StepKind::kScratch:
      return make_scratch(cell, step);
    case StepKind::kDiskScratch:
      return take_disk(cell, step);
    case StepKind::kDir:
      return make_dir(cell, step);
    case StepKind::kSymlink:
      return make_link(cell, step);
    case StepKind::kFile:
      return write_file(cell, step);
    case StepKind::kBind:
      return bind(cell, step);
    case StepKind::kBindFd: {
      int tree = take_mount(cell, 1 + step.y);
      if (tree < 0) return -tree;
      return place(cell, tree, cell.spec.text(step.a), step.x, kUnknown);
    }
    case StepKind::kScratchDir:
      return scratch_dir(cell, step);
    case StepKind::kOverlay:
    case StepKind::kCopyTree:
    case StepKind::kPut:
      return run_workspace_step(cell, step);
    case StepKind::kHide:
      return hide(cell, step);
    case StepKind::kDevice:
      return bind_device(cell, step);
    case StepKind::kProc:
      return mount_proc(cell, step);
    case StepKind::kPts:
      return mount_pts(cell, step);
    case StepKind::kPivot:
      return pivot(cell);
    case StepKind::kRootReadOnly: {
      MountAttr attr;
      attr.set = kAttrReadOnly;
      return mount_setattr(cell.root_fd, "", kAtEmptyPath, attr) == 0 ? 0 : errno;
    }
    default:
      return EINVAL;
  }
}

}  // namespace cloche::init
