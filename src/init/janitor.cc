// cloche-janitor: what the kernel does not take back when the engine dies by SIGKILL are directories: cgroups, and the
// work directory of a tier-0 run. One janitor per engine holds the list of them ("+cPATH", "+dPATH", "-PATH", each
// ended by NUL, on descriptor 3) and removes what is still on it when the engine's end of the pipe closes.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "init/cell.h"
#include "init/kernel.h"
#include "init/watch_list.h"
#include "wire/remove_tree.h"

namespace cloche::init {
namespace {

constinit WatchList g_list;  // no code at start-up, for the other programs in this file would pay for it

void kill_members(const char* cgroup) {
  char path[wire::kMaxWatchedPath + 32];
  strcpy(path, cgroup);
  strcat(path, "/cgroup.procs");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  ssize_t n;
  int pid = 0;
  while ((n = read(fd, text, sizeof text)) > 0) {
    for (ssize_t i = 0; i < n; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        pid = pid * 10 + (text[i] - '0');
      } else {
        if (pid > 1) kill(pid, SIGKILL);
        pid = 0;
      }
    }
  }
  close(fd);
}

bool remove_entry(const WatchList::Entry& entry) {
  if (entry.kind == 'd') {
    return wire::remove_tree(entry.path) == 0;
  }
  if (rmdir(entry.path) != 0 && errno == EBUSY) {
    kill_members(entry.path);
    return false;
  }
  return true;
}

}  // namespace

void run_janitor() {
  prctl(PR_SET_NAME, "cloche-janitor");
  setsid();
  (void)!chdir("/");
  // A terminal's interrupt must not take the janitor before the engine.
  constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (int ignored : kIgnored) signal(ignored, SIG_IGN);
  static char buffer[8192];
  for (;;) {
    ssize_t n = read(wire::kControlFd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    g_list.take(buffer, static_cast<size_t>(n));
  }
  for (int round = 0; round < 2000; ++round) {
    bool left = false;
    for (int i = 0; i < g_list.size(); ++i) {
      if (g_list.at(i).kind == 0) continue;
      if (remove_entry(g_list.at(i))) {
        g_list.drop(i);
      } else {
        left = true;
      }
    }
    if (!left) _exit(0);
    const struct timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  _exit(1);
}

}  // namespace cloche::init
