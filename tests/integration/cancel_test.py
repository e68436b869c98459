"""The end that comes from outside: signals to cloche, and its own death."""
import contextlib
import json
import os
import signal
import subprocess
import time

from cell import CGROUPS, CellCase, STUBBORN, TIMEOUT, mark, output_of, own_cgroups, processes_with


def janitor_of(engine):
    """The child of an engine that is neither init nor gateway: it has a name of its own, or is in the engine's memory."""

    def words(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
        return b""

    with open(f"/proc/{engine}/task/{engine}/children", encoding="ascii") as file:
        children = [int(pid) for pid in file.read().split()]
    return next((pid for pid in children if words(pid).startswith(b"cloche-janitor") or words(pid) == words(engine) != b""), None)


class Cancel(CellCase):
    def begin(self, *options):
        word = mark()
        process = self.start("--report", self.path("r.json"), *options, self.path("x.py", STUBBORN), word)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process, word

    def report(self):
        with open(self.path("r.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_N3_signal_cancels_and_the_report_is_written(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process, word = self.begin("--grace", "100ms")
            process.send_signal(number)
            self.finish(process)
            self.assertEqual(process.returncode, 130)
            self.assertEqual((self.report()["outcome"]["kind"], output_of(self.report())), ("cancelled", "ready\n"))
            self.assertEqual(processes_with(word), [])

    def test_N3_a_signal_ends_the_wait_for_a_secrets_command(self):
        begun = self.path("begun")
        for said in ("", "echo SECRET-0123456789abcdef; exec >&-; "):
            with self.subTest(said=said):
                process = self.start("--report", self.path("r.json"), "--allow-net", "api.example.org:443", "--secret",
                                     f"name=KEY,host=api.example.org:443,header=X-Key,command={said}echo $$ > {begun}; exec sleep 25",
                                     "--", "true")
                deadline = time.monotonic() + 20
                while not (os.path.exists(begun) and os.path.getsize(begun)) and time.monotonic() < deadline:
                    time.sleep(0.02)
                with open(begun, encoding="ascii") as file:
                    command = file.read().strip()
                os.remove(begun)
                process.send_signal(signal.SIGTERM)
                self.finish(process)
                # Else it would have slept on, and the guest would have run.
                self.assertEqual((process.returncode, self.report()["outcome"]["kind"]), (130, "cancelled"))
                self.assertFalse(os.path.exists("/proc/" + command))

    def test_second_signal_kills_at_once(self):
        # The grace period is longer than the test may take.
        process, word = self.begin("--grace", "5m", "--wall", "10m")
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(processes_with(word), [])

    def test_K7_gc_finds_what_a_killed_janitor_left(self):
        for tier in ("namespace", "process"):
            with self.subTest(tier=tier):
                env = dict(os.environ, CLOCHE_STATE_DIR=self.path("state-" + tier))
                word = mark()
                script = f"echo ready; exec sleep {word}"
                options = ["--preset", "dev", "--tier", "process"] if tier == "process" else []
                process = self.start(*options, "--", "sh", "-c", script, env=env)
                self.assertEqual(process.stdout.readline(), b"ready\n")
                deadline = time.monotonic() + TIMEOUT
                while not processes_with(word) and time.monotonic() < deadline:
                    time.sleep(0.02)
                places = own_cgroups(processes_with(word)[-1])
                (run,) = [run["id"] for run in self.listed(env)]
                if tier == "process":
                    places.append("/tmp/cloche-" + run)
                self.assertTrue(all(run in place and os.path.isdir(place) for place in places), places)
                self.kill_with_its_janitor(process)
                while processes_with(word) and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertEqual([place for place in places if not os.path.isdir(place)], [])
                while any(os.path.exists(place) for place in places) and time.monotonic() < deadline:
                    done = self.cloche("gc", env=env)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([place for place in places if os.path.exists(place)], [])

    def test_K7_a_janitor_that_was_killed_is_replaced(self):
        for tier in ("namespace", "process"):
            with self.subTest(tier=tier):
                process, word = self.begin(*(["--preset", "dev", "--tier", "process"] if tier == "process" else []))
                guest = processes_with(word)[-1]
                places = own_cgroups(guest)
                if tier == "process":
                    places.append(os.path.dirname(os.readlink(f"/proc/{guest}/cwd")))
                if not places:
                    continue  # a run without directories has no janitor
                killed = janitor_of(process.pid)
                os.kill(killed, signal.SIGKILL)
                deadline = time.monotonic() + TIMEOUT
                while janitor_of(process.pid) in (None, killed) and time.monotonic() < deadline:
                    time.sleep(0.02)
                process.kill()
                process.wait(TIMEOUT)
                left = None
                while left != ([], []) and time.monotonic() < deadline:
                    left = (processes_with(word), [place for place in places if os.path.exists(place)])
                    time.sleep(0.02)
                self.assertEqual(left, ([], []))

    def listed(self, env):
        deadline = time.monotonic() + TIMEOUT
        runs = []
        while not runs and time.monotonic() < deadline:
            runs = json.loads(self.cloche("ps", "--json", env=env).stdout)["runs"]
        return runs

    def test_K7_kill_9_of_cloche_leaves_nothing(self):
        process, word = self.begin()
        guests = processes_with(word)
        self.assertNotEqual(guests, [])
        groups = own_cgroups(guests[-1])
        if CGROUPS:
            self.assertNotEqual(groups, [])
        process.kill()
        process.wait(TIMEOUT)
        deadline = time.monotonic() + TIMEOUT
        left = None
        while left != ([], []) and time.monotonic() < deadline:
            left = (processes_with(word), [group for group in groups if os.path.exists(group)])
            time.sleep(0.02)
        self.assertEqual(left, ([], []))
