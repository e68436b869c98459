#include "host/socket_probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/name_pattern.h"

namespace cloche {
namespace {

constexpr std::size_t kMostLooks = 65'536;  // names that are compared, so that no directory can keep the caller
constexpr std::size_t kMostNames = 64;      // of one path

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class Search {
 public:
  explicit Search(SocketFacts& out) : out_(out) {}

  void go(const Fd& folder, const std::string& path, std::span<const std::string> names) {
    const std::string& name = names.front();
    if (name.find('*') == std::string::npos) {
      enter(folder, path, name, names.subspan(1));
      return;
    }
    for (const std::string& found : matching(folder, name)) enter(folder, path, found, names.subspan(1));
  }

 private:
  std::vector<std::string> matching(const Fd& folder, const std::string& pattern) {
    std::vector<std::string> out;
    const int own = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0) return out;
    const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(own));
    if (!directory) {
      ::close(own);
      return out;
    }
    while (const dirent* entry = ::readdir(directory.get())) {
      if (++looks_ > kMostLooks) {
        out_.too_many = true;
        break;
      }
      if (name_matches(pattern, entry->d_name)) out.emplace_back(entry->d_name);
    }
    std::ranges::sort(out);
    return out;
  }

  void enter(const Fd& folder, const std::string& path, const std::string& name, std::span<const std::string> rest) {
    if (out_.too_many) return;
    const std::string whole = path + "/" + name;
    if (!rest.empty()) {
      const Fd inner(::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.valid()) go(inner, whole, rest);
      return;
    }
    struct stat st{};
    if (::fstatat(folder.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode)) return;
    if (out_.found.size() >= kMostSockets) {
      out_.too_many = true;
      return;
    }
    out_.found.push_back(whole);
  }

  SocketFacts& out_;
  std::size_t looks_ = 0;
};

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

SocketFacts find_sockets(const std::string& pattern) {
  SocketFacts out;
  out.pattern = pattern;
  const std::vector<std::string> names = names_of(pattern);
  const bool climbs = std::ranges::any_of(names, [](const std::string& name) { return name == ".." || name == "."; });
  if (!pattern.starts_with('/') || names.empty() || names.size() > kMostNames || climbs) return out;
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.valid()) Search(out).go(root, "", names);
  std::ranges::sort(out.found);
  return out;
}

}  // namespace cloche
