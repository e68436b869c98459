#include <dirent.h>

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

}  // namespace

std::uint64_t count_user_tasks(std::uint32_t uid, const std::string& root) {
  const std::string proc = root + "/proc/";
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(proc.c_str()));
  std::uint64_t tasks = 0;
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto status = host::read_once(proc + entry->d_name + "/status");
    // The leading newline: a process may choose its name, the first line, but not a newline in it.
    if (status && field(*status, "\nUid:\t") == uid) tasks += field(*status, "\nThreads:\t").value_or(1);
  }
  return tasks;
}

}  // namespace cloche
