"""Cells of a keeper have nothing of the shell that happened to start it."""
import json
import os
import subprocess

from cell import CLOCHE, LIMITS, TIMEOUT
from keeper_case import KeeperCase

# What a guest has of whoever made its cell.
TELL = """
import json, os
def read(name):
    with open("/proc/self/" + name, encoding="ascii") as file:
        return file.read().strip()
print(json.dumps({"personality": read("personality"), "cpus": len(os.sched_getaffinity(0)), "nice": os.nice(0),
                  "oom": read("oom_score_adj"), "policy": os.sched_getscheduler(0), "umask": os.umask(0)}))
"""


class Means(KeeperCase):
    def start_by(self, *prefix):
        done = subprocess.run([*prefix, CLOCHE, "keeper", "start", "--no-attendant"], env=self.env, capture_output=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.keepers.append(self.status()["pid"])

    def told(self, run):
        done = run("--cpus", "64", "--", "python3", "-c", TELL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_nothing_of_its_starter_is_in_a_cell(self):
        own = self.told(lambda *words: self.cloche("run", "--keeper", "never", *words))
        ways = [["setarch", "-R"], ["taskset", "-c", str(min(os.sched_getaffinity(0)))], ["chrt", "--batch", "0"],
                ["choom", "-n", "500", "--"], ["sh", "-c", 'trap "" CHLD TERM PIPE; umask 077; exec "$@"', "sh"]]
        if os.geteuid() == 0:
            ways.append(["nice", "-n", "7"])
        for prefix in ways:
            with self.subTest(prefix[0]):
                self.start_by(*prefix)
                for _ in range(3):  # blank, and parked
                    self.assertEqual(self.told(self.run_here), own)
                    self.settle()
                self.assertEqual(self.cloche("keeper", "stop").returncode, 0)

    def test_nobody_gets_other_cpus_than_his_own(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("fact missing: a second cpu")
        self.start_by()
        few = ["taskset", "-c", str(min(cpus)), CLOCHE, "run", "--keeper", "always", *LIMITS, "--", "true"]
        done = subprocess.run(few, env=self.env, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"other cpus", done.stderr)
        self.assertEqual(self.run_here("--", "true").returncode, 0)

    def test_who_has_less_than_cells_from_here_is_served(self):
        self.start_by()
        script = 'ulimit -q 7; exec nice -n 3 "$0" run --keeper always "$@" -- true'
        done = subprocess.run(["bash", "-c", script, CLOCHE, *LIMITS], env=self.env, capture_output=True, timeout=TIMEOUT,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
