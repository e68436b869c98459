// What a process has of its caller, taken over from another process for a while: environment, working directory, mode
// of new files, stdin, stdout and stderr. Afterwards nothing of it is left.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::cli {

struct Stance {
  std::vector<char> strings;  // words and variables, each with its NUL, one behind the other; stays where it is
  std::size_t words = 0;
  std::size_t variables = 0;
  Fd streams[3];
  Fd directory;
  unsigned umask = 077;
};

// The first `count` strings, if there are just so many and each ends inside of what came.
std::optional<std::vector<char*>> point_at(std::span<char> strings, std::size_t count);

// stdin, stdout and stderr of nobody.
void leave_streams();

class BorrowedStance {
 public:
  static Result<BorrowedStance> take(Stance stance);
  BorrowedStance(BorrowedStance&& other) noexcept;
  BorrowedStance& operator=(BorrowedStance&&) = delete;
  ~BorrowedStance();

  std::span<char* const> words() const { return {pointers_.data(), stance_.words}; }

 private:
  explicit BorrowedStance(Stance stance);

  Stance stance_;
  std::vector<char*> pointers_;  // to the words, then to the variables, then null
  char** own_environment_ = nullptr;
  bool taken_ = false;
};

}  // namespace cloche::cli
