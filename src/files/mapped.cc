#include "files/mapped.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "files/guest_side.h"
#include "tree/inspect.h"

namespace cloche::files {
namespace {

constexpr std::size_t kChunk = std::size_t{128} * 1024;

ssize_t read_at(int fd, std::string& into, std::size_t size, off_t at) {
  ssize_t n;
  do {
    n = ::pread(fd, into.data(), size, at);
  } while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace

bool keeps_times(int directory) {
  struct statfs fs{};
  return ::fstatfs(directory, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

Result<bool> was_mapped(const Pair& pair, const struct stat& st, const std::optional<HostThing>& before, Meter& meter) {
  if (!S_ISREG(st.st_mode) || st.st_blocks == 0 || !before || before->changed) return false;
  if (before->state.kind != tree::FileKind::kRegular) return false;
  if (before->state.size != static_cast<std::uint64_t>(st.st_size)) return false;
  CLOCHE_TRY_ASSIGN(const Fd guest, open_guest_file(pair.guest_folder, pair.name));
  const Fd place(::openat(pair.host_folder, pair.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return false;
  const auto host = tree::reopen_regular(place.get(), pair.name);
  if (!host) return false;
  std::string ours(kChunk, '\0');
  std::string theirs(kChunk, '\0');
  off_t end = 0;
  for (;;) {
    // What was written is no hole any more.
    off_t at = ::lseek(guest.get(), end, SEEK_DATA);
    if (at < 0) return false;
    end = ::lseek(guest.get(), at, SEEK_HOLE);
    if (end < 0) return fail_errno(errno, "read the workspace", "a file of the copy could not be read");
    while (at < end) {
      const auto want = static_cast<std::size_t>(std::min<off_t>(end - at, kChunk));
      const ssize_t n = read_at(guest.get(), ours, want, at);
      if (n <= 0) return false;
      const auto size = static_cast<std::size_t>(n);
      const ssize_t m = read_at(host->get(), theirs, size, at);
      if (m < 0) return false;
      if (m != n || std::memcmp(ours.data(), theirs.data(), size) != 0) return true;
      CLOCHE_TRY(meter.bytes(size));
      at += n;
    }
  }
}

}  // namespace cloche::files
