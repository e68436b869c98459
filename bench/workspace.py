"""Workspaces: opening one against the size of its tree, reading through it against plain reading, by a program of its own and
by everyday ones, and what a diff costs against the number of changes."""
import json
import os
import shutil
import subprocess

import programs
from figures import build_c, spawn
from growth import measure, tabulate

TREES = (20, 2_000, 200_000)
CHANGES = (1, 10, 100, 1_000)
SMALL_FILES = 2_000
SMALL = 16 << 10
LARGE = 256 << 20

# Opens and reads everything below a directory; prints how many microseconds that took. "drop" lets the page cache forget
# the files instead, "once" reads without a first round that fills it.
READER = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static char buffer[1 << 17];
static int drop;
static void walk(int dir) {
  DIR* list = fdopendir(dir);
  struct dirent* entry;
  while ((entry = readdir(list))) {
    if (entry->d_name[0] == '.') continue;
    int fd = openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    fstat(fd, &st);
    if (S_ISDIR(st.st_mode)) { walk(fd); continue; }
    if (drop) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (!drop && read(fd, buffer, sizeof buffer) > 0) {}
    close(fd);
  }
  closedir(list);
}
int main(int argc, char** argv) {
  struct timespec a, b;
  int round;
  drop = argc > 2 && !strcmp(argv[2], "drop");
  for (round = argc > 2; round < 2; ++round) {  /* the first one fills the caches */
    clock_gettime(CLOCK_MONOTONIC, &a);
    walk(open(argv[1], O_RDONLY | O_DIRECTORY));
    clock_gettime(CLOCK_MONOTONIC, &b);
  }
  printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
  return argc < 2;
}
"""


# overlayfs and nothing else, in a mount namespace of its own.
OVERLAY = """
mount -t tmpfs none "$2" && mkdir "$2/upper" "$2/work" "$2/top" &&
mount -t overlay none "$2/top" -o "lowerdir=$3,upperdir=$2/upper,workdir=$2/work,userxattr" && reader=$1 && top=$2/top && shift 3 && exec "$reader" "$top" "$@"
"""


def plain_limits():
    return [] if os.geteuid() == 0 else ["--limits-mode", "best-effort"]


def make_tree(top, count):
    """So many small files, a hundred to a directory."""
    for number in range(count):
        if number % 100 == 0:
            folder = os.path.join(top, f"{number // 10_000}", f"{number // 100}")
            os.makedirs(folder)
        with open(os.path.join(folder, f"file-{number}"), "w") as file:
            file.write(f"this is file {number}\n")
    return top


def run_in(cloche, tree, *words, options=()):
    return [cloche, "run", "--keeper", "never", "--quiet", *plain_limits(), "--workspace", tree, *options, "--", *words]


def opening(built, cloche, trees, rounds):
    ways = {f"{count:,}": lambda tree=tree: spawn(built, run_in(cloche, tree, "/bin/true"))["ms"][0]
            for count, tree in trees.items()}
    return tabulate("opening a workspace: whole command, cold, by files in the tree (ms)", "files", measure(ways, rounds))


def reading(cloche, folder, rounds):
    reader = build_c(folder, "reader", READER)
    many, large = os.path.join(folder, "many"), os.path.join(folder, "large")
    os.mkdir(many)
    os.mkdir(large)
    for number in range(SMALL_FILES):
        with open(os.path.join(many, f"file-{number}"), "wb") as file:
            file.write(b"x" * SMALL)
    with open(os.path.join(large, "file"), "wb") as file:
        for _ in range(LARGE >> 20):
            file.write(b"x" * (1 << 20))

    def timed(command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        return int(done.stdout) / 1e3

    point = os.path.join(folder, "point")
    os.mkdir(point)
    def from_disk(command):
        subprocess.run([reader, many, "drop"], stdout=subprocess.DEVNULL, check=True)
        return timed([*command, "once"])

    os.sync()  # what is not written yet stays in memory
    cell = [cloche, "run", "--keeper", "never", "--quiet", *plain_limits(), "--memory", "1G"]
    result = {}
    for name, tree, take in ((f"{SMALL_FILES:,} files of 16 KiB from the disk", many, from_disk),
                             (f"{SMALL_FILES:,} files of 16 KiB", many, timed), ("one of 256 MiB", large, timed)):
        own = [*cell, "--exec", reader]
        alone = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "sh", "-c", OVERLAY, "sh", reader, point, tree]
        ways = {"on the host": lambda: take([reader, tree]),
                "overlayfs alone": lambda: take(alone),
                "granted": lambda: take([*own, "--read", tree, "--", reader, tree]),
                "workspace": lambda: take([*own, "--workspace", tree, "--", reader, tree])}
        result[name] = tabulate(f"reading {name}, in the program itself (ms)", "way", measure(ways, rounds))
    result.update(programs.afresh(cell, reader, many, folder, rounds))
    return result, programs.everyday(cell, folder, rounds)


def diffing(built, cloche, trees, rounds):
    ways = {}
    runs = []

    def change(tree, count):
        script = ('n=0; for d in */*; do for f in "$d"/*; do [ $n -lt "$1" ] || exit 0; echo more >> "$f"; n=$((n+1)); '
                  'done; done')
        subprocess.run(run_in(cloche, tree, "sh", "-c", script, "sh", str(count)), check=True, stdin=subprocess.DEVNULL)
        listed = subprocess.run([cloche, "ps", "--all", "--json"], capture_output=True, text=True, check=True).stdout
        known = {run for run, _ in runs}
        found = [run["id"] for run in json.loads(listed)["runs"] if run["id"] not in known and run["keeps"]]
        runs.append((found[0], count))
        return found[0]

    for count in (1, 10):
        for size, tree in trees.items():
            if count > size:
                continue
            run = change(tree, count)
            ways[f"{count} of {size:,}"] = lambda run=run: spawn(built, [cloche, "diff", run])["ms"][0]
    big = trees[max(trees)]
    for count in CHANGES[2:]:
        run = change(big, count)
        ways[f"{count} of {max(trees):,}"] = lambda run=run: spawn(built, [cloche, "diff", run])["ms"][0]
    return tabulate("cloche diff, whole command, by changed files of a tree (ms)", "changed", measure(ways, rounds))


def run(built, folder, rounds):
    os.chmod(folder, 0o755)
    cloche = os.path.join(built, "cloche")
    trees = {}
    try:
        for count in TREES:
            trees[count] = make_tree(os.path.join(folder, f"tree-{count}"), count)
        opened = opening(built, cloche, trees, rounds)
        read, everyday = reading(cloche, folder, rounds)
        return {"opening": opened, "reading": read, "programs": everyday, "diff": diffing(built, cloche, trees, rounds)}
    finally:
        for tree in trees.values():
            shutil.rmtree(tree, ignore_errors=True)
