#include "diff/hunks.h"

#include <fmt/core.h>

#include <algorithm>

#include "diff/changes.h"
#include "diff/lines.h"

namespace cloche::diff {
namespace {

void append(std::vector<Line>& out, LineKind kind, const Lines& lines, Span span) {
  for (std::size_t i = span.begin; i < span.end; ++i) out.push_back({kind, lines[i]});
}

Span wider(Span span, std::size_t before, std::size_t after) { return {span.begin - before, span.end + after}; }

std::size_t start_number(Span span) { return span.size() == 0 ? span.begin : span.begin + 1; }

// Changes that are shown together: never empty.
Hunk make_hunk(const Lines& old_lines, const Lines& new_lines, std::span<const Change> changes, std::size_t context) {
  const Change& first = changes.front();
  const Change& last = changes.back();
  // Before the first change and after the last one both texts have the same lines, and as many.
  const std::size_t before = std::min(context, first.old_span.begin);
  const std::size_t after = std::min(context, old_lines.size() - last.old_span.end);
  const Span old_span = wider({first.old_span.begin, last.old_span.end}, before, after);
  const Span new_span = wider({first.new_span.begin, last.new_span.end}, before, after);

  Hunk hunk{start_number(old_span), old_span.size(), start_number(new_span), new_span.size(), {}};
  std::size_t shown = old_span.begin;
  for (const Change& change : changes) {
    append(hunk.lines, LineKind::kContext, old_lines, {shown, change.old_span.begin});
    append(hunk.lines, LineKind::kRemoved, old_lines, change.old_span);
    append(hunk.lines, LineKind::kAdded, new_lines, change.new_span);
    shown = change.old_span.end;
  }
  append(hunk.lines, LineKind::kContext, old_lines, {shown, old_span.end});
  return hunk;
}

std::unexpected<Error> does_not_fit(std::size_t index) {
  return fail(ErrorCode::kInvalidInput, fmt::format("apply hunk {}", index + 1),
              "the text is not the one that the difference was made of", "make the difference again");
}

Result<std::vector<bool>> as_flags(std::span<const std::size_t> chosen, std::size_t count) {
  std::vector<bool> flags(count);
  for (const std::size_t index : chosen) {
    if (index >= count) {
      return fail(ErrorCode::kInvalidInput, "choose hunks",
                  fmt::format("there is no hunk {}; the difference has {}", index + 1, count));
    }
    flags[index] = true;
  }
  return flags;
}

}  // namespace

std::vector<Hunk> diff_lines(std::string_view old_text, std::string_view new_text, std::size_t context) {
  const Lines old_lines(old_text);
  const Lines new_lines(new_text);
  const std::vector<Change> changes = find_changes(old_lines, new_lines);
  std::vector<Hunk> hunks;
  for (auto first = changes.begin(); first != changes.end();) {
    auto last = first + 1;
    // Divided rather than doubled: a caller may ask for all the context there is.
    while (last != changes.end() && (last->old_span.begin - (last - 1)->old_span.end + 1) / 2 <= context) ++last;
    hunks.push_back(make_hunk(old_lines, new_lines, {first, last}, context));
    first = last;
  }
  return hunks;
}

Result<std::string> apply_hunks(std::string_view old_text, std::span<const Hunk> hunks,
                                std::span<const std::size_t> chosen) {
  CLOCHE_TRY_ASSIGN(const std::vector<bool> flags, as_flags(chosen, hunks.size()));
  const Lines old_lines(old_text);
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < hunks.size(); ++i) {
    if (!flags[i]) continue;
    const Hunk& hunk = hunks[i];
    // A start of 0 with lines to match wraps around to a place that no text has.
    std::size_t at = hunk.old_count == 0 ? hunk.old_start : hunk.old_start - 1;
    if (at < copied || at > old_lines.size()) return does_not_fit(i);
    out += old_lines.between(copied, at);
    for (const Line& line : hunk.lines) {
      if (line.kind != LineKind::kAdded) {
        if (at == old_lines.size() || old_lines[at] != line.text) return does_not_fit(i);
        ++at;
      }
      if (line.kind != LineKind::kRemoved) out += line.text;
    }
    copied = at;
  }
  out += old_lines.between(copied, old_lines.size());
  return out;
}

}  // namespace cloche::diff
