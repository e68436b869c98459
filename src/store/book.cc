#include "store/book.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "store/book_lock.h"
#include "store/place.h"

namespace cloche::store {
namespace {

constexpr const char* kStep = "book of runs";
constexpr std::string_view kAside = "book-";
constexpr std::size_t kMostBooks = 10'000;
// A reader looks no further; runs set a book aside long before.
constexpr std::size_t kReadLimit = std::size_t{128} * 1024 * 1024;

bool is_book(std::string_view name) {
  return name == kBook || (name.starts_with(kAside) && is_run_id(name.substr(kAside.size())));
}

Result<Fd> open_text(int state, const std::string& name, int mode) {
  Fd file(::openat(state, name.c_str(), mode | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, kStep, "could not be opened");
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kRefused, kStep, "it is not a regular file");
  }
  return file;
}

Result<std::string> read_text(int file) {
  std::string out;
  struct stat st{};
  if (::fstat(file, &st) != 0) return fail_errno(errno, kStep, "could not be read");
  out.resize(std::min(static_cast<std::size_t>(st.st_size), kReadLimit));
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t n = ::pread(file, out.data() + have, out.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, kStep, "could not be read");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

// A hole where it was: its blocks are free, and readers pass over it.
Status blank(int file, BookRange place) {
  const auto at = static_cast<off_t>(place.at);
  if (::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(place.size)) == 0) return {};
  // A file system without holes.
  const std::string nothing(place.size, '\n');
  std::size_t done = 0;
  while (done < nothing.size()) {
    const ssize_t n = ::pwrite(file, nothing.data() + done, nothing.size() - done, at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, kStep, "could not be written");
    done += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

bool set_book_aside(int state, std::string_view mark) {
  const std::string aside = std::string(kAside) + std::string(mark);
  return ::renameat2(state, kBook, state, aside.c_str(), RENAME_NOREPLACE) == 0;
}

Result<Book> Book::open(int state, const std::string& name, Use use) {
  CLOCHE_TRY_ASSIGN(Fd file, open_text(state, name, use == Use::kChange ? O_RDWR : O_RDONLY));
  CLOCHE_TRY_ASSIGN(std::string first, read_text(file.get()));
  Book book(std::move(file), std::move(first));
  std::set<std::string> dead;
  for (const BookRun& run : book.runs_) {
    if (!run.file.end && !is_alive(book.file_.get(), run.file.id)) dead.insert(run.file.id);
  }
  if (dead.empty()) return book;
  // They may have ended since their entry was read.
  CLOCHE_TRY_ASSIGN(std::string second, read_text(book.file_.get()));
  Book again(std::move(book.file_), std::move(second));
  again.dead_ = std::move(dead);
  return again;
}

RunState Book::state_of(const BookRun& run) const {
  if (run.file.end) return RunState::kDone;
  return dead_.contains(run.file.id) ? RunState::kCrashed : RunState::kRunning;
}

std::string_view Book::report_of(const BookRun& run) const {
  return std::string_view(text_).substr(run.report.at, run.report.size);
}

Bytes Book::size_of(const BookRun& run) {
  Bytes out;
  for (const BookRange& place : run.places) out.count += place.size;
  return out;
}

Result<std::vector<std::string>> book_names(int state) {
  const int fd = ::openat(state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* list) { ::closedir(list); };
  const std::unique_ptr<DIR, decltype(close)> list(fd < 0 ? nullptr : ::fdopendir(fd), close);
  if (!list) return fail_errno(errno, kStep, "the state directory could not be listed");
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(list.get())) {
    if (is_book(entry->d_name) && names.size() < kMostBooks) names.emplace_back(entry->d_name);
  }
  return names;
}

Status Book::strike(const std::set<std::string>& ids) {
  for (const BookRun& run : runs_) {
    if (!ids.contains(run.file.id) || state_of(run) == RunState::kRunning) continue;
    // From its start on: whoever is killed between leaves a run that is done, or one that crashed.
    for (const BookRange& place : run.places) CLOCHE_TRY(blank(file_.get(), place));
  }
  return {};
}

Status remove_if_empty(int state, const std::string& name) {
  CLOCHE_TRY_ASSIGN(const Book seen, Book::open(state, name));
  if (!seen.runs().empty()) return {};
  std::string aside = name;
  if (name == kBook) {
    // Runs begin in what has this name, and a name is all that can be removed.
    const std::string mark =
        "gc" + std::to_string(::getpid()) + "t" + std::to_string(Clock::now().time_since_epoch().count());
    if (!set_book_aside(state, mark)) return {};
    aside = std::string(kAside) + mark;
  }
  CLOCHE_TRY_ASSIGN(const Fd file, open_text(state, aside, O_RDWR));
  CLOCHE_TRY_ASSIGN(const BookLock lock, lock_all(file.get()));
  if (lock == BookLock::kBusy) return {};
  // Whoever began meanwhile has ended, too, and stays.
  CLOCHE_TRY_ASSIGN(const std::string text, read_text(file.get()));
  if (!read_book(text).empty()) return {};
  if (::unlinkat(state, aside.c_str(), 0) != 0) return fail_errno(errno, kStep, "could not be removed");
  return {};
}

}  // namespace cloche::store
