#include "tree/path_rules.h"

#include <algorithm>

#include "tree/file_names.h"

namespace cloche::tree {
namespace {

constexpr std::size_t kShownBytes = 200;

// Why this component may not be, or nullptr.
const char* broken_rule(std::string_view name) {
  if (name.empty()) return "has an empty component";
  if (name == ".") return "has a component \".\"";
  if (name == "..") return "has a component \"..\"";
  if (name.size() > kMaxComponent) return "has a component of more than 255 bytes";
  if (is_staging_name(name)) return "names the directory that applying itself uses";
  return nullptr;
}

std::unexpected<Error> broken(std::string_view path, const char* rule) {
  return fail(ErrorCode::kInvalidInput, "path " + printable(path), std::string("the path ") + rule,
              "a proposal names files by plain paths below the tree");
}

}  // namespace

// The tree may lie on a file system that takes other spellings for the same name; none is shorter.
bool is_staging_name(std::string_view name) {
  return name.size() >= kStagingName.size() && plain_name(name) == kStagingName;
}

Status check_path(std::string_view path) {
  if (path.empty()) return broken(path, "is empty");
  if (path.size() > kMaxPath) return broken(path, "has more than 4096 bytes");
  if (path.find('\0') != std::string_view::npos) return broken(path, "has a NUL byte");
  if (path.front() == '/') return broken(path, "is absolute");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (const char* rule = broken_rule(path.substr(begin, end - begin))) return broken(path, rule);
    begin = end + 1;
  }
  return {};
}

std::string printable(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < path.size() && text.size() < kShownBytes; ++i) {
    const auto byte = static_cast<unsigned char>(path[i]);
    // The second half of the control characters takes two bytes in UTF-8: 0xc2 and the character.
    const bool second_half = byte == 0xc2 && i + 1 < path.size() && static_cast<unsigned char>(path[i + 1]) < 0xa0;
    if (byte >= 0x20 && byte != 0x7f && !second_half) {
      text += path[i];
      continue;
    }
    text += "\\x";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  if (text.size() >= kShownBytes && text.size() < path.size()) text += "...";
  return text;
}

}  // namespace cloche::tree
