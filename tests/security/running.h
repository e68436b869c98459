// A command of a test: started with its output in a pipe, waited for with a deadline, never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"

namespace cloche::security {

struct Ended {
  int code = -1;  // 128+signal when it was killed
  bool in_time = true;
  std::string output;  // stdout and stderr together
};

class Running {
 public:
  // Absolute argv[0]; `extra` is added to this program's own environment.
  static Running start(const std::vector<std::string>& argv, const std::map<std::string, std::string>& extra);
  Running(Running&& other) noexcept;
  Running& operator=(Running&&) = delete;
  Running(const Running&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }
  // Reads until the text has appeared; false when the output ends or the deadline passes before.
  bool saw(const std::string& text, std::chrono::milliseconds within = std::chrono::seconds(20));
  // Reads for that long at most; true once nothing more will come.
  bool over(std::chrono::milliseconds within);
  void signal(int number) const;
  Ended finish(std::chrono::seconds within = std::chrono::seconds(40));

 private:
  Running(pid_t pid, Fd out) : pid_(pid), out_(std::move(out)) {}
  bool read_some(std::chrono::steady_clock::time_point deadline);

  pid_t pid_ = -1;
  Fd out_;
  std::string output_;
  bool ended_ = false;
};

Ended run(const std::vector<std::string>& argv, const std::map<std::string, std::string>& extra);

}  // namespace cloche::security
