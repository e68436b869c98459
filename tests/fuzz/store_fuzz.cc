// Records of runs, which anybody who may write to the state directory may have written: the book and run.json. What is
// read lies inside of the text, and what is accepted reads back as it is written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/book_text.h"
#include "store/run_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool lies_within(const cloche::store::BookRange& range, std::string_view text) {
  return range.at <= text.size() && range.size <= text.size() - range.at;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto file = cloche::store::decode(text)) {
    const auto again = cloche::store::decode(cloche::store::encode(*file));
    require(again && *again == *file);
  }
  for (const cloche::store::BookRun& run : cloche::store::read_book(text)) {
    require(!run.file.id.empty());
    require(lies_within(run.report, text));
    require(!run.places.empty());
    for (const auto& place : run.places) require(lies_within(place, text));
    // A run that is written anew is found as it was.
    if (!run.file.end) continue;
    const auto entry = cloche::store::book_end(run.file, text.substr(run.report.at, run.report.size));
    if (!entry) continue;
    const auto found = cloche::store::read_book("half of a word" + *entry);
    require(found.size() == 1 && found[0].file == run.file);
  }
  return 0;
}
