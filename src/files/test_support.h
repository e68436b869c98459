// A view made by hand: `lower` is the host's directory, `upper` what a guest made of it, `into` where it is kept.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "base/fd.h"
#include "files/capture.h"
#include "files/whereabouts.h"
#include "sys/file.h"

namespace cloche::files {

namespace fs = std::filesystem;

inline timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time;
}
// The time now, and then a wait until what happens next has a later one.
inline timespec tick() {
  ::usleep(12'000);
  const timespec first = now();
  while (now().tv_sec == first.tv_sec && now().tv_nsec == first.tv_nsec) ::usleep(500);
  return first;
}

class Desk {
 public:
  // In memory: attributes of users are possible there, and nothing waits for a disk.
  Desk() {
    std::string name =
        (::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/cloche-files-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) return;
    top_ = name;
    for (const char* folder : {"lower", "upper", "into"}) fs::create_directory(top_ + "/" + folder);
    ::chmod((top_ + "/into").c_str(), 0700);
  }
  ~Desk() {
    if (!top_.empty()) (void)sys::remove_tree(top_);
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  const std::string& top() const { return top_; }
  std::string lower(const std::string& name = {}) const { return top_ + "/lower" + (name.empty() ? "" : "/" + name); }
  std::string upper(const std::string& name = {}) const { return top_ + "/upper" + (name.empty() ? "" : "/" + name); }
  std::string into(const std::string& name = {}) const { return top_ + "/into" + (name.empty() ? "" : "/" + name); }
  Fd open_into() const { return Fd(::open(into().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }
  Fd open_lower() const { return Fd(::open(lower().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }

  // The host's directory is complete; what happens to it now happens while the guest runs.
  void start() { started_ = tick(); }
  void made() { made_ = tick(); }
  // Looks at the host's directory as a run does while its guest works.
  void look_around(ViewKind kind = ViewKind::kOverlay) {
    watched_ = open_lower();
    whereabouts_.emplace(watched_.get(), kind, started_);
    while (whereabouts_->next() != Clock::time_point::max()) whereabouts_->advance(Clock::now());
  }

  Result<Summary> capture(ViewKind kind = ViewKind::kOverlay, std::vector<std::string> covered = {},
                          int upper_fd = -1) {
    if (started_.tv_sec == 0) started_ = tick();
    const Fd lower_fd = open_lower();
    const Fd own(::open(upper().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Fd into_fd = open_into();
    View view{lower(), kind, lower_fd.get(), upper_fd >= 0 ? upper_fd : own.get(), started_, made_, std::move(covered)};
    if (whereabouts_) view.whereabouts = &*whereabouts_;
    return files::capture(view, into_fd.get());
  }

  Proposal proposal() const {
    auto loaded = load(open_into().get());
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
    return loaded ? std::move(*loaded) : Proposal{};
  }
  // "added", "modified", … of each path; the obstacle behind it, if there is one.
  std::map<std::string, std::string> changes() const {
    std::map<std::string, std::string> result;
    for (const Entry& entry : proposal().entries) {
      std::string text(to_string(kind_of(entry)));
      if (entry.obstacle != Obstacle::kNone) text += ", " + std::string(to_string(entry.obstacle));
      if (entry.has(kHostChanged)) text += ", host";
      result[entry.path] = text;
    }
    return result;
  }
  Entry entry(const std::string& path) const {
    for (Entry& entry : proposal().entries) {
      if (entry.path == path) return std::move(entry);
    }
    ADD_FAILURE() << path << " is not in the proposal";
    return {};
  }
  std::string blob(const tree::FileState& state) const {
    auto bytes = read_blob(open_into().get(), state);
    return bytes ? *bytes : "error: " + bytes.error().text();
  }

 private:
  std::string top_;
  timespec started_{};
  timespec made_{};
  Fd watched_;
  std::optional<Whereabouts> whereabouts_;
};

inline void write_file(const std::string& path, const std::string& bytes, mode_t mode = 0644) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0) << path;
}
inline void whiteout(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  ASSERT_EQ(::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(0, 0)), 0) << path;
}
inline void make_opaque(const std::string& path) {
  fs::create_directories(path);
  ASSERT_EQ(::setxattr(path.c_str(), "user.overlay.opaque", "y", 1, 0), 0) << path;
}

class CopyDesk : public Desk {
 public:
  // As the view would be made: everything with its times.
  void copy() {
    start();
    const std::string command = "cp -a '" + lower() + "/.' '" + upper() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
    made();
  }
};

using Changes = std::map<std::string, std::string>;

inline void expect_captured(const Result<Summary>& summary) { ASSERT_TRUE(summary) << summary.error().text(); }

}  // namespace cloche::files
