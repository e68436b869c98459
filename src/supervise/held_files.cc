#include "supervise/held_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kListLimit = std::size_t{4} << 20;
constexpr std::size_t kEntryBytes = std::size_t{16} * 1024;
constexpr std::size_t kMostTasks = 65'536;
constexpr std::uint64_t kBlock = 512;

std::vector<pid_t> numbers_in(std::string_view text) {
  std::vector<pid_t> out;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_of("0123456789");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    pid_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) break;
    out.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return out;
}

// Every thread: one can be made with a table of descriptors of its own.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> out;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(path.c_str()), &::closedir);
  while (list != nullptr) {
    const struct dirent* entry = ::readdir(list.get());
    if (entry == nullptr) break;
    for (const pid_t number : numbers_in(entry->d_name)) out.push_back(number);
  }
  return out;
}

std::vector<pid_t> descendants_of(pid_t init) {
  std::vector<pid_t> out;
  std::vector<pid_t> processes{init};
  while (!processes.empty() && out.size() < kMostTasks) {
    const pid_t process = processes.back();
    processes.pop_back();
    for (const pid_t thread : threads_of(process)) {
      out.push_back(thread);
      const auto children = sys::read_file(
          "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/children", kListLimit);
      if (!children) continue;
      for (const pid_t child : numbers_in(*children)) processes.push_back(child);
    }
  }
  return out;
}

}  // namespace

void HeldFiles::restart(const CgroupLeaf& group, pid_t init) {
  tasks_.clear();
  folder_.reset();
  size_ = at_ = 0;
  seen_.clear();
  found_ = {};
  for (const std::string& path : group.paths()) {
    for (const char* file : {"/cgroup.threads", "/tasks"}) {
      if (const auto text = sys::read_file(path + file, kListLimit)) tasks_ = numbers_in(*text);
      if (!tasks_.empty()) return;
    }
  }
  tasks_ = descendants_of(init);
}

TreeMeter::Progress HeldFiles::advance(Clock::time_point until, const std::set<dev_t>& devices) {
  do {
    if (!folder_.valid()) {
      if (tasks_.empty()) return TreeMeter::Progress::kDone;
      const std::string path = "/proc/" + std::to_string(tasks_.back()) + "/fd";
      tasks_.pop_back();
      folder_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      size_ = at_ = 0;
      continue;
    }
    if (at_ >= size_) {
      if (entries_.empty()) entries_.resize(kEntryBytes);
      const long n = ::syscall(SYS_getdents64, folder_.get(), entries_.data(), entries_.size());
      at_ = 0;
      size_ = n > 0 ? static_cast<std::size_t>(n) : 0;
      if (n <= 0) folder_.reset();
      continue;
    }
    const auto* entry = reinterpret_cast<const struct dirent64*>(entries_.data() + at_);
    at_ += entry->d_reclen;
    look(entry->d_name, devices);
  } while (Clock::now() < until);
  return TreeMeter::Progress::kMore;
}

void HeldFiles::look(const char* name, const std::set<dev_t>& devices) {
  // Through the kernel's own link, which leads to the very file.
  struct stat st{};
  if (name[0] == '.' || ::fstatat(folder_.get(), name, &st, 0) != 0) return;
  if (!S_ISREG(st.st_mode) || st.st_nlink != 0 || !seen_.emplace(st.st_dev, st.st_ino).second) return;
  if (!devices.contains(st.st_dev)) {
    // What has no disk behind it is bounded by other limits: memory files, and the scratch.
    const Fd file(::openat(folder_.get(), name, O_PATH | O_CLOEXEC));
    struct statfs fs{};
    if (!file.valid() || ::fstatfs(file.get(), &fs) != 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC)
      return;
  }
  ++found_.files;
  found_.bytes += static_cast<std::uint64_t>(st.st_blocks) * kBlock;
}

}  // namespace cloche
