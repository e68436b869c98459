// The text of a book: what plain runs wrote one after another, many at a time. A run writes once at its start,
//
//   @run {its facts, on one line}
//
// and once at its end, with its report as it is:
//
//   @run {its facts and its end}
//   {report}
//   @end ID
//
// Each of them begins on a new line, whatever stands before: half of a word that a killed run left harms nobody else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/run_file.h"

namespace cloche::store {

struct BookRange {
  std::size_t at = 0;
  std::size_t size = 0;
  bool operator==(const BookRange&) const = default;
};

struct BookRun {
  RunFile file;                   // with an end where that is there as a whole
  BookRange report = {};          // where there is an end
  std::vector<BookRange> places;  // all that it wrote
};

std::string book_start(const RunFile& file);
Result<std::string> book_end(const RunFile& file, std::string_view report);

// Anyone may have written it. What is no whole entry is nothing; of a run that is there twice the last end counts.
std::vector<BookRun> read_book(std::string_view text);

}  // namespace cloche::store
