#include "diff/stat.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/glyph.h"
#include "base/utf8.h"
#include "diff/quote.h"

namespace cloche::diff {
namespace {

constexpr std::size_t kLeastBar = 10;
constexpr std::size_t kLeastName = 10;
constexpr std::size_t kMostColumns = 1000;  // so that counts times columns fit a number
constexpr std::string_view kBinary = "Bin";

std::size_t total(const Stat& stat) { return stat.added + stat.removed; }

// Of quoted paths, which are UTF-8.
std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    columns += columns_of(c.code);
    text.remove_prefix(std::max<std::size_t>(c.length, 1));
  }
  return columns;
}

// Cut at the beginning: the file's own name is what tells two lines apart.
std::string fit_name(const std::string& name, std::size_t columns) {
  constexpr std::string_view kCut = "...";
  std::string_view rest = name;
  std::size_t width = width_of(rest);
  if (width <= columns) return name + std::string(columns - width, ' ');
  while (width > columns - kCut.size()) {
    const Utf8Char c = decode_utf8(rest);
    width -= columns_of(c.code);
    rest.remove_prefix(std::max<std::size_t>(c.length, 1));
  }
  return std::string(kCut) + std::string(rest) + std::string(columns - kCut.size() - width, ' ');
}

struct Layout {
  std::size_t name = 0;
  std::size_t count = 0;
  std::size_t bar = 0;
  std::size_t most = 0;  // lines that the longest bar stands for
};

Layout lay_out(std::span<const FileStat> files, std::size_t columns) {
  Layout layout;
  for (const FileStat& file : files) {
    layout.name = std::max(layout.name, width_of(quote_path(file.path)));
    layout.most = std::max(layout.most, file.stat ? total(*file.stat) : 0);
    if (!file.stat) layout.count = kBinary.size();
  }
  layout.count = std::max(layout.count, fmt::formatted_size("{}", layout.most));
  const std::size_t fixed = layout.count + 5;  // " ", " | ", " "
  const std::size_t room = std::clamp(columns, fixed + kLeastName + kLeastBar, kMostColumns) - fixed;
  layout.name = std::min(layout.name, room - std::min(layout.most, kLeastBar));
  layout.bar = std::min(room - layout.name, layout.most);
  return layout;
}

Stat scaled(const Stat& stat, const Layout& layout) {
  if (layout.most <= layout.bar) return stat;
  const std::size_t all = total(stat);
  const std::size_t sides = (stat.added > 0 ? 1u : 0u) + (stat.removed > 0 ? 1u : 0u);
  if (sides == 0) return {};
  const std::size_t length = std::max(sides, all * layout.bar / layout.most);
  const std::size_t plus = (stat.added * length + all / 2) / all;
  const std::size_t most_plus = length - (stat.removed > 0 ? 1 : 0);
  const std::size_t least_plus = stat.added > 0 ? 1 : 0;
  const std::size_t added = std::clamp(plus, least_plus, most_plus);
  return {added, length - added};
}

std::string painted(std::size_t count, char sign, std::string_view colour, std::string_view reset) {
  if (count == 0) return {};
  const std::string signs(count, sign);
  return colour.empty() ? signs : std::string(colour) + signs + std::string(reset);
}

std::string file_line(const FileStat& file, const Layout& layout, const Paint& paint) {
  std::string out = fmt::format(" {} | ", fit_name(quote_path(file.path), layout.name));
  if (!file.stat) return out + fmt::format("{:>{}}\n", kBinary, layout.count);
  out += fmt::format("{:>{}}", total(*file.stat), layout.count);
  const Stat bar = scaled(*file.stat, layout);
  if (total(bar) > 0) out += ' ';
  out += painted(bar.added, '+', paint.added, paint.reset);
  out += painted(bar.removed, '-', paint.removed, paint.reset);
  return out + '\n';
}

std::string sums(std::span<const FileStat> files) {
  Stat all;
  for (const FileStat& file : files) {
    if (file.stat) all = {all.added + file.stat->added, all.removed + file.stat->removed};
  }
  std::string out = fmt::format(" {} file{} changed", files.size(), files.size() == 1 ? "" : "s");
  if (all.added > 0) out += fmt::format(", {} insertion{}(+)", all.added, all.added == 1 ? "" : "s");
  if (all.removed > 0) out += fmt::format(", {} deletion{}(-)", all.removed, all.removed == 1 ? "" : "s");
  return out + '\n';
}

}  // namespace

Stat count_lines(std::span<const Hunk> hunks) {
  Stat stat;
  for (const Hunk& hunk : hunks) {
    for (const Line& line : hunk.lines) {
      stat.added += line.kind == LineKind::kAdded ? 1 : 0;
      stat.removed += line.kind == LineKind::kRemoved ? 1 : 0;
    }
  }
  return stat;
}

std::string stat_text(std::span<const FileStat> files, const StatOptions& options) {
  if (files.empty()) return {};
  const Layout layout = lay_out(files, options.columns);
  std::string out;
  for (const FileStat& file : files) out += file_line(file, layout, options.paint);
  return out + sums(files);
}

}  // namespace cloche::diff
