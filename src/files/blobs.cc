#include "files/blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cloche::files {
namespace {

constexpr const char* kUnfinished = "new";
constexpr std::size_t kChunk = std::size_t{128} * 1024;
// More than this are made durable by one call for the whole file system.
constexpr std::size_t kSyncedEach = 64;

std::unexpected<Error> broken(std::string message) {
  return fail_errno(errno, "keep the changes", std::move(message),
                    errno == ENOSPC || errno == EDQUOT ? "make room where the runs are kept" : "");
}

}  // namespace

Result<Blobs> Blobs::make(int directory, Meter& meter) {
  if (::mkdirat(directory, "blobs", 0700) != 0) return broken("the directory for contents could not be made");
  return open(directory, meter);
}

Result<Blobs> Blobs::open(int directory, Meter& meter) {
  Fd folder(::openat(directory, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return broken("the directory for contents could not be opened");
  return Blobs(std::move(folder), meter);
}

Status Blobs::begin() {
  if (!keeps()) return {};
  // What was read last and not kept is written over.
  file_ = Fd(::openat(folder_.get(), kUnfinished, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_.valid()) return broken("a content could not be made");
  return {};
}

Status Blobs::write(std::string_view bytes, std::uint64_t at) {
  if (!keeps()) return {};
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken("a content could not be written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<sys::Digest> Blobs::read(int fd, std::uint64_t size) {
  CLOCHE_TRY(begin());
  chunk_.resize(kChunk);
  sys::Sha256 hash;
  for (std::uint64_t at = 0; at < size;) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, size - at));
    const ssize_t n = ::pread(fd, chunk_.data(), want, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return broken("a file of the guest could not be read");
    if (n == 0) return fail(ErrorCode::kSystem, "keep the changes", "a file became shorter while it was read");
    const std::string_view piece(chunk_.data(), static_cast<std::size_t>(n));
    hash.update(piece);
    if (piece.find_first_not_of('\0') != std::string_view::npos) CLOCHE_TRY(write(piece, at));
    at += piece.size();
    CLOCHE_TRY(meter_->bytes(piece.size()));
  }
  if (keeps() && ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    return broken("a content could not be written");
  return hash.finish();
}

Status Blobs::keep(const sys::Digest& digest) {
  if (!keeps()) return {};
  if (kept_++ < kSyncedEach && ::fsync(file_.get()) != 0) return broken("a content could not be made durable");
  file_.reset();
  if (::renameat(folder_.get(), kUnfinished, folder_.get(), sys::to_hex(digest).c_str()) != 0) {
    return broken("a content could not be put in place");
  }
  return {};
}

Status Blobs::keep_text(std::string_view text, const sys::Digest& digest) {
  CLOCHE_TRY(begin());
  CLOCHE_TRY(write(text, 0));
  return keep(digest);
}

Status Blobs::settle() {
  if (!keeps()) return {};
  file_.reset();
  if (::unlinkat(folder_.get(), kUnfinished, 0) != 0 && errno != ENOENT) {
    return broken("what was not kept could not be removed");
  }
  const bool each = kept_ <= kSyncedEach;
  if ((each ? ::fsync(folder_.get()) : ::syncfs(folder_.get())) != 0)
    return broken("contents could not be made durable");
  return {};
}

}  // namespace cloche::files
