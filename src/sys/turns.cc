#include "sys/turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cloche::sys {

void take_turns_of(std::chrono::nanoseconds length) {
  struct {  // sched_attr, in a header that cannot be had together with the C library's
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;
    std::uint64_t deadline;
    std::uint64_t period;
  } attributes{};
  constexpr std::uint64_t kResetOnFork = 1;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.flags |= kResetOnFork;
  attributes.runtime = static_cast<std::uint64_t>(length.count());
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace cloche::sys
