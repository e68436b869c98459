#include "diff/unified.h"

#include <fmt/core.h>

#include "diff/lines.h"
#include "diff/quote.h"

namespace cloche::diff {
namespace {

// The reset comes before the line feed: a background colour would otherwise fill the next line, too.
void put(std::string& out, std::string_view colour, std::string_view text, std::string_view reset) {
  out += colour;
  out += text;
  if (!colour.empty()) out += reset;
  out += '\n';
}

std::string file_name(std::string_view prefix, std::string_view path) {
  std::string name = quote_path(std::string(prefix) + std::string(path));
  // A reader takes the first blank for the end of the name unless a tab says where it ends.
  if (path.find(' ') != std::string_view::npos) name += '\t';
  return name;
}

void put_line(std::string& out, const Line& line, const UnifiedOptions& options) {
  constexpr std::string_view kSigns = " -+";
  const std::string_view colours[] = {"", options.paint.removed, options.paint.added};
  const auto kind = static_cast<std::size_t>(line.kind);
  const bool ended = ends_its_line(line.text);
  const std::string_view text = line.text.substr(0, line.text.size() - (ended ? 1 : 0));
  const std::string shown = options.showing == Showing::kHarmless ? harmless_line(text) : std::string(text);
  put(out, colours[kind], kSigns[kind] + shown, options.paint.reset);
  if (!ended) out += "\\ No newline at end of file\n";
}

}  // namespace

Paint terminal_paint() { return {"\x1b[1m", "\x1b[36m", "\x1b[32m", "\x1b[31m", "\x1b[0m"}; }

std::string unified(std::string_view path, std::span<const Hunk> hunks, const UnifiedOptions& options) {
  std::string out;
  if (hunks.empty()) return out;
  const Paint& paint = options.paint;
  const std::string before = options.change == FileChange::kAdded ? "/dev/null" : file_name("a/", path);
  const std::string after = options.change == FileChange::kDeleted ? "/dev/null" : file_name("b/", path);
  put(out, paint.header, "--- " + before, paint.reset);
  put(out, paint.header, "+++ " + after, paint.reset);
  for (const Hunk& hunk : hunks) {
    const std::string range =
        fmt::format("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count);
    put(out, paint.range, range, paint.reset);
    for (const Line& line : hunk.lines) put_line(out, line, options);
  }
  return out;
}

}  // namespace cloche::diff
