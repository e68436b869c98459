#include "store/plain_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "store/book.h"
#include "store/book_lock.h"
#include "store/files.h"

namespace cloche::store {
namespace {

constexpr const char* kStep = "record";

// Locked. Not valid: it was full, or a collection took it away before it was locked.
Result<Fd> enter_book(int state, const std::string& id) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd book(::openat(state, kBook, kFlags, 0600));
  if (!book.valid()) return fail_errno(errno, kStep, "the book of runs could not be opened");
  CLOCHE_TRY_ASSIGN(const BookLock lock, lock_life(book.get(), id));
  if (lock == BookLock::kBusy) return Fd();
  struct stat st{};
  if (::fstat(book.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kRefused, kStep, "the book of runs is not a regular file");
  }
  if (st.st_nlink == 0) return Fd();
  if (static_cast<std::size_t>(st.st_size) < kFullBook) return book;
  // Somebody else may have done so first; then it is a short book that is set aside, which harms nobody.
  set_book_aside(state, id);
  return Fd();
}

}  // namespace

Result<PlainRecord> PlainRecord::begin(const Place& place, const std::string& id, const RunFacts& facts) {
  if (!is_run_id(id)) return fail(ErrorCode::kInternal, kStep, "the name of the run cannot be recorded");
  CLOCHE_TRY_ASSIGN(const Fd state, make_state(place));
  Fd book;
  constexpr int kTries = 8;
  for (int i = 0; i < kTries && !book.valid(); ++i) {
    CLOCHE_TRY_ASSIGN(book, enter_book(state.get(), id));
  }
  if (!book.valid()) return fail(ErrorCode::kSystem, kStep, "the book of runs was taken away");
  RunFile file{id, facts, ::getpid(), moment_now(), {}, {}};
  file.facts.argv = bounded(facts.argv);
  CLOCHE_TRY(write_whole(book.get(), book_start(file), kBook));
  return PlainRecord(std::move(book), std::move(file));
}

Status PlainRecord::finish(const RunEnd& end, std::string_view report_json) {
  file_.end = end;
  file_.ended = moment_now();
  CLOCHE_TRY_ASSIGN(const std::string text, book_end(file_, report_json));
  // In one piece, so that nothing of another run comes between.
  return write_whole(book_.get(), text, kBook);
}

}  // namespace cloche::store
