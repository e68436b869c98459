// Task: a coroutine that somebody waits for. Connections are written as straight lines of code; the loop resumes them.
// A task is never destroyed while it waits: what must end is woken and ends by itself.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace cloche::gateway {

template <typename T>
class Task;

namespace task_detail {

struct Final {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    const std::coroutine_handle<> next = ended.promise().next;
    return next ? next : std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

struct PromiseBase {
  std::coroutine_handle<> next;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }  // nothing here throws but want of memory
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace task_detail

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_detail::Promise<T>;  // NOLINT(readability-identifier-naming): the language's name
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().next = waiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

namespace task_detail {
template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// Runs by itself and frees itself.
struct Detached {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's name
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};
inline Detached run_alone(Task<void> task) { co_await task; }

// Two tasks beside each other; the second to end goes on.
struct Pair {
  int left = 2;
  std::coroutine_handle<> waiting;
};
inline Detached run_half(Task<void> task, Pair& pair) {
  co_await task;
  if (--pair.left == 0 && pair.waiting) pair.waiting.resume();
}
}  // namespace task_detail

// Starts it now; nobody waits for it.
inline void start(Task<void> task) { task_detail::run_alone(std::move(task)); }

class [[nodiscard]] Both {
 public:
  Both(Task<void> first, Task<void> second) : first_(std::move(first)), second_(std::move(second)) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting) {
    task_detail::run_half(std::move(first_), pair_);
    task_detail::run_half(std::move(second_), pair_);
    if (pair_.left == 0) return false;
    pair_.waiting = waiting;
    return true;
  }
  void await_resume() const noexcept {}

 private:
  Task<void> first_;
  Task<void> second_;
  task_detail::Pair pair_;
};

}  // namespace cloche::gateway
