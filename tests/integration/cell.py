"""What the cases share: cloche as a program that is started, with time-outs on everything."""
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

CLOCHE = os.environ["CLOCHE_UNDER_TEST"]
TIMEOUT = 120  # only against hanging for ever: a busy machine is slow

_probe = subprocess.run([CLOCHE, "doctor", "--json"], capture_output=True, text=True, timeout=TIMEOUT, check=False)
HOST = json.loads(_probe.stdout)["host"]
CGROUPS = all(HOST["cgroup"]["parents"][name] for name in ("pids", "memory", "cpu"))
# Where this user has no cgroups, a policy must say that weaker limits will do.
LIMITS = [] if CGROUPS else ["--limits-mode", "best-effort"]

# Forks twice, leaves its session, ignores TERM and stops itself: what a simple killer misses.
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/usr/bin/sleep", ["sleep", sys.argv[1]])
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(1)  # the TERM comes with a CONT
print("ready", flush=True)
while True:
    time.sleep(1)
"""


def mark():
    """A duration for sleep(1) that no other process of this machine has."""
    return f"3{os.getpid()}.{time.monotonic_ns()}"


def output_of(report, name="stdout"):
    return report["streams"][name]["tail"]


class CellCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cloche-case-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def cloche(self, *words, limits=True, **more):
        """cloche with these words; `run` and `plan` get the limits mode that this user needs."""
        words = list(words)
        if limits and words and words[0] in ("run", "plan"):
            words[1:1] = LIMITS
        more.setdefault("stdin", subprocess.DEVNULL if "input" not in more else None)
        if more["stdin"] is None:
            del more["stdin"]
        more.setdefault("timeout", TIMEOUT)
        return subprocess.run([CLOCHE, *words], capture_output=True, check=False, **more)

    def run_report(self, *words, **more):
        """Runs with --report; returns the process and the report."""
        path = self.path("report.json")
        done = self.cloche("run", "--report", path, *words, **more)
        self.assertTrue(os.path.exists(path), done.stderr.decode())
        with open(path, encoding="utf-8") as file:
            return done, json.load(file)

    def start(self, *words, **more):
        """A run that goes on; killed at the end of the test whatever happens."""
        for stream in ("stdin", "stdout", "stderr"):
            more.setdefault(stream, subprocess.PIPE)
        process = subprocess.Popen([CLOCHE, "run", *LIMITS, *words], **more)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait(TIMEOUT)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

        self.addCleanup(end)
        return process

    def kill_with_its_janitor(self, process):
        """All that the engine started, and then itself: nobody is left who knows of its directories."""
        process.send_signal(signal.SIGSTOP)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait(TIMEOUT)

    def finish(self, process):
        """Waits with a time-out; returns stdout and stderr."""
        return process.communicate(timeout=TIMEOUT)


def end_accepting(listener, thread):
    """Closes a listener that a thread takes callers from. Closed alone, it goes on to wait in the kernel, which begins a call
    anew after a signal that nobody handles, as when a child ends. The call then waits at whatever has the descriptor's
    number by now: the next case's listener, whose caller is served by the former case's server."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(TIMEOUT)
    listener.close()


def processes_with(word):
    """Processes of this machine whose command line has this word."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if word.encode() in file.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def own_cgroups(pid):
    """Directories of the groups that a process is in and we are not."""

    def lines(who):
        with open(f"/proc/{who}/cgroup", encoding="ascii") as file:
            return {tuple(line.rstrip("\n").split(":", 2)[1:]) for line in file}

    places = [f"/sys/fs/cgroup/{names.removeprefix('name=') or 'unified'}{path}" for names, path in lines(pid) - lines("self")]
    places += [f"/sys/fs/cgroup{path}" for names, path in lines(pid) - lines("self") if not names]
    return [place for place in places if os.path.isdir(place)]
