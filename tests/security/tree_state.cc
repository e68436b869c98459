#include "tree_state.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace cloche::security {
namespace fs = std::filesystem;
namespace {

std::string content_of(const fs::path& path, mode_t mode) {
  std::error_code error;
  if (S_ISLNK(mode)) return fs::read_symlink(path, error).string();
  if (!S_ISREG(mode)) return {};
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string attributes_of(const fs::path& path) {
  char names[4096];
  const ssize_t size = ::llistxattr(path.c_str(), names, sizeof names);
  std::string out;
  for (std::string_view left(names, size > 0 ? static_cast<std::size_t>(size) : 0); !left.empty();) {
    const std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    char value[4096];
    const ssize_t length = ::lgetxattr(path.c_str(), name.c_str(), value, sizeof value);
    out += name + "=" + std::string(value, length > 0 ? static_cast<std::size_t>(length) : 0) + " ";
  }
  return out;
}

std::string line_of(const fs::path& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) return path.string() + ": gone";
  return fmt::format("{}: mode {:o} owner {}:{} inode {}:{} links {} size {} mtime {}.{} ctime {}.{} {}{:?}",
                     path.string(), st.st_mode, st.st_uid, st.st_gid, st.st_dev, st.st_ino, st.st_nlink, st.st_size,
                     st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec, attributes_of(path),
                     content_of(path, st.st_mode));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

}  // namespace

std::string state_of(const std::string& directory) {
  std::vector<std::string> lines{line_of(directory)};
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) lines.push_back(line_of(entry.path()));
  if (error) lines.push_back("the walk ended early: " + error.message());
  std::ranges::sort(lines);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string first_difference(const std::string& before, const std::string& after) {
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  for (const std::string& line : old_lines) {
    if (!std::ranges::binary_search(new_lines, line)) return "was " + line;
  }
  for (const std::string& line : new_lines) {
    if (!std::ranges::binary_search(old_lines, line)) return "is " + line;
  }
  return {};
}

}  // namespace cloche::security
