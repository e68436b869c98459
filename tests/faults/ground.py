"""The ground that the fault tests stand on: where the programs are, and what a run may not leave there."""
import json
import os
import re
import subprocess
import sys
import time

PLACE = os.path.abspath(sys.argv[1])
SETTINGS = json.loads(os.environ["CLOCHE_FAULTS"])
CLOCHE = os.path.join(PLACE, "cloche")
INJECT = os.path.join(PLACE, "inject")
STATE_GUEST = os.path.join(PLACE, "guests", "state")
ORDINARY = os.geteuid() != 0
SANITIZED = bool(os.environ.get("SANITIZED"))
HOME = os.path.join(PLACE, "home") if ORDINARY and os.path.isdir(os.path.join(PLACE, "home")) else PLACE
SETTLE_SECONDS = 5


def prepare_host():
    """What the host says of itself, and where runs put their groups."""
    told = subprocess.run([CLOCHE, "doctor", "--json"], capture_output=True, timeout=60, check=True)
    host = json.loads(told.stdout)["host"]
    parents = {os.path.dirname(path) for path in host["cgroup"]["parents"].values() if path}
    return host, sorted(parents)


HOST, GROUP_PARENTS = prepare_host()
# Where this user has no groups, a policy must say that weaker limits will do.
LIMITS = [] if all(HOST["cgroup"]["parents"][name] for name in ("pids", "memory", "cpu")) else ["--limits-mode", "best-effort"]


def names_in(folder, depth=1):
    """Paths in a folder and below it, as far as they can be seen."""
    out = set()
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return out
    for entry in entries:
        out.add(entry.path)
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            out |= names_in(entry.path, depth - 1)
    return out


def groups():
    return {path for parent in GROUP_PARENTS for path in names_in(parent) if os.path.basename(path).startswith("cloche")}


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return {" ".join(line.split()[3:6]) for line in file}


def processes_with(token):
    """Processes, by pid and name, that have these bytes in their command line or environment, but for this one."""
    token, found = token.encode(), set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{entry}/{name}", "rb") as file:
                    if token in file.read():
                        with open(f"/proc/{entry}/comm", encoding="utf-8", errors="replace") as comm:
                            found.add(f"{entry} {comm.read().strip()}")
            except OSError:
                pass
    return found


class Leftovers:
    """What is there that was not there before. Files: in /tmp, in the home, and in folders that are named."""

    def __init__(self, folders, usual=()):
        self.folders = ["/tmp", *folders]
        self.usual = [re.compile(pattern) for pattern in usual]
        self.before = self.snapshot()

    def snapshot(self):
        out = {f"group {path}" for path in groups()} | {f"mount {line}" for line in mounts()}
        for folder in self.folders:
            out |= {f"file {path}" for path in names_in(folder, 4) if not any(usual.fullmatch(path) for usual in self.usual)}
        return out

    def find(self, token, seconds=SETTLE_SECONDS):
        """Empty when all is gone. The kernel may need a moment to finish an exit or to free a group; what is there at one
        look and gone at the next is somebody else's, or on its way."""
        deadline = time.monotonic() + seconds
        left = None
        while True:
            now = self.snapshot() - self.before | {f"process {who}" for who in processes_with(token)}
            left = now if left is None else left & now
            if not left or time.monotonic() > deadline:
                return sorted(left)
            time.sleep(0.01)
