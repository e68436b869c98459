// Result<T>: every call that can fail returns one. An Error carries a code to branch on, the step that failed, the
// errno the kernel gave, one sentence for people and a hint what to do about it.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cloche {

enum class ErrorCode {
  kInvalidInput,  // the caller's policy, flag or argument is wrong; nothing was done
  kRefused,       // the host cannot give a guarantee the policy asks for, or the ceiling forbids it
  kNotFound,      // a file, an interpreter or a program is missing
  kSystem,        // the kernel said no where we expected yes
  kInternal,      // our own bug
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string step;     // "policy", "mount /usr", "exec": where it happened
  int errno_value = 0;  // 0: no system call was involved
  std::string message;  // one sentence, no trailing full stop
  std::string hint;     // what to do instead; may be empty

  // "step: message (strerror); hint", on one line.
  std::string text() const;

  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string step, std::string message, std::string hint = {}) {
  return std::unexpected(Error{code, std::move(step), 0, std::move(message), std::move(hint)});
}

inline std::unexpected<Error> fail_errno(int errno_value, std::string step, std::string message,
                                         std::string hint = {}) {
  return std::unexpected(Error{ErrorCode::kSystem, std::move(step), errno_value, std::move(message), std::move(hint)});
}

}  // namespace cloche

// Propagates an error out of the calling function; there is nothing to add to it at this layer.
#define CLOCHE_TRY(expr)                                            \
  do {                                                              \
    if (auto cloche_try_status = (expr); !cloche_try_status)        \
      return std::unexpected(std::move(cloche_try_status).error()); \
  } while (false)

#define CLOCHE_TRY_CONCAT_(a, b) a##b
#define CLOCHE_TRY_CONCAT(a, b) CLOCHE_TRY_CONCAT_(a, b)
#define CLOCHE_TRY_ASSIGN_(name, decl, expr)                  \
  auto name = (expr);                                         \
  if (!name) return std::unexpected(std::move(name).error()); \
  decl = std::move(*name)
#define CLOCHE_TRY_ASSIGN(decl, expr) CLOCHE_TRY_ASSIGN_(CLOCHE_TRY_CONCAT(cloche_try_, __LINE__), decl, expr)
