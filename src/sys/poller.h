// Poller: epoll with owners. A Watch is one descriptor's registration; it ends with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace cloche {

class Poller {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept;
    Watch& operator=(Watch&& other) noexcept;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { reset(); }
    bool active() const { return slot_ != nullptr; }
    void reset();
    // As reset(), for a descriptor that is closed before anybody waits again, and of whose file there is no copy in any
    // process: the kernel takes it out by itself then.
    void leave_to_close();
    void set_events(std::uint32_t events);

   private:
    friend class Poller;
    struct Slot {
      int fd = -1;
      std::uint32_t events = 0;
      bool near = false;
      std::uint64_t id = 0;
      Handler handler{};
    };
    Poller* poller_ = nullptr;
    std::unique_ptr<Slot> slot_;
  };

  static Result<std::unique_ptr<Poller>> make();

  // EPOLLIN and friends. Fails with EPERM for regular files: those are always ready.
  Result<Watch> watch(int fd, std::uint32_t events, Handler handler);
  // The same, for a descriptor whose other side waits for the answer and can wake us on its own cpu: behind epoll the
  // kernel forgets that it can. Only the first few are near; each is asked in every round.
  Result<Watch> watch_near(int fd, std::uint32_t events, Handler handler);
  // Waits at most until the deadline and calls the handlers of what is ready.
  Status wait(Clock::time_point deadline);

 private:
  static constexpr std::size_t kMostNear = 8;
  Result<bool> wait_near(int timeout);

  Watch add(int fd, std::uint32_t events, bool near, Handler handler);

  Fd epoll_;
  // By a number that never comes again: whoever else holds a file open makes it outlive its watch.
  std::unordered_map<std::uint64_t, Watch::Slot*> slots_;
  std::uint64_t last_id_ = 0;
  std::vector<Watch::Slot*> near_;
  std::vector<std::unique_ptr<Watch::Slot>> ended_;  // kept until the current round is over: a handler may run in one
};

}  // namespace cloche
