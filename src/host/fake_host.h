// A host made of files in a temporary directory, for tests. Who may write what is the owner bit of each file's mode:
// the tests also run as root, whom access(2) never refuses.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "host/cgroup_probe.h"
#include "host/files.h"
#include "host/proc_text.h"

namespace cloche::host {

class FakeHost {
 public:
  FakeHost() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cloche-host-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() {
    std::error_code ignored;
    for (const auto& item : std::filesystem::recursive_directory_iterator(root_, ignored)) {
      if (item.is_directory(ignored) && !item.is_symlink(ignored)) ::chmod(item.path().c_str(), 0755);
    }
    std::filesystem::remove_all(root_, ignored);
  }

  const std::string& root() const { return root_; }

  void file(const std::string& path, std::string_view text, mode_t mode = 0644) const {
    const std::string whole = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    ::chmod(whole.c_str(), 0644);
    FILE* out = std::fopen(whole.c_str(), "w");
    if (out == nullptr) std::abort();
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    ::chmod(whole.c_str(), mode);
  }
  void directory(const std::string& path, mode_t mode = 0755) const {
    std::filesystem::create_directories(root_ + path);
    ::chmod((root_ + path).c_str(), mode);
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::filesystem::create_symlink(target, root_ + path);
  }

  CgroupProbe probe(std::string_view self_cgroup, std::string_view mountinfo, std::string named = {}) const {
    CgroupQuery query;
    query.root = root_;
    query.uid = 1000;
    query.pid = 4242;
    query.named = std::move(named);
    query.access = [](const std::string& path) {
      struct stat info{};
      if (::stat(path.c_str(), &info) != 0) return Access::kMissing;
      return (info.st_mode & S_IWUSR) != 0 ? Access::kWritable : Access::kRefused;
    };
    return probe_cgroups(self_cgroup, parse_mountinfo(mountinfo), query);
  }

 private:
  std::string root_;
};

}  // namespace cloche::host
