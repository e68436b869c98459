#include "cli/learn_changes.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "engine/keep.h"
#include "files/proposal.h"

namespace cloche::cli {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool is_cancelled(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&one, 1, 0) == 1;
}

// Of the host's: for the files that a guest of root's wrote there is nobody in the scratch to own more of them.
class Folder {
 public:
  Folder() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "cloche-learn-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) return;
    path_ = path;
    fd_ = Fd(::open(path.c_str(), kDirectory));
  }
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const Fd& fd() const { return fd_; }

 private:
  std::string path_;
  Fd fd_;
};

}  // namespace

learn::Changed changes_of(const Plan& plan, const Leftovers& left, int cancel_fd) {
  learn::Changed out;
  out.known = true;
  if (plan.workspaces.empty()) return out;
  out.known = false;
  const Folder folder;
  if (!folder.fd().valid()) return out;
  Keeping keeping;
  keeping.directory = folder.fd().get();
  keeping.progress = [cancel_fd](const files::Advance&) {
    return is_cancelled(cancel_fd) ? files::Answer::kStop : files::Answer::kGoOn;
  };
  Report unused;
  if (!keep_files(plan, left, keeping, unused)) return out;
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    const Fd one(::openat(folder.fd().get(), fmt::format("ws/{}", i).c_str(), kDirectory));
    const auto proposal = one.valid() ? files::load(one.get()) : fail(ErrorCode::kSystem, "learn", "no proposal");
    if (!proposal) return out;
    for (const files::Entry& entry : proposal->entries) out.paths.insert(plan.workspaces[i].path + "/" + entry.path);
  }
  out.known = true;
  return out;
}

}  // namespace cloche::cli
