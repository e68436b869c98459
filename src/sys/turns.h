// How long this process may stay on a cpu before another one has it.
#pragma once

#include <chrono>

namespace cloche::sys {

// A process that is woken may be put before the one that woke it. A guest that has written half of what it has to say
// would stop for whoever passes it on, which would sleep and be woken again for the rest. Whoever has longer turns than
// the others, whose turns are 1 to 3 ms, is put before them less often, and gets no less in all. Only faster: before
// Linux 6.12 nothing changes, a kernel that says no is left alone, and so is a process with a scheduling policy of its
// own. Children have the usual turns. None at all stands for the usual ones.
void take_turns_of(std::chrono::nanoseconds length);

}  // namespace cloche::sys
