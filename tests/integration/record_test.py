"""Records of runs: what `ps` lists, what `gc` removes, and what a run does without a place for them."""
import json
import os
import shutil
import signal
import subprocess
import time

from cell import CLOCHE, CellCase, TIMEOUT
from turns import for_ordinary_user

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

    def ids(self):
        """All runs, also those that `ps` has nothing to show of."""
        runs = os.path.join(self.state, "runs")
        return sorted({run["id"] for run in self.runs("--all")} | set(os.listdir(runs) if os.path.exists(runs) else ()))

    def left(self):
        """What lies in the state directory, besides what a collection itself needs."""
        return sorted(name for name in os.listdir(self.state) if name not in ("gc.lock", "gc.lock.pid"))

    def book(self):
        return os.path.join(self.state, "book")

    def change_facts(self, run, change):
        """Rewrites what the book says of the run."""
        with open(self.book(), encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
        for number, line in enumerate(lines):
            if line.startswith("@run ") and f'"{run["id"]}"' in line:
                facts = json.loads(line[5:])
                change(facts)
                lines[number] = "@run " + json.dumps(facts)
        with open(self.book(), "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines))

    def begin(self, *words):
        """A run that has said its first word, and has a record."""
        process = self.start("--wall", "2m", "--", "sh", "-c", "echo ready; exec sleep 100", *words, env=self.env)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def make_older(self, run, milliseconds, **changes):
        """As if the run had been so long ago."""
        def change(facts):
            facts["started_ms"] -= milliseconds
            if "ended_ms" in facts:
                facts["ended_ms"] -= milliseconds
                facts.update(changes)
        self.change_facts(run, change)


class Records(RecordCase):
    def test_H1_each_run_is_recorded_with_its_report(self):
        self.assertEqual(self.cloche("run", "--", "sh", "-c", "exit 3").returncode, 3)
        run, = self.runs("--all")
        self.assertEqual((run["state"], run["outcome"], run["exit_code"], run["argv"], run["keeps"]),
                         ("done", "exited", 3, ["sh", "-c", "exit 3"], []))
        for path, mode in ((self.state, 0o700), (self.book(), 0o600)):
            self.assertEqual(os.stat(path).st_mode & 0o7777, mode, path)
        for name in (run["id"], run["id"][:5], "last"):
            shown = self.cloche("report", "show", name, cwd=self.folder)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(run["id"].encode(), shown.stdout)
        done = self.cloche("report", "show", "nosuchrun")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)

    def test_a_plain_run_makes_no_file_of_its_own(self):
        for _ in range(5):
            self.cloche("run", "--", "true")
        self.assertEqual(self.left(), ["book"])
        self.assertEqual(len(self.runs("--all")), 5)

    def test_a_plain_run_keeps_nothing_to_apply(self):
        self.cloche("run", "--", "true")
        for words in (["diff"], ["apply"], ["discard"], ["outputs", "show"], ["artifacts", "--to", self.path("x")]):
            name = self.runs("--all")[0]["id"]
            done = self.cloche(*words, name)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertEqual(done.stderr.count(b"\n"), 1, (words, done.stderr))
            self.assertNotIn(b"descriptor", done.stderr, words)
        self.assertEqual(self.cloche("artifacts", name).returncode, 0)

    def test_many_at_once_are_all_recorded(self):
        processes = [self.start("--", "true", env=self.env) for _ in range(12)]
        for process in processes:
            process.communicate(timeout=TIMEOUT)
        self.assertEqual([run["state"] for run in self.runs("--all")], ["done"] * 12)

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
        self.assertTrue(os.path.exists(home + "/.local/state/cloche/book"))
        self.cloche("run", "--", "true", env=dict(env, HOME=home, XDG_STATE_HOME=home + "/xdg"))
        self.assertTrue(os.path.exists(home + "/xdg/cloche/book"))

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
            self.assertEqual(self.left(), [])


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
        with open(self.book(), "rb") as file:
            self.assertLess(max(len(line) for line in file if line.startswith(b"@run ")), 64 * 1024)

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
        texts = ("", "{", "[]", "null", "{}", "\0", "[" * 50_000, "9" * 100_000)
        with open(self.book(), "a", encoding="utf-8") as file:
            file.write("".join(f"\n@run {text}\n" for text in texts) + "\n@run {")
        for number, text in enumerate(texts):
            folder = os.path.join(self.state, "runs", f"broken{number}")
            os.makedirs(folder, 0o700)
            for name in ("lock", "run.json"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
        os.chmod(os.path.join(self.state, "runs"), 0o700)
        os.symlink("/", os.path.join(self.state, "runs", "linklink"))
        self.assertEqual([run["id"] for run in self.runs("--all")], [good["id"]])
        self.cloche("run", "--", "true")
        self.assertEqual(len(self.runs("--all")), 2)
        self.gc("--keep", "1")
        self.assertEqual(len(self.ids()), 1)
        self.gc("--keep", "0")
        self.assertEqual((self.left(), os.listdir(os.path.join(self.state, "runs"))), (["runs"], []))

    def test_runs_of_an_older_version_are_listed_and_collected(self):
        folder = os.path.join(self.state, "runs", "oldoldold")
        os.makedirs(folder)
        facts = {"version": 1, "id": "oldoldold", "state": "done", "pid": 5, "started_ms": 5, "argv": ["x"], "policy": "p",
                 "tier": "namespace", "keeps": [], "ended_ms": 6, "outcome": "exited", "exit_code": 0}
        for path in (self.state, os.path.dirname(folder), folder):
            os.chmod(path, 0o700)
        for name, text in (("lock", ""), ("run.json", json.dumps(facts)), ("report.json", "{}")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual([run["id"] for run in self.runs("--all")], ["oldoldold"])
        self.assertEqual([one["why"] for one in self.gc("--keep", "0")["removed"]], ["count"])
        self.assertEqual(self.ids(), [])


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
        self.assertEqual(len(self.ids()), 4)
        done = self.gc("--older-than", "7d")
        self.assertEqual((done["removed"], done["freed_bytes"]), (planned["removed"], planned["freed_bytes"]))
        self.assertEqual((self.ids(), done["left"]), (sorted(ids[:2]), 2))
        size = self.runs("--all")[0]["size_bytes"]
        self.assertEqual([one["why"] for one in self.gc("--size", str(size))["removed"]], ["size"])
        self.assertEqual(self.ids(), ids[:1])
        self.assertEqual(self.cloche("gc", "--keep", "0").stdout.split(b",")[0], b"removed 1 run")
        self.assertEqual(self.left(), [])

    def test_without_options_the_automatic_limits_hold(self):
        ids = self.make_runs(0, 1, 8)
        self.assertEqual([one["id"] for one in self.gc()["removed"]], ids[2:])
        self.env["CLOCHE_KEEP_RUNS"] = "1"
        self.assertEqual([(one["id"], one["why"]) for one in self.gc()["removed"]], [(ids[1], "count")])

    def test_a_run_collects_once_an_hour(self):
        ids = self.make_runs(1, 8)
        self.cloche("run", "--", "true")
        self.assertEqual(len(self.ids()), 3)
        stamp = os.path.join(self.state, "gc.lock")
        os.utime(stamp, (time.time() - 3700,) * 2)
        done = self.cloche("run", "--", "true", env=dict(self.env, CLOCHE_KEEP_AGE="nonsense"))
        self.assertEqual((done.returncode, done.stderr, len(self.ids())), (0, b"", 4))
        done = self.cloche("run", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertNotIn(ids[1], self.ids())
        self.assertEqual(len(self.ids()), 4)

    def test_a_killed_gc_is_finished_by_the_next(self):
        workspace = self.path("workspace")
        os.mkdir(workspace)
        self.cloche("run", "--workspace", workspace, "--", "true")
        run = self.runs("--all")[0]["id"]
        runs = os.path.join(self.state, "runs")
        folder = os.path.join(runs, run, "ws")
        for number in range(3000):
            os.makedirs(f"{folder}/{number}/deep")
        outside = self.path("outside")
        os.mkdir(outside)
        os.symlink(outside, folder + "/link")
        with open(outside + "/precious", "w", encoding="utf-8"):
            pass
        process = subprocess.Popen([CLOCHE, "gc", "--keep", "0"], env=self.env, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + TIMEOUT
        while run in os.listdir(runs) and time.monotonic() < deadline:
            pass
        process.kill()
        process.wait(TIMEOUT)
        self.assertIn(os.listdir(runs), ([], [".gone-" + run]))
        self.assertEqual(self.runs("--all"), [])
        self.gc()
        self.assertEqual(os.listdir(runs), [])
        self.assertTrue(os.path.exists(outside + "/precious"))

    @for_ordinary_user("nothing is in root's way here")
    def test_what_cannot_be_removed_is_told(self):
        workspace = self.path("workspace")
        os.mkdir(workspace)
        self.cloche("run", "--workspace", workspace, "--", "true")
        run = self.runs("--all")[0]["id"]
        runs = os.path.join(self.state, "runs")
        os.chmod(runs, 0o500)
        self.addCleanup(os.chmod, runs, 0o700)
        done = self.cloche("gc", "--keep", "0")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (125, 1), done.stderr)
        self.assertIn(run.encode(), done.stderr)
