// A state directory of its own for each test, and runs of any age and fate in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "store/place.h"
#include "store/record.h"
#include "store/run_file.h"
#include "sys/file.h"

namespace cloche::store {

namespace fs = std::filesystem;

inline std::string error_of(const auto& result) { return result ? "(no error)" : result.error().text(); }

class StoreCase : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    place_.directory = top_ + "/state";
  }
  void TearDown() override {
    if (!top_.empty()) (void)sys::remove_tree(top_);
  }

  std::string run_path(const std::string& id) const { return place_.directory + "/runs/" + id; }

  static RunFacts facts() { return {{"echo", "hi"}, "untrusted", "namespace"}; }

  // A run that ended so long ago.
  void plant(const std::string& id, Millis ago, std::vector<std::string> keeps = {}) {
    RunFile file{id, facts(), 1, moment_now() - ago, moment_now() - ago, RunEnd{"exited", 0, std::move(keeps)}};
    write(id, "lock", "");
    write(id, kRunFile, encode(file));
  }
  void write(const std::string& id, const std::string& name, const std::string& text) {
    fs::create_directories(run_path(id));
    fs::permissions(place_.directory, fs::perms::owner_all);
    fs::permissions(place_.directory + "/runs", fs::perms::owner_all);
    std::ofstream(run_path(id) + "/" + name, std::ios::binary) << text;
  }

  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(place_.directory + "/runs")) out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }

  std::string top_;
  Place place_;
};

// Another process that does something and then waits until it is killed; which the destructor does.
class Other {
 public:
  explicit Other(const std::function<void()>& act) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      act();
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  ~Other() { end(); }

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace cloche::store
