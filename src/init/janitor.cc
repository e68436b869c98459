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
#include "wire/remove_tree.h"

namespace cloche::init {
namespace {

constexpr int kMaxEntries = wire::kMaxWatched;
constexpr int kMaxPath = wire::kMaxWatchedPath;
struct Entry {
  char kind;  // 0: free
  char path[kMaxPath];
};
Entry g_entries[kMaxEntries];  // untouched pages cost nothing
int g_used = 0;

void handle(const char* record) {
  if (record[0] == '+' && (record[1] == 'c' || record[1] == 'd') && strlen(record + 2) < kMaxPath) {
    int slot = 0;
    while (slot < g_used && g_entries[slot].kind != 0) ++slot;
    if (slot == kMaxEntries) return;
    if (slot == g_used) ++g_used;
    g_entries[slot].kind = record[1];
    strcpy(g_entries[slot].path, record + 2);
  } else if (record[0] == '-') {
    for (int i = 0; i < g_used; ++i) {
      if (g_entries[i].kind != 0 && strcmp(g_entries[i].path, record + 1) == 0) g_entries[i].kind = 0;
    }
  }
}

void kill_members(const char* cgroup) {
  char path[kMaxPath + 32];
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

bool remove_entry(const Entry& entry) {
  if (entry.kind == 'd') {
    return wire::remove_tree(entry.path) == 0;
  }
  if (rmdir(entry.path) != 0 && errno == EBUSY) {
    kill_members(entry.path);
    return false;
  }
  return true;
}

// Whether nothing of this kind is left.
bool remove_all(char kind) {
  bool left = false;
  for (int i = 0; i < g_used; ++i) {
    if (g_entries[i].kind != kind) continue;
    if (remove_entry(g_entries[i])) {
      g_entries[i].kind = 0;
    } else {
      left = true;
    }
  }
  return !left;
}

}  // namespace

void run_janitor() {
  prctl(PR_SET_NAME, "cloche-janitor");
  setsid();
  (void)!chdir("/");
  // A terminal's interrupt must not take the janitor before the engine.
  constexpr int kIgnored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (int ignored : kIgnored) signal(ignored, SIG_IGN);
  static char buffer[wire::kMaxWatchMessage];
  size_t used = 0;
  for (;;) {
    ssize_t n = read(wire::kControlFd, buffer + used, sizeof buffer - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    used += static_cast<size_t>(n);
    size_t start = 0;
    for (size_t i = 0; i < used; ++i) {
      if (buffer[i] != '\0') continue;
      handle(buffer + start);
      start = i + 1;
    }
    used -= start;
    memmove(buffer, buffer + start, used);
    if (used == sizeof buffer) used = 0;  // no record is that long
  }
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    // Groups first: who is still alive in one would fill, or make anew, the directory that was just removed. A group
    // that will not go must not keep the directories for ever, either.
    const bool groups_gone = remove_all('c');
    const bool directories_gone = (groups_gone || round >= kRounds / 2) && remove_all('d');
    if (groups_gone && directories_gone) _exit(0);
    const struct timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  _exit(1);
}

}  // namespace cloche::init
