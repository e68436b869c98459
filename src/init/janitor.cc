// cloche-janitor: what the kernel does not take back when the engine dies by SIGKILL are directories: cgroups, and the
// work directory of a tier-0 run. One janitor per engine holds the list of them and removes what is still on it when
// the engine's end of the socket closes.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init/cell.h"
#include "wire/remove_tree.h"
#include "wire/sweep.h"

namespace cloche::init {
namespace {

wire::SweepList g_list;

}  // namespace

void run_janitor() {
  prctl(PR_SET_NAME, "cloche-janitor");
  setsid();
  (void)!chdir("/");
  // A terminal's interrupt must not take the janitor before the engine.
  constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (int ignored : kIgnored) signal(ignored, SIG_IGN);
  const wire::SweepHands hands = {[](long pid) { kill(static_cast<pid_t>(pid), SIGKILL); },
                                  [](const char* path) { return wire::remove_tree(path) == 0; }};
  _exit(wire::sweep_until_closed(wire::kControlFd, g_list, hands));
}

}  // namespace cloche::init
