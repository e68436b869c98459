// Time: reading clocks and setting timers of one's own. Setting the host's clock is in table_denied.cc.
#include "filter/table.h"

namespace cloche::filter {
namespace {

constexpr Entry kTimeEntries[] = {
    allow("time", 201, kAbsent, "seconds since the epoch"),
    allow("gettimeofday", 96, 169, "wall clock where the vDSO does not answer"),
    allow("clock_gettime", 228, 113, "clocks where the vDSO does not answer"),
    allow("clock_getres", 229, 114, "resolution of a clock"),
    allow("nanosleep", 35, 101, "sleeps for a span of time"),
    allow("clock_nanosleep", 230, 115, "sleeps until a point in time"),
    allow("alarm", 37, kAbsent, "one-shot SIGALRM"),
    allow("getitimer", 36, 102, "reads an interval timer"),
    allow("setitimer", 38, 103, "interval timer for profilers and time-outs"),
    allow("timer_create", 222, 107, "POSIX timer"),
    allow("timer_settime", 223, 110, "arms a POSIX timer"),
    allow("timer_gettime", 224, 108, "reads a POSIX timer"),
    allow("timer_getoverrun", 225, 109, "missed expirations of a POSIX timer"),
    allow("timer_delete", 226, 111, "removes a POSIX timer"),
    allow("timerfd_create", 283, 85, "timer as a descriptor for event loops"),
    allow("timerfd_settime", 286, 86, "arms a timer descriptor"),
    allow("timerfd_gettime", 287, 87, "reads a timer descriptor"),
};

}  // namespace

Group time_group() { return {"Time", kTimeEntries}; }

}  // namespace cloche::filter
