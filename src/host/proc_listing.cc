// What is asked of /proc as a whole: whose tasks it shows, and what it holds besides them.
#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "host/files.h"
#include "host/probe.h"

namespace cloche {
namespace {

std::optional<std::uint64_t> field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = status.substr(at + name.size());
  std::uint64_t value = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

using Folder = std::unique_ptr<DIR, CloseFolder>;

}  // namespace

std::uint64_t count_user_tasks(std::uint32_t uid, const std::string& root) {
  const std::string proc = root + "/proc/";
  const Folder folder(::opendir(proc.c_str()));
  std::uint64_t tasks = 0;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto status = host::read_once(proc + entry->d_name + "/status");
    // The leading newline: a process may choose its name, the first line, but not a newline in it.
    if (status && field(*status, "\nUid:\t") == uid) tasks += field(*status, "\nThreads:\t").value_or(1);
  }
  return tasks;
}

std::vector<std::string> list_proc(const std::string& root) {
  const Folder folder(::opendir((root + "/proc").c_str()));
  std::vector<std::string> out;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    if ((name.front() >= '0' && name.front() <= '9') || name == "." || name == "..") continue;
    // The links lead to a process's own files.
    if (entry->d_type == DT_DIR) out.push_back(name + "/");
    if (entry->d_type == DT_REG) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace cloche
