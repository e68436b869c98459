// What the program says itself: errors on stderr, answers on stdout. Written with write(2): a stream library costs more
// at start-up than a whole cell.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/render.h"

namespace cloche::cli {

inline constexpr int kExitUsage = 2;     // our own command line is wrong
inline constexpr int kExitFailed = 125;  // as exit_code() has them for outcomes
inline constexpr int kExitRefused = 126;
inline constexpr int kExitCancelled = 130;

// False: nobody takes it any more.
bool put(int fd, std::string_view text);

// "cloche: where: what; what to do" on stderr; returns the exit code to use.
int complain(const Error& error, int exit_code);
// The code that an error which is not about the command line ends with.
int exit_code_of(const Error& error);

// auto, always or never; auto looks at the descriptor, NO_COLOR and TERM.
Result<Colour> choose_colour(std::string_view when, int fd);
std::size_t columns_of(int fd);  // 100 where it is no terminal

// A descriptor that is closed would be handed out to the next file that we open, and the guest's output written to it.
void fill_standard_descriptors();
// Where this program lies. Empty where /proc does not tell.
std::string own_program();

}  // namespace cloche::cli
