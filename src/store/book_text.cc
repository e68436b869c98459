#include "store/book_text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "store/place.h"

namespace cloche::store {
namespace {

constexpr std::string_view kRun = "@run ";
constexpr std::string_view kEnd = "@end ";

// Breaks in JSON text are between its values; those in a string are written as \n.
std::string on_one_line(std::string json) {
  std::ranges::replace(json, '\n', ' ');
  return json;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<BookRun> read() {
    std::size_t at = 0;
    while (at < text_.size()) {
      const std::size_t end = text_.find('\n', at);
      if (end == std::string_view::npos) break;  // a word that was never finished, or is being written
      const std::string_view line = text_.substr(at, end - at);
      if (line.starts_with(kRun)) {
        leave_off(at);
        enter(line.substr(kRun.size()), at, end + 1);
      } else if (open_ && line.starts_with(kEnd) && line.substr(kEnd.size()) == open_->file.id) {
        finish(at, end + 1);
      }
      at = end + 1;
    }
    leave_off(text_.size());
    return std::move(runs_);
  }

 private:
  struct Open {
    RunFile file;
    std::size_t at;
    std::size_t report;
  };

  void enter(std::string_view json, std::size_t at, std::size_t next) {
    if (json.size() > kRunFileLimit) return;
    auto file = decode(json);
    if (!file || !is_run_id(file->id)) return;
    if (file->end) {
      open_ = Open{std::move(*file), at, next};
    } else if (BookRun* run = find(*file)) {
      run->places.push_back({at, next - at});
    }
  }

  void finish(std::size_t at, std::size_t next) {
    if (BookRun* run = find(open_->file)) {
      run->file = std::move(open_->file);
      // Without the break that ends it.
      const std::size_t size = at > open_->report ? at - 1 - open_->report : 0;
      run->report = {open_->report, size};
      run->places.push_back({open_->at, next - open_->at});
    }
    open_.reset();
  }

  // Its writer was killed before the last line: what is there of it belongs to the run, but is no end.
  void leave_off(std::size_t at) {
    if (!open_) return;
    RunFile file = std::move(open_->file);
    file.end.reset();
    if (BookRun* run = find(file)) run->places.push_back({open_->at, at - open_->at});
    open_.reset();
  }

  BookRun* find(const RunFile& file) {
    const auto found = by_id_.find(file.id);
    if (found != by_id_.end()) return &runs_[found->second];
    if (runs_.size() == kMostRuns) return nullptr;
    by_id_.emplace(file.id, runs_.size());
    runs_.push_back({file, {}, {}});
    runs_.back().file.end.reset();
    return &runs_.back();
  }

  std::string_view text_;
  std::vector<BookRun> runs_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::optional<Open> open_;
};

}  // namespace

std::string book_start(const RunFile& file) { return "\n" + std::string(kRun) + on_one_line(encode(file)) + "\n"; }

Result<std::string> book_end(const RunFile& file, std::string_view report) {
  if (report.starts_with('@') || report.contains("\n@")) {
    return fail(ErrorCode::kInternal, "record", "the report cannot be told from what stands around it");
  }
  std::string out = book_start(file);
  out.append(report).append("\n").append(kEnd).append(file.id).append("\n");
  return out;
}

std::vector<BookRun> read_book(std::string_view text) { return Reader(text).read(); }

}  // namespace cloche::store
