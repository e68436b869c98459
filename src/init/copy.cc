// Copying a tree of the host into the scratch, before there is a guest. Everything is reached through descriptors, and
// no link is followed: somebody may change the tree meanwhile.
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "init/kernel.h"
#include "init/mounts.h"

namespace cloche::init {
namespace {

constexpr int kDeepest = 128;  // two descriptors for each level
constexpr uint64_t kTellAfter = 250'000'000;
constexpr char kUserAttribute[] = "user.";
constexpr char kOverlayAttribute[] = "user.overlay.";
constexpr int kSeekData = 3, kSeekHole = 4;

struct Copy {
  uint64_t bytes = 0;
  uint64_t told = 0;
  uint64_t unclonable = ~0ull;  // a device whose files cannot share their blocks with the copy's
  uint64_t uncopyable = ~0ull;  // or that the kernel does not copy from by itself
  struct stat own = {};         // the directory that it is made in
};
char g_names[64 * 1024];  // no heap here; one copy at a time
char g_value[64 * 1024];

void tell(Copy& copy) {
  const uint64_t at = now();
  if (copy.told == 0) copy.told = at;
  if (at - copy.told < kTellAfter) return;
  copy.told = at;
  wire::Message message;
  memset(&message, 0, sizeof message);
  message.kind = wire::MessageKind::kCopying;
  message.amount = copy.bytes;
  send_message(message, -1);
}

// What the owner noted beside the content; not what an overlay would take for its own.
void copy_attributes(int from, int to) {
  const ssize_t size = flistxattr(from, g_names, sizeof g_names);
  for (const char* name = g_names; size > 0 && name < g_names + size; name += strlen(name) + 1) {
    if (strncmp(name, kUserAttribute, sizeof kUserAttribute - 1) != 0 ||
        strncmp(name, kOverlayAttribute, sizeof kOverlayAttribute - 1) == 0) {
      continue;
    }
    const ssize_t length = fgetxattr(from, name, g_value, sizeof g_value);
    if (length >= 0) fsetxattr(to, name, g_value, static_cast<size_t>(length), 0);
  }
}

void copy_times(int to, const struct stat& st) {
  const struct timespec times[2] = {st.st_atim, st.st_mtim};
  futimens(to, times);
}

// By sharing its blocks, where the file system can: 0, or an errno that leaves everything to do.
int clone_file(Copy& copy, int from, int to, const struct stat& st) {
  if (copy.unclonable == st.st_dev) return EXDEV;
  if (ioctl(to, FICLONE, from) == 0) {
    copy.bytes += static_cast<uint64_t>(st.st_size);
    tell(copy);
    return 0;
  }
  copy.unclonable = st.st_dev;
  return errno;
}

// A piece, by the kernel alone or through its pages.
ssize_t copy_piece(Copy& copy, int from, int to, off_t* at, size_t size, uint64_t device) {
  if (copy.uncopyable != device) {
    const ssize_t n = syscall(SYS_copy_file_range, from, at, to, nullptr, size, 0);
    if (n > 0) return n;
    // 0 at a place with data: a file system that cannot, and does not say so.
    copy.uncopyable = device;
  }
  return sendfile(to, from, at, size);
}

int copy_bytes(Copy& copy, int from, int to, const struct stat& st) {
  const off_t size = st.st_size;
  off_t at = 0;
  while (at < size) {
    // A file system that knows nothing of holes calls everything data.
    const off_t data = lseek(from, at, kSeekData);
    if (data < 0 && errno == ENXIO) break;
    off_t end = data < 0 ? size : lseek(from, data, kSeekHole);
    if (data >= 0) at = data;
    if (end < at || end > size) end = size;
    if (lseek(to, at, SEEK_SET) < 0) return errno;
    while (at < end) {
      constexpr off_t kPiece = 1 << 20;
      const off_t left = end - at < kPiece ? end - at : kPiece;
      const ssize_t n = copy_piece(copy, from, to, &at, static_cast<size_t>(left), st.st_dev);
      if (n < 0) return errno;
      if (n == 0) return 0;  // it became shorter
      copy.bytes += static_cast<uint64_t>(n);
      tell(copy);
    }
  }
  return ftruncate(to, size) == 0 ? 0 : errno;
}

int copy_opened(Copy& copy, int from, int to_dir, const char* name) {
  struct stat st;
  if (fstat(from, &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return ENOENT;  // replaced meanwhile
  const int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0) return errno;
  int error = st.st_size > 0 ? clone_file(copy, from, to, st) : 0;
  if (error != 0) error = copy_bytes(copy, from, to, st);
  if (error == 0) {
    copy_attributes(from, to);
    if (fchmod(to, st.st_mode & 0777) != 0) error = errno;
    copy_times(to, st);
  }
  close(to);
  return error;
}

constexpr int kRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// What its owner keeps even from us appears, without content and without rights.
bool is_kept_from_us(int error) { return error == EACCES || error == EPERM; }

int copy_file(Copy& copy, int from_dir, const char* from_name, int to_dir, const char* name) {
  const int from = openat(from_dir, from_name, kRead | O_NOFOLLOW);
  if (from < 0 && is_kept_from_us(errno)) return mknodat(to_dir, name, S_IFREG, 0) == 0 ? 0 : errno;
  if (from < 0) return errno;
  const int error = copy_opened(copy, from, to_dir, name);
  close(from);
  return error;
}

int copy_link(int from_dir, const char* from_name, int to_dir, const char* name, const struct stat& st) {
  char text[4096];
  const ssize_t n = readlinkat(from_dir, from_name, text, sizeof text - 1);
  if (n < 0) return errno;
  text[n] = '\0';
  if (symlinkat(text, to_dir, name) != 0) return errno;
  const struct timespec times[2] = {st.st_atim, st.st_mtim};
  utimensat(to_dir, name, times, AT_SYMLINK_NOFOLLOW);
  return 0;
}

int copy_entry(Copy& copy, int from_dir, const char* from_name, int to_dir, const char* name, int depth);

int copy_entries(Copy& copy, int from, int to, int depth) {
  alignas(struct dirent) char buffer[2048];
  for (;;) {
    const long size = syscall(SYS_getdents64, from, buffer, sizeof buffer);
    if (size < 0) return errno;
    if (size == 0) return 0;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const struct dirent*>(buffer + at);
      at += entry->d_reclen;
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      const int error = copy_entry(copy, from, entry->d_name, to, entry->d_name, depth + 1);
      if (error != 0 && error != ENOENT) return error;  // gone meanwhile: never seen
    }
  }
}

int copy_directory(Copy& copy, int from_dir, const char* from_name, int to_dir, const char* name, const struct stat& st,
                   int depth) {
  if (depth > kDeepest) return ENAMETOOLONG;
  // By a mount it may be a part of what is copied, and would be copied into itself until nothing fits any more.
  if (st.st_ino == copy.own.st_ino && st.st_dev == copy.own.st_dev) return EDEADLK;
  const int from = openat(from_dir, from_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  // But not the whole of it: an empty copy would be taken for a guest that deleted everything.
  const bool kept = from < 0 && depth > 0 && is_kept_from_us(errno);
  if (from < 0 && !kept) return errno;
  int error = mkdirat(to_dir, name, kept ? 0 : 0700) == 0 ? 0 : errno;
  const int to = error == 0 && !kept ? openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (error == 0 && !kept) {
    error = to < 0 ? errno : copy_entries(copy, from, to, depth);
    copy_attributes(from, to);
    if (error == 0 && fchmod(to, st.st_mode & 0777) != 0) error = errno;
    if (error == 0) copy_times(to, st);
  }
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  return error;
}

int copy_entry(Copy& copy, int from_dir, const char* from_name, int to_dir, const char* name, int depth) {
  tell(copy);
  struct stat st;
  if (fstatat(from_dir, from_name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return copy_directory(copy, from_dir, from_name, to_dir, name, st, depth);
  if (S_ISREG(st.st_mode)) return copy_file(copy, from_dir, from_name, to_dir, name);
  if (S_ISLNK(st.st_mode)) return copy_link(from_dir, from_name, to_dir, name, st);
  if (S_ISFIFO(st.st_mode)) return mknodat(to_dir, name, S_IFIFO | (st.st_mode & 0777), 0) == 0 ? 0 : errno;
  return 0;  // a socket without its listener and a device without its driver are nothing; files/host_side.cc knows
}

int copy_single_file(Copy& copy, int from, int to_dir, const char* name) {
  const int opened = open(DescriptorPath(from).text, kRead);
  if (opened < 0) return errno;
  const int error = copy_opened(copy, opened, to_dir, name);
  close(opened);
  return error;
}

}  // namespace

int copy_tree(int from, int to, const char* name) {
  Copy copy;
  struct stat st;
  if (fstat(from, &st) != 0 || fstat(to, &copy.own) != 0) return errno;
  if (S_ISREG(st.st_mode)) return copy_single_file(copy, from, to, name);
  if (!S_ISDIR(st.st_mode)) return EINVAL;
  return copy_directory(copy, from, ".", to, name, st, 0);
}

}  // namespace cloche::init
