#include "tree/kept_folders.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace cloche::tree {

std::uint64_t KeptFolders::keep(int folder) {
  struct stat st{};
  if (::fstat(folder, &st) != 0) return 0;
  if (const auto known = by_inode_.find(st.st_ino); known != by_inode_.end()) {
    held_.splice(held_.begin(), held_, known->second);
    return st.st_ino;
  }
  Fd own(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return st.st_ino;
  held_.emplace_front(st.st_ino, std::move(own));
  by_inode_[st.st_ino] = held_.begin();
  if (held_.size() > kMost) {
    by_inode_.erase(held_.back().first);
    held_.pop_back();
  }
  return st.st_ino;
}

std::optional<Fd> KeptFolders::find(std::uint64_t inode) const {
  const auto known = by_inode_.find(inode);
  struct stat st{};
  if (known == by_inode_.end() || ::fstat(known->second->second.get(), &st) != 0 || st.st_nlink == 0) {
    return std::nullopt;
  }
  Fd own(::fcntl(known->second->second.get(), F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return std::nullopt;
  return own;
}

}  // namespace cloche::tree
