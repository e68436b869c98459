// A temporary directory with a tree in it and a victim beside it, and what both look like.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "sys/file.h"
#include "tree/apply.h"
#include "tree/inspect.h"

namespace cloche::tree {

namespace fs = std::filesystem;

// Path to "kind mode content".
using Picture = std::map<std::string, std::string>;

inline Result<sys::HmacKey> test_key() {
  sys::HmacKey key{};
  key.fill(7);
  return key;
}

// In memory where that is possible: thousands of applications would wait for the disk otherwise.
inline fs::path quick_place() {
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

// A user's state, of which processes that tests end must leave something.
class TestState {
 public:
  TestState() : place_((quick_place() / "cloche-tree-state-XXXXXX").string()) {
    if (::mkdtemp(place_.data()) == nullptr) ::abort();
  }
  ~TestState() { (void)sys::remove_tree(place_); }
  TestState(const TestState&) = delete;
  TestState& operator=(const TestState&) = delete;

  KeySource source() const {
    const auto read = [place = place_](const std::string& tree) {
      std::ifstream file(place + "/" + tree);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    return {&test_key, [read](const std::string& tree) { return Result<std::string>(read(tree)); },
            [place = place_](const std::string& tree, const std::string& number) {
              std::ofstream(place + "/" + tree) << number;
              return Status();
            },
            [place = place_, read](const std::string& tree, const std::string& number) {
              if (read(tree) == number) fs::remove(place + "/" + tree);
              return Status();
            }};
  }

 private:
  std::string place_;
};
// Made before any test: a process that one ends has the same.
inline const TestState kTestState;
inline KeySource test_source() { return kTestState.source(); }

// With a key, as everybody has one.
inline Options with_key(Options options) {
  if (!options.key) options.key = test_source();
  return options;
}
inline Result<Applied> try_apply(int root, std::span<const Change> changes, const Options& options = {}) {
  return tree::apply(root, changes, with_key(options));
}
inline Result<Recovered> try_recover(int root, const Options& options = {}) { return recover(root, with_key(options)); }

// Runs `work` in a process that ends right before that step, as if by kill -9.
inline void ends_at(std::string_view last, const std::function<void(const Options&)>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    Options options;
    options.progress = [last](std::string_view step) {
      if (step == last) ::_exit(1);
    };
    work(options);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << last << " was not reached";
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void picture_into(const std::string& folder, const std::string& prefix, Picture& picture) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = prefix + entry.path().filename().string();
    struct stat st{};
    ASSERT_EQ(::lstat(entry.path().c_str(), &st), 0);
    const std::string mode = std::to_string(st.st_mode & 07777);
    if (S_ISLNK(st.st_mode)) {
      picture[name] = "link " + fs::read_symlink(entry.path()).string();
    } else if (S_ISREG(st.st_mode)) {
      picture[name] = "file " + mode + " " + bytes_of(entry.path().string());
    } else if (S_ISDIR(st.st_mode)) {
      picture[name] = "directory " + mode;
      const bool closed = (st.st_mode & 0500) != 0500;
      ASSERT_TRUE(!closed || ::chmod(entry.path().c_str(), 0700) == 0);
      picture_into(entry.path().string(), name + "/", picture);
      ASSERT_TRUE(!closed || ::chmod(entry.path().c_str(), st.st_mode & 07777) == 0);
    } else {
      picture[name] = "other " + mode;
    }
  }
}

class TempTree {
 public:
  explicit TempTree(const fs::path& place = fs::temp_directory_path()) {
    std::string name = (place / "cloche-tree-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    top_ = name;
    ::mkdir(path().c_str(), 0755);
    ::mkdir(victim().c_str(), 0755);
    fd_ = Fd(::open(path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~TempTree() {
    if (!top_.empty()) (void)sys::remove_tree(top_);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  int fd() const { return fd_.get(); }
  std::string path(const std::string& name = {}) const { return top_ + "/tree" + (name.empty() ? "" : "/" + name); }
  std::string victim(const std::string& name = {}) const { return top_ + "/victim" + (name.empty() ? "" : "/" + name); }

  void file(const std::string& name, const std::string& bytes, mode_t mode = 0644) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }
  void folder(const std::string& name, mode_t mode = 0755) const {
    ASSERT_EQ(::mkdir(path(name).c_str(), 0700), 0);
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }
  void link(const std::string& name, const std::string& target) const {
    ASSERT_EQ(::symlink(target.c_str(), path(name).c_str()), 0);
  }

  Picture picture() const {
    Picture result;
    picture_into(path(), "", result);
    return result;
  }
  Picture victim_picture() const {
    Picture result;
    picture_into(victim(), "", result);
    return result;
  }
  bool staging_exists() const { return fs::exists(fs::symlink_status(path(".cloche-apply"))); }

 private:
  std::string top_;
  Fd fd_;
};

inline Change add(std::string path, std::string bytes, mode_t mode = 0644) {
  FileState after = regular_state(bytes, mode);
  return {std::move(path), std::nullopt, std::move(after), std::move(bytes)};
}
inline Change add_folder(std::string path, mode_t mode = 0755) {
  return {std::move(path), std::nullopt, directory_state(mode), {}};
}
inline Change add_link(std::string path, std::string target) {
  return {std::move(path), std::nullopt, symlink_state(std::move(target)), {}};
}
inline std::optional<FileState> state_now(const TempTree& tree, const std::string& path) {
  auto state = inspect(tree.fd(), path);
  EXPECT_TRUE(state) << (state ? "" : state.error().text());
  return state ? *state : std::nullopt;
}
// Against the state that the tree has now.
inline Change remove_now(const TempTree& tree, const std::string& path) {
  return {path, state_now(tree, path), std::nullopt, {}};
}
inline Change replace_now(const TempTree& tree, Change change) {
  change.before = state_now(tree, change.path);
  return change;
}

template <typename... Changes>
std::vector<Change> proposal(Changes&&... changes) {
  std::vector<Change> list;
  (list.push_back(std::forward<Changes>(changes)), ...);
  return list;
}

inline void expect_applied(const Result<Applied>& result) {
  ASSERT_TRUE(result) << result.error().text();
  for (const Conflict& conflict : result->conflicts) ADD_FAILURE() << conflict.path << ": " << conflict.reason;
  EXPECT_TRUE(result->applied);
}

}  // namespace cloche::tree
