// cloche-janitor: what the kernel does not take back when the engine dies by SIGKILL are directories: cgroups, the work
// directory of a tier-0 run, and what is being copied out. One janitor per engine holds the list of them and removes
// what is still on it when the engine's end of the socket closes.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init/cell.h"
#include "wire/left_copy.h"
#include "wire/remove_tree.h"
#include "wire/sweep.h"

namespace cloche::init {
void run_janitor() {
  prctl(PR_SET_NAME, "cloche-janitor");
  setsid();
  (void)!chdir("/");
  // A terminal's interrupt must not take the janitor before the engine.
  constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (int ignored : kIgnored) signal(ignored, SIG_IGN);
  const wire::SweepHands hands = {[](long pid) { kill(static_cast<pid_t>(pid), SIGKILL); },
                                  [](const wire::SweepEntry& entry) {
                                    if (entry.kind == 'd') return wire::remove_tree(entry.path) == 0;
                                    return wire::remove_left_copy(entry.path, entry.told ? &entry.id : nullptr) == 0;
                                  }};
  // Not a variable: init is this program too, and counts against the guest's own limit on address space.
  void* list = mmap(nullptr, sizeof(wire::SweepList), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (list == MAP_FAILED) _exit(125);
  _exit(wire::sweep_until_closed(wire::kControlFd, *static_cast<wire::SweepList*>(list), hands));
}

}  // namespace cloche::init
