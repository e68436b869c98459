// How long this process may stay on a cpu before another one has it.
#pragma once

namespace cloche::sys {

// A process that is woken may be put before the one that woke it. A guest that has written half of what it has to say
// would stop for whoever passes it on, which would sleep and be woken again for the rest. Whoever has longer turns than
// the others is put before them less often, and gets no less in all. Only faster: a kernel before 6.12 takes it and does
// nothing, one that says no is left alone, and so is whatever else was chosen for this process. Children have the usual turns.
void take_longer_turns();

}  // namespace cloche::sys
