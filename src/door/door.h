// What happens before anything else of the program: a plain `cloche run` hands itself over to the user's attendant, if
// one listens, and ends as the run did. Most of what a command costs is its own start, above all that of the C library;
// so this is done without it, on the stack that the kernel made, by system calls alone.
//
// Whatever is in the way (no attendant, one that is busy or of another release, a run that is not plain) is no error:
// the program goes on as if nothing had been tried.
#pragma once

namespace cloche::door {

// `stack`: as the kernel leaves it, which is argc, argv, null, environ, null, auxiliary vector. Returns where the
// program is to do its work itself.
extern "C" void cloche_hand_over(const long* stack);

}  // namespace cloche::door
