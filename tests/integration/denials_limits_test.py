"""X4: limits on processes and memory that a guest meets, whoever holds them; and signals to low numbers."""
import json
import os
import subprocess
import sys

from cell import CGROUPS, CLOCHE, TIMEOUT, output_of
from denials_case import KINDS, DenialCase

FORKS = """
import time
made = refused = 0
for i in range(COUNT):
    try:
        if os.fork() == 0:
            time.sleep(1)
            os._exit(0)
        made += 1
    except OSError as e:
        assert e.errno == 11, e
        refused += 1
print(refused)
"""


class Limits(DenialCase):
    def limits(self, report):
        return [d for d in report["denials"] if d["what"] == "limit"]

    def test_X4_processes_that_a_limit_refuses(self):
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, "--pids", "8", body=FORKS.replace("COUNT", "20"))
                refused = int(output_of(report))
                self.assertGreater(refused, 5)
                (told,) = self.limits(report)
                self.assertEqual((told["detail"], told["allow"]), ("limits.pids: fork refused", "limits.pids = 16"))
                if kind != "process":  # where others of this user come and go meanwhile
                    self.assertEqual(told["count"], refused)
                if not CGROUPS:
                    self.assertTrue(told["program"].startswith("python3"), told)

    def test_X4_the_line_is_enough_and_fewer_are_no_denial(self):
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, "--pids", "32", body=FORKS.replace("COUNT", "20"))
                self.assertEqual(output_of(report), "0\n")
                self.assertEqual(self.limits(report), [])

    def test_X4_processes_that_come_and_go_never_reach_a_limit(self):
        body = "for i in range(100): os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\n"
        _, report = self.python("--pids", "8", body=body)
        self.assertEqual(self.limits(report), [])

    def test_X4_memory_that_is_given_is_no_denial(self):
        body = "held = [bytes(1 << 20) for _ in range(64)]\nmore = bytes(64 << 20)\nprint('fine')"
        _, report = self.python("--memory", "512M", body=body)
        self.assertEqual((output_of(report), self.limits(report)), ("fine\n", []))

    if not CGROUPS:  # which hold the memory, and tell of both
        def test_X4_memory_that_a_limit_refuses(self):
            ways = {
                "one piece": "bytes(1 << 30)",
                "many pieces": "held = [bytes(1 << 20) for _ in range(1000)]",
                "the heap": "held = [object() for _ in range(1 << 25)]",
                "a piece that grows": "held = bytearray(100 << 20)\nfor _ in range(9): held.extend(bytes(50 << 20))",
            }
            for kind, options in KINDS.items():
                for name, body in ways.items():
                    with self.subTest(f"{kind}: {name}"):
                        done, report = self.python(*options, "--memory", "256M", body=body)
                        self.assertIn("MemoryError", output_of(report, "stderr"))
                        (told,) = self.limits(report)
                        self.assertEqual(told["detail"], "limits.memory: memory refused")
                        self.assertTrue(told["program"].startswith("python3"), told)
                        self.assertIn(b"denied: limit limits.memory", done.stderr)

        def test_X4_the_line_for_memory_is_enough(self):
            _, report = self.python("--memory", "256M", body="bytes(1 << 30)")
            allow = self.limits(report)[0]["allow"]
            done, report = self.python("--set", allow.replace(" ", "").replace('"', ""), body="bytes(1 << 30)")
            self.assertEqual((done.returncode, self.limits(report)), (0, []))

        def test_X4_nothing_is_seen_without_an_observer(self):
            _, report = self.python("--observe", "off", "--pids", "8", body=FORKS.replace("COUNT", "20"))
            self.assertEqual(self.limits(report), [])


# In a table of processes of its own: all numbers are low there.
LOW = """
import json, os, subprocess, sys, time
for _ in range(600): os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
victim = subprocess.Popen(["sleep", "60"])
code = sys.argv[1].replace("VICTIM", str(victim.pid))
done = subprocess.run([*sys.argv[2:], "--", "/usr/bin/python3", "-c", code], capture_output=True, text=True)
print(json.dumps({"victim": victim.pid, "alive": victim.poll() is None, "out": done.stdout, "err": done.stderr}))
victim.kill()
victim.wait()
"""
SIGNALS = """
import os, signal, subprocess
def attempt(f):
    try: f(); print("ok")
    except OSError as e: print(e.errno)
attempt(lambda: os.kill(VICTIM, 15))
attempt(lambda: os.killpg(VICTIM, 15))
attempt(lambda: os.pidfd_open(VICTIM))
# Of its own, and gone already: absence, and no denial.
child = subprocess.Popen(["/bin/true"], start_new_session=True)
child.wait()
attempt(lambda: os.kill(child.pid, 15))
attempt(lambda: os.killpg(child.pid, 15))
"""


if os.geteuid() == 0:  # who alone can make a table of processes

    class LowNumbers(DenialCase):
        def test_X4_a_process_of_the_host_is_told_whatever_its_number(self):
            path = self.path("report.json")
            words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", LOW, SIGNALS,
                     CLOCHE, "run", *([] if CGROUPS else ["--limits-mode", "best-effort"]), "--report", path]
            done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            seen = json.loads(done.stdout)
            self.assertTrue(seen["alive"])
            self.assertEqual(seen["out"], "3\n" * 5, seen["err"])
            victim = seen["victim"]
            self.assertLess(victim, 8192)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(sorted(self.told(report, "signal")),
                             sorted(("signal", text) for text in (f"15 to process {victim}", f"15 to process group {victim}",
                                                                  f"handle on process {victim}")))
