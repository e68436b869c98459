#include "tree/file_names.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cloche::tree {
namespace {

struct Decoded {
  std::uint32_t point;
  std::size_t bytes;
};

// One code point; a byte that is no UTF-8 stands for itself.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 1 || length > text.size()) return {first, 1};
  std::uint32_t point = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 1};
    point = point << 6 | (byte(i) & 0x3fu);
  }
  return {point, length};
}

// Unicode's Default_Ignorable_Code_Point, which contains the sixteen of HFS+.
bool ignorable(std::uint32_t point) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
      {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},  {0x180b, 0x180f},
      {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
      {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  return std::ranges::any_of(kRanges, [&](const auto& r) { return point >= r.first && point <= r.second; });
}

// Code points outside of ASCII that full case folding turns into ASCII letters.
std::string_view folded(std::uint32_t point) {
  constexpr std::pair<std::uint32_t, std::string_view> kFolds[] = {
      {0x00df, "ss"}, {0x017f, "s"},   {0x1e9e, "ss"},  {0x212a, "k"},  {0xfb00, "ff"}, {0xfb01, "fi"},
      {0xfb02, "fl"}, {0xfb03, "ffi"}, {0xfb04, "ffl"}, {0xfb05, "st"}, {0xfb06, "st"}};
  const auto* const found = std::ranges::find(kFolds, point, &std::pair<std::uint32_t, std::string_view>::first);
  return found == std::end(kFolds) ? std::string_view() : found->second;
}

std::string once_plainer(std::string_view name) {
  std::string plain;
  while (!name.empty()) {
    const auto [point, bytes] = decode(name);
    // NTFS: what follows a colon names a stream of the same file.
    if (point == ':') break;
    if (point >= 'A' && point <= 'Z') {
      plain += static_cast<char>(point - 'A' + 'a');
    } else if (const std::string_view letters = folded(point); bytes > 1 && !letters.empty()) {
      plain += letters;
    } else if (bytes == 1 || !ignorable(point)) {
      plain += name.substr(0, bytes);
    }
    name.remove_prefix(bytes);
  }
  while (!plain.empty() && (plain.back() == '.' || plain.back() == ' ')) plain.pop_back();
  return plain == "git~1" ? ".git" : plain;
}

// Nearly all names are: the others are worth the trouble below.
bool is_plain(std::string_view name) {
  const auto stays = [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != ':' && (c < 'A' || c > 'Z'); };
  return !name.ends_with('.') && !name.ends_with(' ') && std::ranges::all_of(name, stays) && name != "git~1";
}

}  // namespace

std::string plain_name(std::string_view name) {
  if (is_plain(name)) return std::string(name);
  // Bytes around what was left out may make a code point of their own.
  std::string plain = once_plainer(name);
  for (std::string again; (again = once_plainer(plain)) != plain;) plain = std::move(again);
  return plain;
}

std::vector<std::string> plain_components(std::string_view path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    names.push_back(plain_name(path.substr(begin, end - begin)));
    begin = end + 1;
  }
  return names;
}

}  // namespace cloche::tree
