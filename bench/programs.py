"""Programs that people use, reading a whole tree: on the host, in a cell that is granted it, and in a workspace; and the
reader of workspace.py where nothing of the tree is in memory."""
import os
import shutil
import subprocess

from figures import build_c
from growth import measure, tabulate

FILES = 2_000
FOLDER = 50
GIT = ["git", "-c", "safe.directory=*", "--no-optional-locks"]
LINE = "the quick brown fox jumps over the lazy dog\n"

# Runs a command, reads all that it says, and prints how many microseconds that took; the first time fills the caches.
TIMER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static char buffer[1 << 16];
int main(int argc, char** argv) {
  struct timespec a, b;
  int round, ends[2], status = 1;
  if (argc < 2) return 2;
  for (round = 0; round < 2; ++round) {
    if (pipe2(ends, O_CLOEXEC) != 0) return 2;
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], 1);
      execvp(argv[1], argv + 1);
      _exit(127);
    }
    close(ends[1]);
    while (read(ends[0], buffer, sizeof buffer) > 0) {}
    close(ends[0]);
    waitpid(child, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
  }
  /* grep says 1 where it found nothing */
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return 3;
  printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
  return 0;
}
"""

# Mounted for one command alone, in a mount namespace of its own; the device goes with the mount. The kernel reads the
# image past the page cache, so that nothing of it is in memory.
FRESH = """
device=$(losetup --find --show --read-only --direct-io=on "$1") || exit 1
mount -o ro "$device" "$2"; mounted=$?
losetup --detach "$device"
[ $mounted = 0 ] || exit 1
shift 2
exec "$@"
"""


def took(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e3


def ways_to_read(cell, tree, host, inside=None):
    """On the host, granted, and as a workspace; `inside` is what a cell gets where that differs."""
    inside = inside or host
    return {"on the host": lambda: took(host), "granted": lambda: took([*cell, "--read", tree, "--", *inside]),
            "workspace": lambda: took([*cell, "--workspace", tree, "--", *inside])}


def make_repository(top):
    for number in range(FILES):
        folder = os.path.join(top, f"folder-{number // FOLDER}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"file-{number}.c"), "w") as file:
            file.write(f"{number}\n" + LINE * (number % 200))
        os.utime(file.name, (1, 1))  # or git would not trust its own notes of files that have just been made
    if shutil.which("git"):
        git = ["git", "-C", top, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
            subprocess.run([*git, *words], check=True, stdout=subprocess.DEVNULL)


def everyday(cell, folder, rounds):
    tree = os.path.join(folder, "repository")
    make_repository(tree)
    timer = build_c(folder, "timer", TIMER)
    commands = {"grep -r": ["grep", "-r", "nothing has this", tree], "tar c": ["tar", "-C", tree, "-c", "."],
                "git status": [*GIT, "-C", tree, "status", "--short"],
                "git status with core.checkStat=minimal": [*GIT, "-c", "core.checkStat=minimal", "-C", tree, "status", "--short"]}
    result = {}
    for name, command in commands.items():
        if shutil.which(command[0]) is None:
            continue
        ways = ways_to_read([*cell, "--exec", timer], tree, [timer, *command])
        title = f"{name} of {FILES:,} files"
        result[title] = tabulate(f"{title}, in the program itself (ms)", "way", measure(ways, rounds))
    return result


def afresh(cell, reader, tree, folder, rounds):
    """Root only: others mount nothing."""
    maker = shutil.which("mke2fs", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if os.geteuid() != 0 or maker is None:
        return {}
    image, point = os.path.join(folder, "image"), os.path.join(folder, "fresh")
    os.mkdir(point)
    subprocess.run([maker, "-q", "-t", "ext4", "-d", tree, image, "256M"], check=True, stdout=subprocess.DEVNULL)
    os.sync()
    fresh = ["unshare", "-m", "sh", "-c", FRESH, "sh", image, point]
    read = [reader, point, "once"]
    ways = ways_to_read([*fresh, *cell, "--exec", reader], point, [*fresh, *read], read)
    name = "a file system that was just mounted"
    return {name: tabulate(f"reading {name}, in the program itself (ms)", "way", measure(ways, rounds))}
