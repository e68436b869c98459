#include "outputs/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/glyph.h"
#include "base/utf8.h"
#include "tree/file_names.h"
#include "tree/path_rules.h"

namespace cloche::outputs {
namespace {

std::unexpected<Error> broken(std::string rule) {
  return fail(ErrorCode::kInvalidInput, "path", std::move(rule), "name files by plain paths below the target");
}

Status check_characters(std::string_view path) {
  while (!path.empty()) {
    const Utf8Char next = decode_utf8(path);
    if (next.length == 0) return broken("the path is not UTF-8");
    if (unsafe_to_show(next.code)) return broken("the path has a character that cannot be seen");
    path.remove_prefix(next.length);
  }
  return {};
}

// Every space separator of Unicode: in a list of paths it cannot be told from what is around it.
bool is_blank(char32_t code) {
  return code == ' ' || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

// After check_characters.
Status check_blanks(std::string_view path) {
  const auto refused = [] { return broken("the path has a name that begins or ends with a blank"); };
  char32_t before = '/';
  while (!path.empty()) {
    const Utf8Char next = decode_utf8(path);
    if ((before == '/' && is_blank(next.code)) || (is_blank(before) && next.code == '/')) return refused();
    before = next.code;
    path.remove_prefix(next.length);
  }
  if (is_blank(before)) return refused();
  return {};
}

// Separators sort before everything else, so that what lies below a path comes right after it.
constexpr char kSeparator = '\x01';

struct Key {
  std::string text;
  std::size_t index = 0;
};

Key key_of(std::string_view path, std::size_t index) {
  Key key{{}, index};
  for (const std::string& name : tree::plain_components(path)) {
    if (!key.text.empty()) key.text += kSeparator;
    key.text += name;
  }
  return key;
}

// Directories of `next` that `previous` does not have.
std::size_t new_folders(std::string_view previous, std::string_view next) {
  const std::size_t shared = static_cast<std::size_t>(std::ranges::mismatch(previous, next).in2 - next.begin());
  return static_cast<std::size_t>(std::ranges::count(next.substr(shared), kSeparator));
}

}  // namespace

Status check_output_path(std::string_view path) {
  CLOCHE_TRY(tree::check_path(path));
  if (path.size() > kMaxPathBytes) return broken(fmt::format("the path has more than {} bytes", kMaxPathBytes));
  CLOCHE_TRY(check_characters(path));
  CLOCHE_TRY(check_blanks(path));
  const std::vector<std::string> names = tree::plain_components(path);
  if (names.size() > kMaxDepth) return broken(fmt::format("the path has more than {} components", kMaxDepth));
  if (std::ranges::find(names, kManifestName) != names.end()) {
    return broken("the path names the manifest, which says who owns what");
  }
  return {};
}

std::optional<Clash> find_clash(std::span<const std::string_view> paths) {
  std::vector<Key> keys;
  keys.reserve(paths.size());
  for (const std::string_view path : paths) keys.push_back(key_of(path, keys.size()));
  std::ranges::sort(keys,
                    [](const Key& a, const Key& b) { return std::tie(a.text, a.index) < std::tie(b.text, b.index); });
  std::size_t folders = 0;
  std::string_view previous;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    folders += new_folders(previous, keys[i].text);
    if (folders > kMaxFolders)
      return Clash{keys[i].index, fmt::format("with it there are more than {} directories", kMaxFolders)};
    if (i > 0) {
      const std::string other = tree::printable(paths[keys[i - 1].index]);
      if (keys[i].text == previous)
        return Clash{keys[i].index, fmt::format("{} is the same path to some file systems", other)};
      if (keys[i].text.starts_with(std::string(previous) + kSeparator)) {
        return Clash{keys[i].index, fmt::format("{} is a file above it", other)};
      }
    }
    previous = keys[i].text;
  }
  return std::nullopt;
}

}  // namespace cloche::outputs
