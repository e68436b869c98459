#include "store/book_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

namespace cloche::store {
namespace {

constexpr const char* kStep = "book of runs";
// No file grows into this half of the offsets.
constexpr off_t kFirst = off_t{1} << 62;

// FNV-1a. Two living runs with the same byte are less likely than two with the same id, and the second would only do
// without a record.
off_t byte_of(std::string_view id) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 61) - 1;
  return kFirst + static_cast<off_t>(hash & kMask);
}

struct flock range_of(off_t start, off_t length) {
  struct flock out{};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  out.l_start = start;
  out.l_len = length;
  return out;
}

Result<BookLock> take(int book, struct flock range) {
  if (::fcntl(book, F_OFD_SETLK, &range) == 0) return BookLock::kTaken;
  if (errno == EAGAIN || errno == EACCES) return BookLock::kBusy;
  return fail_errno(errno, kStep, "could not be locked");
}

}  // namespace

Result<BookLock> lock_life(int book, std::string_view id) { return take(book, range_of(byte_of(id), 1)); }

bool is_alive(int book, std::string_view id) {
  struct flock range = range_of(byte_of(id), 1);
  return ::fcntl(book, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

Result<BookLock> lock_all(int book) { return take(book, range_of(kFirst, 0)); }

}  // namespace cloche::store
