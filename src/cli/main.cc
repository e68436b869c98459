// cloche: the command line. This file answers what must be answered before anything else happens and hands over.
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

#include "cli/attendant.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "door/door.h"
#include "keeper/starter.h"

namespace {

// With more rights than its caller, the program would do with them what the caller's arguments say (CONTAINMENT 26).
bool has_more_rights_than_its_caller() {
  return ::getauxval(AT_SECURE) != 0 || ::getuid() != ::geteuid() || ::getgid() != ::getegid();
}

}  // namespace

int main(int argc, char** argv) {
  // Its start-up is the floor of every run's: nothing is allocated, opened or looked up before this answer.
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    constexpr char kText[] = "cloche " CLOCHE_VERSION "\n";
    return ::write(STDOUT_FILENO, kText, sizeof kText - 1) == sizeof kText - 1 ? 0 : 1;
  }
  if (has_more_rights_than_its_caller()) {
    constexpr char kText[] =
        "cloche: it refuses to run set-uid, set-gid or with file capabilities; run it as the user it is to act for\n";
    (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
    return cloche::cli::kExitRefused;
  }
#ifndef CLOCHE_DOOR_FIRST
  cloche::door::cloche_hand_over(reinterpret_cast<const long*>(argv) - 1);  // as the kernel laid them out
#endif
  cloche::cli::fill_standard_descriptors();
  if (argc == 3 && std::strcmp(argv[0], cloche::keeper::kAttendantName) == 0) return cloche::cli::attend({argv + 1, 2});
  return cloche::cli::dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
}
