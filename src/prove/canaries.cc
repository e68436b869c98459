#include "prove/canaries.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "sys/file.h"

namespace cloche::prove {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostEntries = 10'000;
constexpr std::size_t kMostContent = 64 << 10;

std::string content_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return "unreadable";
  std::string text(kMostContent, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string state_of(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return "gone";
  std::string out = fmt::format("{:o} {}", info.st_mode, info.st_uid);
  if (S_ISREG(info.st_mode)) {
    out += fmt::format(" {} {}.{} {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, content_of(path));
  }
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    out += " " + fs::read_symlink(path, error).string();
  }
  return out;
}

}  // namespace

Canaries look_at(const std::string& directory) {
  Canaries out;
  std::error_code error;
  out.emplace("", state_of(directory));
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator() && out.size() < kMostEntries; at.increment(error)) {
    const std::string path = at->path().string();
    out.emplace(path.substr(directory.size() + 1), state_of(path));
  }
  return out;
}

std::string difference(const Canaries& before, const Canaries& after) {
  for (const auto& [path, state] : before) {
    const auto found = after.find(path);
    if (found == after.end()) return fmt::format("{} is gone", path);
    if (found->second != state) return fmt::format("{} has changed", path.empty() ? "the directory itself" : path);
  }
  for (const auto& [path, state] : after) {
    if (!before.contains(path)) return fmt::format("{} was planted", path);
  }
  return {};
}

}  // namespace cloche::prove
