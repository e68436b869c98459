// Child: a command with its output in a pipe. It ends with us, and on SIGTERM cleans up after itself: it is the bait.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "prove/attack.h"
#include "prove/stage.h"

namespace cloche::prove {

class Child {
 public:
  static Result<Child> start(const Words& argv, const Environment& env, const std::string& directory);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  Child(const Child&) = delete;
  ~Child();  // SIGTERM, after a while SIGKILL; reaps

  int descriptor() const { return out_.get(); }
  bool is_over() const { return !out_.valid(); }  // it has closed its output
  void read_some();
  bool has_said(std::string_view word) const;
  void signal(int number) const;
  int reap();  // waits; 128 + signal if it was killed
  // The beginning and the end of what it said; a flood is not kept.
  std::string output() const;

 private:
  Child(pid_t pid, Fd out) : pid_(pid), out_(std::move(out)) {}
  pid_t pid_ = -1;
  Fd out_;
  std::string head_;
  std::string tail_;
};

}  // namespace cloche::prove
