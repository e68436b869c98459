#include "launch/disk_image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace cloche {
namespace {

constexpr const char* kStep = "disk image";
constexpr std::array kMakers = {"/usr/sbin/mke2fs", "/sbin/mke2fs"};
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kBlocksInGroup = 8 * kBlock;
constexpr std::uint64_t kInodesInBlock = kBlock / 256;
constexpr std::uint64_t kOwnInodes = 11;     // that ext4 has for itself
constexpr std::uint64_t kLeftToOthers = 20;  // of what is free, the twentieth part
constexpr int kLoopTries = 16;               // others look for a free one, too

// No journal: what is in it outlives no crash. Named one by one, so that no setting of the host changes them.
constexpr const char* kFeatures =
    "none,dir_index,dir_nlink,ext_attr,extent,extra_isize,filetype,flex_bg,huge_file,large_file,metadata_csum,sparse_"
    "super";

std::unexpected<Error> broken(int error, std::string what) {
  return std::unexpected(
      Error{ErrorCode::kSystem, kStep, error, std::move(what),
            "leave workspace.scratch = \"memory\", or let limits.mode = \"best-effort\" watch the limit"});
}

const char* maker() {
  const auto found = std::ranges::find_if(kMakers, [](const char* path) { return ::access(path, X_OK) == 0; });
  return found == kMakers.end() ? nullptr : *found;
}

struct Shape {
  std::uint64_t blocks = 0;
  std::uint64_t inodes = 0;
};

// The guest's bytes, and what the file system needs for itself: inodes, maps of each group of blocks, and the fiftieth
// that ext4 keeps back for late decisions. Inodes come in blocks, the same number in each group: not more than asked
// for.
Shape shape_of(const DiskSize& wanted) {
  const std::uint64_t data = (wanted.bytes + kBlock - 1) / kBlock;
  const std::uint64_t inodes = wanted.files + kOwnInodes;
  const std::uint64_t own = inodes / kInodesInBlock + 1 + std::min(data / 48, kBlock) + 8;
  const std::uint64_t groups = (data + own) / (kBlocksInGroup - 4) + 1;
  const std::uint64_t step = groups * kInodesInBlock;
  return {data + own + groups * 4, std::max(inodes / step, std::uint64_t{1}) * step};
}

std::unexpected<Error> no_room(std::uint64_t size, int error) {
  return std::unexpected(Error{ErrorCode::kRefused, kStep, error,
                               fmt::format("the disk has no room for what limits.disk allows ({} bytes)", size),
                               "lower it with --disk, or make room"});
}

Result<Fd> make_file(const DiskSize& wanted, const Shape& shape) {
  Fd file(::open(wanted.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) return broken(errno, fmt::format("no file without a name can be made in '{}'", wanted.folder));
  const std::uint64_t size = shape.blocks * kBlock;
  // Asked before: the kernel would take all that there is, from everybody, before it says that it is not enough.
  struct statfs fs{};
  if (::fstatfs(file.get(), &fs) != 0) return broken(errno, "the disk cannot be asked for its room");
  const std::uint64_t free = fs.f_bavail * static_cast<std::uint64_t>(fs.f_bsize);
  if (size > free - free / kLeftToOthers) return no_room(size, ENOSPC);
  if (::fallocate(file.get(), 0, 0, static_cast<off_t>(size)) != 0) {
    const int error = errno;
    if (error == ENOSPC || error == EFBIG || error == EDQUOT) return no_room(size, error);
    if (error != EOPNOTSUPP || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
      return broken(errno, "the file cannot grow");
    }
  }
  return file;
}

Status format(const Fd& file, const Shape& shape, std::uint32_t owner) {
  const char* program = maker();
  if (program == nullptr) return broken(ENOENT, "mke2fs is not installed (package e2fsprogs)");
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  const std::string files = std::to_string(shape.inodes);
  const std::string more = fmt::format("nodiscard,lazy_itable_init=1,root_owner={0}:{0}", owner);
  std::array<const char*, 18> words = {program,   "-q", "-F",          "-t", "ext4",       "-O",
                                       kFeatures, "-b", "4096",        "-I", "256",        "-m",
                                       "0",       "-N", files.c_str(), "-E", more.c_str(), path.c_str()};
  std::array<char*, words.size() + 1> argv{};
  std::ranges::transform(words, argv.begin(), [](const char* word) { return const_cast<char*>(word); });
  char* no_variables[] = {nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program, &actions, nullptr, argv.data(), no_variables);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return broken(error, "mke2fs cannot be started");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == ECHILD) return {};  // a host program that reaps everything; the mount will tell
    if (errno != EINTR) return broken(errno, "mke2fs cannot be waited for");
  }
  if (status != 0) return broken(EIO, fmt::format("mke2fs ended with {}", status));
  return {};
}

struct LoopDevice {
  Fd fd;
  std::string path;
};

Result<LoopDevice> free_loop() {
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) return broken(errno, "/dev/loop-control cannot be opened");
  const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) return broken(errno, "there is no free loop device");
  LoopDevice out{Fd(), fmt::format("/dev/loop{}", number)};
  out.fd = Fd(::open(out.path.c_str(), O_RDWR | O_CLOEXEC));
  if (!out.fd.valid()) return broken(errno, out.path + " cannot be opened");
  return out;
}

// The device lets go of the file by itself with the last mount.
Result<LoopDevice> bind_loop(const Fd& file) {
  for (int i = 0;; ++i) {
    CLOCHE_TRY_ASSIGN(LoopDevice device, free_loop());
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(file.get());
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;  // its pages are cached once, above
    if (::ioctl(device.fd.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY || i == kLoopTries) return broken(errno, device.path + " does not take the file");
  }
}

Result<Fd> mount_it(const LoopDevice& device) {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC)));
  if (!context.valid()) return broken(errno, "the kernel has no ext4");
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, "source", device.path.c_str(), 0) != 0 ||
      // The file reads as zeros already.
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_FLAG, "noinit_itable", nullptr, 0) != 0 ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return broken(errno, "the file system cannot be mounted");
  }
  Fd out(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
  if (!out.valid()) return broken(errno, "the file system cannot be mounted");
  return out;
}

}  // namespace

Result<DiskImage> DiskImage::make(const DiskSize& wanted, std::uint32_t owner) {
  const Shape shape = shape_of(wanted);
  CLOCHE_TRY_ASSIGN(const Fd file, make_file(wanted, shape));
  CLOCHE_TRY(format(file, shape, owner));
  CLOCHE_TRY_ASSIGN(const LoopDevice device, bind_loop(file));
  CLOCHE_TRY_ASSIGN(Fd made, mount_it(device));
  // Made for repairs, and nobody repairs this one.
  (void)::unlinkat(made.get(), "lost+found", AT_REMOVEDIR);
  return DiskImage(std::move(made));
}

DiskImage& DiskImage::operator=(DiskImage&& other) noexcept {
  give_up();
  mount_ = std::move(other.mount_);
  return *this;
}

// The descriptor is the one that the kernel gave out for the file system made above, never one that came from
// elsewhere: this call ends a file system for all who use it.
void DiskImage::give_up() {
  if (!mount_.valid()) return;
  const Fd top(::openat(mount_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::uint32_t without_log = 2;
  if (top.valid()) (void)::ioctl(top.get(), _IOR('X', 125, std::uint32_t), &without_log);
  mount_.reset();
}

bool can_make_disk_images() {
  if (maker() == nullptr || !free_loop()) return false;
  std::ifstream known("/proc/filesystems");
  for (std::string word; known >> word;) {
    if (word == "ext4") return true;
  }
  return false;
}

}  // namespace cloche
