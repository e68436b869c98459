"""kill -9 of the engine, of init, of the gateway and of bwrap at random moments, while two loops keep the cpus busy and a
second stream of runs goes on. After each: no survivor, no leftover. Now and then: `gc` finds the rest, records are readable, a run works.
"""
import collections
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from ground import CLOCHE, HOME, HOST, LIMITS, Leftovers, PLACE, SANITIZED, SETTINGS

TIMEOUT = 60
ROUNDS = SETTINGS["rounds"] or (500 if SETTINGS["all"] else 8 if SANITIZED else 30)
BATCH = 25
# What a killed engine may leave: its record, until the next collection.
RECORD = (r".*/state", r".*/state/(book(-.*)?|gc\.lock(\.pid)?|runs|live)", r".*/state/(runs|live)/.*", r".*/tree(/.*)?")

# Below the engine, by their names. Of a bwrap cell init is the child of a bwrap, which is a child of the engine.
VICTIMS = {"cloche-init": ["cloche-init"], "cloche-gateway": ["cloche-gateway"], "bwrap": ["bwrap"],
           "init of bwrap": ["bwrap", ".cloche-init"]}

# Children that leave its session and outlive it, and a writer; each has the token in its command line.
FORKS = """
for i in 1 2 3; do setsid sh -c 'while :; do sleep 5; done' sh "$1" & done
sh -c '(while :; do sleep 5; done) & exit 0' sh "$1"
i=0; while :; do i=$((i+1)); echo "$i" > "file-$((i % 50))"; done
"""
CONNECTS = """
for i in 1 2 3; do bash -c 'exec 3<>/dev/tcp/127.0.0.1/'"$2"'; echo hello >&3; read -r line <&3; sleep 600' bash "$1" & done
sleep 600
"""


class Peer(threading.Thread):
    """A server that takes connections and holds them."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.taken = 0
        self.start()

    def run(self):
        held = collections.deque(maxlen=32)
        while True:
            held.append(self.socket.accept()[0])
            self.taken += 1


class Stream(threading.Thread):
    """Runs that nobody kills, one after another: all must end well."""

    def __init__(self, env):
        super().__init__(daemon=True)
        self.env, self.stopped, self.count, self.wrong = env, threading.Event(), 0, []

    def run(self):
        while not self.stopped.is_set():
            done = subprocess.run([CLOCHE, "run", *LIMITS, "--", "echo", "fine"], capture_output=True, timeout=TIMEOUT,
                                  check=False, env=self.env, stdin=subprocess.DEVNULL, cwd=PLACE)
            self.count += 1
            if (done.returncode, done.stdout) != (0, b"fine\n"):
                self.wrong.append(f"a run beside ended with {done.returncode}: {done.stderr!r}")
            self.stopped.wait(0.05)

    def stop(self):
        self.stopped.set()
        self.join(TIMEOUT)


def members():
    """Everybody in the groups of this test, whatever it is called."""
    out = set()
    for folder in (path for path in SETTINGS["groups"] if "/pids" in path):
        for base, _, _ in os.walk(folder):
            try:
                with open(os.path.join(base, "cgroup.procs"), encoding="ascii") as file:
                    out |= {int(line) for line in file}
            except OSError:
                pass
    return out


def describe(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            name = file.read().strip()
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return f"{name} ({state})"
    except OSError:
        return ""


def child_called(pid, name):
    """A child of this process by its name, or None."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return None
    return next((child for child in children if describe(child).split(" ")[0] == name and not is_janitor(child)), None)


def is_janitor(pid):
    """It is cloche-init, too, and called so until it has given itself a name. Killed with its engine it leaves directories
    for `gc`, which is another test's matter (cancel_test.py). Without any words: not known yet."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
    except OSError:
        return False
    return not words or words.startswith(b"cloche-janitor")


class Killer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.state = os.path.join(HOME, "state")
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "CLOCHE_STATE_DIR": self.state, "LC_CTYPE": "C.UTF-8",
                    **{key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}}
        self.tree = os.path.join(HOME, "tree")
        os.mkdir(self.tree)
        self.peer = Peer()
        self.wrong, self.count = [], collections.Counter()
        self.own = set()
        self.left = Leftovers([HOME], RECORD)

    def scenarios(self):
        """Name, words for `cloche run`, and whom to kill."""
        sh, bash = ["--", "sh", "-c", FORKS], ["--", "bash", "-c", CONNECTS]
        out = [
            ("plain", [*sh], ("engine", "cloche-init")),
            ("workspace", ["--workspace", self.tree, *sh], ("engine", "cloche-init")),
            ("disk", ["--workspace", self.tree, "--workspace-scratch", "disk", *sh], ("engine", "cloche-init")),
            ("process", ["--preset", "adapter", "--tier", "process", *sh], ("engine", "cloche-init")),
            ("gateway", ["--allow-net", f"127.0.0.1:{self.peer.port}", *bash], ("engine", "cloche-init", "cloche-gateway")),
        ]
        if HOST["bwrap"]:
            out.append(("bwrap", ["--backend", "bwrap", *sh], ("engine", "bwrap", "init of bwrap")))
        return out

    def find_victim(self, process, victim):
        """Its pid, which is waited for a while: an early moment may be before its birth."""
        deadline = time.monotonic() + 5
        while victim != "engine" and time.monotonic() < deadline and process.poll() is None:
            pid = process.pid
            for name in VICTIMS[victim]:
                pid = pid and child_called(pid, name)
            if pid:
                return pid
            time.sleep(0.0005)
        return process.pid

    @staticmethod
    def end_of(process, killed):
        """The engine's exit code, None if it does not end; and whether it went on, rightly, with another init than the one
        that was killed: one that was begun before it knew the policy is not always the one that it takes."""
        deadline = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < deadline:
            other = child_called(process.pid, "cloche-init") if killed not in (None, process.pid) else None
            if other not in (None, killed) and "(Z)" not in describe(other):
                time.sleep(1)  # it may be about to end all the same
                spare = process.poll() is None
                process.kill()
                return process.wait(), spare
            time.sleep(0.002)
        code = process.poll()
        if code is None:
            process.kill()
            process.wait()
        return code, False

    def round(self, name, words, victim):
        token = f"token-{os.getpid()}-{self.random.randrange(10**12)}"
        # As often while the cell is built as when the guest is at work.
        moment = self.random.choice((self.random.uniform(0, 0.02), self.random.uniform(0, 0.25)))
        with tempfile.TemporaryFile() as err:
            process = subprocess.Popen([CLOCHE, "run", "--quiet", *LIMITS, *words, "sh", token, str(self.peer.port)],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, env=self.env, cwd=PLACE)
            time.sleep(moment)
            pid = self.find_victim(process, victim)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                self.count["ended before"] += 1
            code, spare = self.end_of(process, pid if victim == "cloche-init" else None)
            err.seek(0)
            said = err.read()
        what = f"{name}, {victim} killed after {moment * 1000:.1f} ms, {code}"
        self.count["spare" if spare else victim if pid != process.pid or victim == "engine" else "missed"] += 1
        if code is None:
            self.wrong.append(f"{what}: the engine goes on")
        elif pid != process.pid and not spare and code != 125:
            self.wrong.append(f"{what}: not 125: {said!r}")
        if pid != process.pid and re.search(rb"Sanitizer|terminate called", said):
            self.wrong.append(f"{what}: {said!r}")
        self.wrong += [f"{what}: left: {left}" for left in self.left.find(token)]

    def settle(self, last=False):
        """With nobody else at work: what is left after `gc`, is all readable, does a run work?"""
        def told(*words, code=0):
            done = subprocess.run([CLOCHE, *words], capture_output=True, timeout=TIMEOUT, check=False, env=self.env,
                                  stdin=subprocess.DEVNULL, cwd=PLACE)
            if done.returncode != code:
                self.wrong.append(f"{' '.join(words[:2])} ended with {done.returncode}: {done.stderr!r}")
            return done.stdout

        listed = json.loads(told("ps", "--all", "--json") or "{}")
        runs = listed.get("runs", listed) if isinstance(listed, dict) else listed
        if not runs:
            self.wrong.append("no run is recorded")
        told("run", *LIMITS, "--", "true")
        told("report", "show", "last")
        told("gc")
        told("ps", "--all")
        for folder in ("live", "runs"):
            path = os.path.join(self.state, folder)
            for entry in os.listdir(path) if os.path.isdir(path) else ():
                # A name that is about to come is left alone for a minute.
                if entry.startswith(".new-") and not last:
                    continue
                if folder == "live" or not os.path.exists(os.path.join(path, entry, "report.json")):
                    self.wrong.append(f"gc left {folder}/{entry}")
        deadline = time.monotonic() + 20
        strangers = members() - self.own
        while time.monotonic() < deadline and (strangers := {pid for pid in members() - self.own if describe(pid)}):
            time.sleep(0.05)
        self.wrong += [f"survivor {pid} {describe(pid)}" for pid in strangers if describe(pid)]

    def batch(self, rounds):
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
        self.own = {os.getpid(), *(loop.pid for loop in loops)}
        stream = Stream(self.env)
        stream.start()
        try:
            for _ in range(rounds):
                scenarios = self.scenarios()
                victim = self.random.choice(sorted({one for of in scenarios for one in of[2]}))
                name, words, _ = self.random.choice([of for of in scenarios if victim in of[2]])
                self.round(name, words, victim)
        finally:
            stream.stop()
            for loop in loops:
                loop.kill()
                loop.wait()
        self.own = {os.getpid()}
        self.count["runs beside"] += stream.count
        self.wrong += stream.wrong
        self.settle()


def main():
    seed = SETTINGS["seed"]
    print(f"seed {seed}: tests/faults/run kill --seed {seed} --as {SETTINGS['user']} --rounds {ROUNDS}", flush=True)
    killer = Killer(seed)
    left, seen = ROUNDS, 0
    while left > 0:
        killer.batch(min(BATCH, left))
        left -= BATCH
        for line in killer.wrong[seen:]:
            print("wrong:", line, flush=True)
        seen = len(killer.wrong)
        print(f"{ROUNDS - max(left, 0)} rounds, {seen} wrong", flush=True)
    if SETTINGS["all"]:
        time.sleep(61)  # until what looked as if it were about to come is known to be left
        killer.settle(last=True)
        for line in killer.wrong[seen:]:
            print("wrong:", line, flush=True)
    print(", ".join(f"{key} {value}" for key, value in sorted(killer.count.items())),
          f"; {killer.peer.taken} connections; {len(killer.wrong)} wrong")
    return 1 if killer.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
