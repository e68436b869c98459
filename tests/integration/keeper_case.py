"""What the keeper's cases share: a keeper of the case's own, which never outlives it."""
import glob
import json
import os
import signal
import time

from cell import CellCase, HOST, TIMEOUT

PARENTS = [path for path in HOST["cgroup"]["parents"].values() if path]


def lives(pid):
    """Whether a process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(pid):
    """Living children of a process."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state not in "ZX":
            found.append(int(path.split("/")[2]))
    return found


def cells_of(pid):
    """The first processes of its cells."""
    found = []
    for child in children_of(pid):
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if file.read().startswith(b"cloche-init"):
                found.append(child)
    return found


def groups_of(pid):
    """Cgroups that the keeper with this pid has made."""
    name = f"keeper-{pid}-*"
    return [path for parent in set(PARENTS) for path in glob.glob(f"{parent}-{name}") + glob.glob(f"{parent}/{name}")]


def await_true(check):
    """Asks again and again until the check holds or the time-out of all cases is over."""
    deadline = time.monotonic() + TIMEOUT
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class KeeperCase(CellCase):
    def setUp(self):
        super().setUp()
        self.place = self.path("keeper")
        self.env = dict(os.environ, CLOCHE_KEEPER_DIR=self.place)
        self.keepers = []
        self.addCleanup(self.end_keepers)

    def eventually(self, check, what):
        self.assertTrue(await_true(check), what)

    def cloche(self, *words, **more):
        more.setdefault("env", self.env)
        return super().cloche(*words, **more)

    def start(self, *words, **more):
        more.setdefault("env", self.env)
        return super().start(*words, **more)

    def start_keeper(self, *words, attendant=False):
        """Returns the pid of a keeper that stands ready. Without an attendant runs are the command's own, in its cells."""
        done = self.cloche("keeper", "start", *words, *([] if attendant else ["--no-attendant"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        pid = self.status()["pid"]
        self.keepers.append(pid)
        return pid

    def status(self):
        done = self.cloche("keeper", "status", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def end_keepers(self):
        """Stops what the case started, and sees that nothing of it is left."""
        self.cloche("keeper", "stop")
        for pid in self.keepers:
            ended = await_true(lambda pid=pid: not lives(pid))
            if not ended:
                os.kill(pid, signal.SIGKILL)
            self.assertTrue(ended, "the keeper did not end")
            self.assert_nothing_left(pid)

    def assert_nothing_left(self, pid, cells=()):
        self.eventually(lambda: groups_of(pid) == [], f"groups are left: {groups_of(pid)}")
        self.eventually(lambda: not any(map(lives, cells)), "cells outlived their keeper")

    def run_here(self, *words, **more):
        """A run that is served by the keeper or not at all."""
        return self.cloche("run", "--keeper", "always", *words, **more)

    def park(self, *words):
        """Has cells parked for these options of run."""
        for _ in range(2):
            done = self.run_here(*words, "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.settle()

    def settle(self):
        """Waits until the keeper has no more to prepare."""
        def sight():
            counts = self.status()
            return dict(counts, age=0), children_of(counts["pid"])

        def still():
            first = sight()
            for _ in range(3):
                time.sleep(0.03)
                if sight() != first:
                    return False
            return True

        self.eventually(still, "the keeper never rests")

    def size_of(self, pid):
        """Descriptors and KiB of memory of a process, when the keeper rests."""
        self.settle()
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            memory = [int(line.split()[1]) for line in file if line.startswith("VmRSS:")][0]
        # Whoever is not root cannot count the descriptors of a process that is not dumpable.
        return len(os.listdir(f"/proc/{pid}/fd")) if os.geteuid() == 0 else 0, memory

    def parked_run(self, *words, **more):
        """A run that a parked cell serves; says so if none did."""
        before = self.status()["served_parked"]
        done = self.run_here(*words, **more)
        self.assertEqual(self.status()["served_parked"], before + 1, done.stderr)
        return done
