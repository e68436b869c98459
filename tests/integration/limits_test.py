"""Each limit has its own outcome, and nothing survives it."""
import os
import subprocess
import time

from cell import CGROUPS, CellCase, STUBBORN, TIMEOUT, mark, output_of, processes_with


class Limits(CellCase):
    def test_N4_wall_returns_what_was_written_so_far(self):
        done, report = self.run_report("--wall", "700ms", "--grace", "100ms", "--", "sh", "-c", "echo so far; sleep 60")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertEqual((report["outcome"]["kind"], output_of(report)), ("wall", "so far\n"))
        self.assertIn(b"--wall", done.stderr)

    def test_time_of_a_killed_guest_is_told(self):
        stubborn = 'trap "" TERM; echo ready; while :; do sleep 1; done'
        for options, program, least in ((["--output", "10K"], ["yes"], 0),
                                        (["--wall", "700ms", "--grace", "100ms"], ["sh", "-c", stubborn], 700_000)):
            _, report = self.run_report(*options, "--", *program)
            took = {step["name"]: step["took_us"] for step in report["timing"]}
            self.assertIn("first-output", took)
            self.assertGreaterEqual(took["guest"], least, report["timing"])
            self.assertEqual([step["name"] for step in report["timing"]][-3:], ["guest", "reap", "dispose"])

    def test_N3_stubborn_tree_is_killed(self):
        word = mark()
        done, report = self.run_report("--wall", "2s", "--grace", "200ms", self.path("x.py", STUBBORN), word)
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (124, "wall"), done.stderr)
        self.assertEqual(output_of(report), "ready\n")
        self.assertEqual(processes_with(word), [])

    def test_K6_output_flood_is_cut_in_bounded_memory(self):
        process = self.start("--output", "64M", "--wall", "30s", "--report", self.path("r.json"), "--", "yes",
                             stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        peak = 0
        deadline = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < deadline:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    lines = [line for line in file if line.startswith("VmHWM:")]
            except OSError:
                break
            peak = max([peak] + [int(line.split()[1]) for line in lines])
        self.assertEqual(process.wait(TIMEOUT), 137)
        self.assertGreater(peak, 0)
        if not os.environ.get("SANITIZED"):  # their shadow memory is no memory of ours
            self.assertLess(peak, 16 * 1024)

    def test_output_outcome_and_its_tail(self):
        done, report = self.run_report("--output", "10K", "--", "yes")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "output"))
        self.assertEqual(len(done.stdout), 10 * 1024)

    def test_memory_limit_ends_the_guest(self):
        done, report = self.run_report("--memory", "64M", self.path("x.py", "x = bytearray(1 << 28); x[::4096] = x[::4096]"))
        if CGROUPS:
            self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "oom"), done.stderr)
        else:
            self.assertNotEqual(done.returncode, 0)

    def test_P5_N10_fork_bomb_is_contained(self):
        text = "import os\nfor i in range(200):\n    if os.fork() == 0:\n        import time; time.sleep(30)\n"
        done, report = self.run_report("--pids", "20", self.path("x.py", text))
        self.assertIn(b"Resource temporarily unavailable", done.stderr)
        if CGROUPS:
            self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "pids"))
            self.assertGreater(report["usage"]["forks_refused"], 0)

    def test_cpu_time_has_its_own_outcome(self):
        done, report = self.run_report("--cpu-time", "500ms", "--wall", "20s", "--", "sh", "-c", "while :; do :; done")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "cpu"), done.stderr)

    def test_P3_environment_sets_limits_and_flags_win(self):
        env = dict(os.environ, CLOCHE_LIMITS_FILES="33")
        self.assertEqual(self.cloche("run", "--", "sh", "-c", "ulimit -n", env=env).stdout, b"33\n")
        self.assertEqual(self.cloche("run", "--files", "44", "--", "sh", "-c", "ulimit -n", env=env).stdout, b"44\n")
        self.assertEqual(self.cloche("run", "--", "true", env=dict(os.environ, CLOCHE_LIMITS_PIDS="0")).returncode, 126)
