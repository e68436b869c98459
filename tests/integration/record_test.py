"""Records of runs: what `ps` lists, what `gc` removes, and what a run does without a place for them."""
import json
import os
import shutil
import signal
import subprocess
import time

from cell import CLOCHE, CellCase, TIMEOUT

DAY = 24 * 3600 * 1000


class RecordCase(CellCase):
    def setUp(self):
        super().setUp()
        self.state = self.path("state")
        self.env = dict(os.environ, CLOCHE_STATE_DIR=self.state)

    def cloche(self, *words, **more):
        more.setdefault("env", self.env)
        return super().cloche(*words, **more)

    def runs(self, *words):
        done = self.cloche("ps", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["runs"]

    def gc(self, *words):
        done = self.cloche("gc", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def entries(self):
        return sorted(os.listdir(os.path.join(self.state, "runs")))

    def run_path(self, run, *names):
        return os.path.join(self.state, "runs", run["id"], *names)

    def begin(self, *words):
        """A run that has said its first word, and has a record."""
        process = self.start("--wall", "2m", "--", "sh", "-c", "echo ready; exec sleep 100", *words, env=self.env)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def make_older(self, run, milliseconds, **changes):
        """As if the run had been so long ago."""
        with open(self.run_path(run, "run.json"), encoding="utf-8") as file:
            text = json.load(file)
        for key in ("started_ms", "ended_ms"):
            text[key] -= milliseconds
        text.update(changes)
        with open(self.run_path(run, "run.json"), "w", encoding="utf-8") as file:
            json.dump(text, file)


class Records(RecordCase):
    def test_H1_each_run_has_a_directory_with_its_report(self):
        self.assertEqual(self.cloche("run", "--", "sh", "-c", "exit 3").returncode, 3)
        run, = self.runs("--all")
        self.assertEqual((run["state"], run["outcome"], run["exit_code"], run["argv"], run["keeps"]),
                         ("done", "exited", 3, ["sh", "-c", "exit 3"], []))
        for path, mode in ((self.state, 0o700), (self.run_path(run), 0o700), (self.run_path(run, "report.json"), 0o600)):
            self.assertEqual(os.stat(path).st_mode & 0o7777, mode, path)
        shown = self.cloche("report", "show", self.run_path(run, "report.json"))
        self.assertEqual(shown.returncode, 0, shown.stderr)
        with open(self.run_path(run, "report.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["id"], run["id"])

    def test_a_script_is_recorded_as_it_was_called(self):
        script = self.path("x.py", "import sys; sys.exit(len(sys.argv))")
        self.cloche("run", script, "a", "b")
        self.assertEqual((self.runs("--all")[0]["argv"], self.runs("--all")[0]["exit_code"]), ([script, "a", "b"], 3))

    def test_a_refused_run_is_recorded_with_its_reason(self):
        self.assertEqual(self.cloche("run", "--", "/usr/bin/no-such-program").returncode, 126)
        self.assertEqual([run["outcome"] for run in self.runs("--all")], ["refused"])

    def test_switched_off(self):
        self.cloche("run", "--no-record", "--", "true")
        self.cloche("run", "--", "true", env=dict(self.env, CLOCHE_RECORD="0"))
        self.assertFalse(os.path.exists(self.state))

    def assert_silent(self, env):
        done = self.cloche("run", "--", "echo", "fine", env=env)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"fine\n", b""))

    def test_without_a_usable_place_a_run_is_as_good(self):
        bare = {name: value for name, value in self.env.items() if name not in ("CLOCHE_STATE_DIR", "XDG_STATE_HOME", "HOME")}
        self.assert_silent(bare)
        self.assert_silent(dict(bare, HOME="/proc"))
        self.assert_silent(dict(bare, CLOCHE_STATE_DIR="relative"))
        self.assert_silent(dict(bare, CLOCHE_STATE_DIR=self.path("file", "x") + "/state"))
        os.mkdir(self.state)
        os.chmod(self.state, 0o777)
        self.assert_silent(self.env)
        self.assertEqual(os.listdir(self.state), [])
        for command in ("ps", "gc"):
            done = self.cloche(command)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (126, 1), done.stderr)
            self.assertIn(b"CLOCHE_STATE_DIR", done.stderr)

    def test_by_default_it_lies_below_the_users_home(self):
        home = self.path("home")
        os.mkdir(home)
        env = {name: value for name, value in self.env.items() if name not in ("CLOCHE_STATE_DIR", "XDG_STATE_HOME")}
        self.cloche("run", "--", "true", env=dict(env, HOME=home))
        self.assertEqual(len(os.listdir(home + "/.local/state/cloche/runs")), 1)
        self.cloche("run", "--", "true", env=dict(env, HOME=home, XDG_STATE_HOME=home + "/xdg"))
        self.assertEqual(len(os.listdir(home + "/xdg/cloche/runs")), 1)

    def test_K7_kill_9_at_any_moment_leaves_what_gc_finds(self):
        for delay in range(24):
            process = self.start("--", "sleep", "100", env=self.env)
            time.sleep(delay * 0.002)
            process.kill()
            process.wait(TIMEOUT)
        if os.path.exists(self.state):
            self.assertEqual(self.runs(), [])
            self.assertEqual({run["state"] for run in self.runs("--all")} - {"crashed"}, set())
            self.gc()
            self.assertEqual(self.entries(), [])


class Listing(RecordCase):
    def test_nothing_yet(self):
        for words in (["ps"], ["ps", "--all"], ["gc"], ["gc", "--dry-run"]):
            self.assertEqual(self.cloche(*words).returncode, 0)
        self.assertEqual(self.runs("--all"), [])
        self.assertFalse(os.path.exists(self.state))

    def test_running_done_and_crashed(self):
        self.cloche("run", "--", "true")
        lives, dies = self.begin("one"), self.begin("two")
        dies.kill()
        dies.wait(TIMEOUT)
        run, = self.runs()
        self.assertEqual((run["state"], run["pid"], run["argv"][-1]), ("running", lives.pid, "one"))
        self.assertEqual([(run["state"], run["argv"][-1]) for run in self.runs("--all")],
                         [("crashed", "two"), ("running", "one"), ("done", "true")])
        text = self.cloche("ps").stdout.decode()
        self.assertIn(f"  {lives.pid}  ", text)
        self.assertEqual(len(text.splitlines()), 2)
        self.assertEqual([line.split()[2] for line in self.cloche("ps", "-a").stdout.decode().splitlines()],
                         ["STATE", "crashed", "running", "exited"])
        # A run that lives stays, whatever is asked for.
        self.assertEqual([one["why"] for one in self.gc("--keep", "0")["removed"]], ["crashed", "count"])
        self.assertEqual([run["argv"][-1] for run in self.runs("--all")], ["one"])
        lives.send_signal(signal.SIGTERM)
        lives.wait(TIMEOUT)
        self.assertEqual([run["outcome"] for run in self.runs("--all")], ["cancelled"])

    def test_arguments_cannot_drive_the_terminal(self):
        evil = "\x1b[2J\x1b]0;x\x07\n\u202eabc\udcff"
        self.cloche("run", "--", "echo", evil)
        self.make_older(self.runs("--all")[0], 0, outcome="\x1b[31m\n", keeps=["\x1b[2J"])
        for words in (["ps", "--all"], ["ps", "--all", "--json"], ["gc", "--keep", "0", "--dry-run"]):
            text = self.cloche(*words).stdout
            self.assertTrue(all(byte >= 0x20 or byte == 0x0a for byte in text), text)
            self.assertNotIn("\u202e".encode(), text)
        self.assertEqual(len(self.cloche("ps", "--all").stdout.splitlines()), 2)

    def test_long_commands_are_cut(self):
        self.cloche("run", "--", "true", *["x" * 1000] * 50)
        self.assertLess(len(self.cloche("ps", "--all").stdout), 10_000)
        self.assertLess(os.stat(self.run_path(self.runs("--all")[0], "run.json")).st_size, 64 * 1024)

    def test_wrong_words(self):
        for words in (["ps", "x"], ["ps", "--odd"], ["gc", "x"], ["gc", "--older-than", "7"], ["gc", "--older-than", "-1d"],
                      ["gc", "--keep", "-1"], ["gc", "--keep", "x"], ["gc", "--size", "1Q"], ["gc", "--keep", "1", "--keep", "2"]):
            done = self.cloche(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(b"\n")), (2, b"", 1), (words, done.stderr))
        done = self.cloche("gc", env=dict(self.env, CLOCHE_KEEP_SIZE="much"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"CLOCHE_KEEP_SIZE", done.stderr)

    def test_broken_records_are_no_obstacle(self):
        self.cloche("run", "--", "true")
        good, = self.runs("--all")
        for number, text in enumerate(("", "{", "[]", "null", "{}", "\0", "[" * 50_000, "9" * 100_000)):
            folder = os.path.join(self.state, "runs", f"broken{number}")
            shutil.copytree(self.run_path(good), folder)
            with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
                file.write(text)
        os.symlink("/", os.path.join(self.state, "runs", "linklink"))
        self.assertEqual([run["id"] for run in self.runs("--all")], [good["id"]])
        self.gc()
        self.assertEqual(self.entries(), [good["id"]])


class Collecting(RecordCase):
    def make_runs(self, *ages):
        """Runs of these ages in days, newest first; the hour of the automatic collection is over for none of them."""
        for _ in ages:
            self.cloche("run", "--", "true")
        runs = self.runs("--all")
        for run, age in zip(runs, ages):
            self.make_older(run, age * DAY)
        return [run["id"] for run in runs]

    def test_by_age_number_and_size(self):
        ids = self.make_runs(0, 1, 8, 9, 10)
        self.assertEqual([one["id"] for one in self.gc("--older-than", "7d", "--keep", "4")["removed"]], ids[4:])
        planned = self.gc("--older-than", "7d", "--dry-run")
        self.assertEqual([one["id"] for one in planned["removed"]], ids[2:4])
        self.assertEqual(len(self.entries()), 4)
        done = self.gc("--older-than", "7d")
        self.assertEqual((done["removed"], done["freed_bytes"]), (planned["removed"], planned["freed_bytes"]))
        self.assertEqual((self.entries(), done["left"]), (sorted(ids[:2]), 2))
        size = self.runs("--all")[0]["size_bytes"]
        self.assertEqual([one["why"] for one in self.gc("--size", str(size))["removed"]], ["size"])
        self.assertEqual(self.entries(), ids[:1])
        self.assertEqual(self.cloche("gc", "--keep", "0").stdout.split(b",")[0], b"removed 1 run")
        self.assertEqual(self.entries(), [])

    def test_without_options_the_automatic_limits_hold(self):
        ids = self.make_runs(0, 1, 8)
        self.assertEqual([one["id"] for one in self.gc()["removed"]], ids[2:])
        self.env["CLOCHE_KEEP_RUNS"] = "1"
        self.assertEqual([(one["id"], one["why"]) for one in self.gc()["removed"]], [(ids[1], "count")])

    def test_a_run_collects_once_an_hour(self):
        ids = self.make_runs(1, 8)
        self.cloche("run", "--", "true")
        self.assertEqual(len(self.entries()), 3)
        stamp = os.path.join(self.state, "gc.lock")
        os.utime(stamp, (time.time() - 3700,) * 2)
        done = self.cloche("run", "--", "true", env=dict(self.env, CLOCHE_KEEP_AGE="nonsense"))
        self.assertEqual((done.returncode, done.stderr, len(self.entries())), (0, b"", 4))
        done = self.cloche("run", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertNotIn(ids[1], self.entries())
        self.assertEqual(len(self.entries()), 4)

    def test_a_killed_gc_is_finished_by_the_next(self):
        run, = self.make_runs(1)
        folder = os.path.join(self.state, "runs", run, "ws")
        for number in range(3000):
            os.makedirs(f"{folder}/{number}/deep")
        outside = self.path("outside")
        os.mkdir(outside)
        os.symlink(outside, folder + "/link")
        with open(outside + "/precious", "w", encoding="utf-8"):
            pass
        process = subprocess.Popen([CLOCHE, "gc", "--keep", "0"], env=self.env, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + TIMEOUT
        while run in self.entries() and time.monotonic() < deadline:
            pass
        process.kill()
        process.wait(TIMEOUT)
        self.assertIn(self.entries(), ([], [".gone-" + run]))
        self.assertEqual(self.runs("--all"), [])
        self.gc()
        self.assertEqual(self.entries(), [])
        self.assertTrue(os.path.exists(outside + "/precious"))

    def test_what_cannot_be_removed_is_told(self):
        if os.geteuid() == 0:
            return  # nothing is in root's way here
        ids = self.make_runs(1)
        runs = os.path.join(self.state, "runs")
        os.chmod(runs, 0o500)
        self.addCleanup(os.chmod, runs, 0o700)
        done = self.cloche("gc", "--keep", "0")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (125, 1), done.stderr)
        self.assertIn(ids[0].encode(), done.stderr)
