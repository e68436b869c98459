// Books: the records of plain runs, which keep nothing but their report. Making a file can take longer than all else a
// record needs (ext4 passes over every inode that was freed in the last minutes), so that many runs share one.
//
//   STATE/book        where runs begin
//   STATE/book-NAME   the same, once it was long enough; removed when no run in it is left
//
// A run holds a lock in its book while it lives (book_lock.h) and only adds to it (book_text.h). A collection alone
// takes something out, and leaves the rest where it is; nobody else is ever waited for.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "store/book_text.h"
#include "store/listing.h"
#include "store/lock.h"

namespace cloche::store {

inline constexpr const char* kBook = "book";
// A book that is so long is set aside by the next run.
inline constexpr std::size_t kFullBook = 256 * 1024;
// Gives the book another name, under which only collections touch it; `mark` must be new. False: there is none.
bool set_book_aside(int state, std::string_view mark);

// A book as it stands.
class Book {
 public:
  static Result<Book> open(int state, const std::string& name, Use use = Use::kRead);

  const std::vector<BookRun>& runs() const { return runs_; }
  RunState state_of(const BookRun& run) const;
  std::string_view report_of(const BookRun& run) const;
  static Bytes size_of(const BookRun& run);

  // Takes these runs out: nothing can be read of them any more. Those that live stay. Needs Use::kChange, and is a
  // collection's.
  Status strike(const std::set<std::string>& ids);

 private:
  Book(Fd file, std::string text) : file_(std::move(file)), text_(std::move(text)), runs_(read_book(text_)) {}

  Fd file_;
  std::string text_;
  std::vector<BookRun> runs_;
  std::set<std::string> dead_;  // held by nobody before text_ was read: without an end there will be none
};

// All books there are, at most 10,000.
Result<std::vector<std::string>> book_names(int state);
// Removes a book in which no run is left.
Status remove_if_empty(int state, const std::string& name);

}  // namespace cloche::store
