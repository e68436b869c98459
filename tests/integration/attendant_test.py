"""Runs that an attendant does for a command: the same as the command's own, and nothing of one in the next."""
import json
import os
import shutil
import subprocess
import time

from attendant_case import AttendantCase
from cell import CLOCHE, LIMITS, TIMEOUT, output_of
from keeper_case import lives
from turns import for_root

TELL = "import os, sys; print(sys.argv[1:], os.environ.get('WORD'), os.getcwd(), sys.stdin.read()); " \
       "print('other', file=sys.stderr); sys.exit(7)"


class Attendant(AttendantCase):
    def test_start_and_stop_leave_nothing(self):
        pid = self.start_attended()
        self.assertTrue(lives(pid))
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        self.eventually(lambda: not lives(pid), "the attendant did not end")
        self.assertEqual(os.listdir(self.place), [])

    def test_a_keeper_can_do_without(self):
        self.start_keeper()
        self.assertEqual(self.status()["attendant"], 0)
        self.assertEqual(os.listdir(self.place), ["keeper.sock"])
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")

    def test_run_is_what_was_asked_for(self):
        self.start_attended()
        words = ["--env", "WORD=said", "--cwd", "/tmp", "--", "python3", "-c", TELL, "a b", "", "ü"]
        own, done = self.own_run(*words), self.attended_run(*words)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout.decode(), "['a b', '', 'ü'] said /tmp \n")
        self.assertEqual((done.returncode, done.stdout), (own.returncode, own.stdout))
        self.assertIn(b"other\n", done.stderr)
        self.assertIn(b"the guest ended with code 7", done.stderr)

    def test_report_is_the_same(self):
        self.start_attended()
        one, two = self.path("own.json"), self.path("attended.json")
        self.own_run("--report", one, "--", "true")
        self.attended_run("--report", two, "--", "true")
        own, attended = self.report(one), self.report(two)
        self.assertEqual(own.keys(), attended.keys())
        self.assertEqual(own["outcome"], attended["outcome"])
        lines = [[(g["guarantee"], g["standing"]) for g in told["receipt"]] for told in (own, attended)]
        self.assertEqual(*lines)

    def test_every_step_has_its_time(self):
        before_a_cell = ["spawn", "namespaces", "init", "maps", "mounts", "limits", "landlock", "filter"]
        always = ["read-back", "exec", "first-output", "guest", "reap", "dispose"]
        path = self.path("timed.json")

        def steps(run, *words):
            done = run("--timing", "--report", path, *words, "--", "echo", "hi")
            told = [step["name"] for step in self.report(path)["timing"]]
            for name in told:
                self.assertIn(name.encode(), done.stderr)
            return told

        self.assertEqual(sorted(steps(self.own_run)), sorted([*before_a_cell, *always]))
        self.start_attended("--parked", "1")
        for _ in range(3):
            told = steps(self.attended_run)
            self.settle()
        self.assertEqual(sorted(told), sorted(["take", *always]))  # the others were done when it was parked
        blank = steps(self.plain, "--keeper", "auto", "--files", "77")
        self.assertEqual(blank[0], "take")
        self.assertLess({"mounts", "limits", "landlock", "filter", *always}, set(blank))

    def test_a_replaced_program_is_not_served_by_the_old_one(self):
        folder = self.path("programs")
        os.mkdir(folder)
        os.chmod(self.folder, 0o755)
        for name in ("cloche", "cloche-init", "cloche-keeper"):
            shutil.copy(os.path.join(os.path.dirname(CLOCHE), name), folder)
        own = os.path.join(folder, "cloche")
        subprocess.run([own, "keeper", "start"], env=self.env, check=True, timeout=TIMEOUT)
        self.keepers.append(self.status()["pid"])
        self.eventually(lambda: os.path.exists(os.path.join(self.place, "attendant")), "no attendant listens")
        before = self.attended()
        command = [own, "run", *LIMITS, "--", "echo", "fine"]
        done = subprocess.run(command, env=self.env, capture_output=True, timeout=TIMEOUT, check=False)
        self.assert_attended(done, before)
        shutil.copy(own, own + ".next")
        os.rename(own + ".next", own)
        done = subprocess.run(command, env=self.env, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.stdout, b"fine\n")
        # A run that the old ones get to hear of ends the keeper, too.
        self.eventually(lambda: self.cloche("keeper", "status").returncode == 1 or self.attended() == before + 1,
                        "the old one served it")

    def test_idle_keeper_ends(self):
        self.start_attended("--idle", "2s")
        keeper = self.status()["pid"]
        self.plain("--", "true")
        self.plain("--", "sleep", "4")  # not while one is at work
        self.assertTrue(lives(keeper))
        began = time.monotonic()
        self.eventually(lambda: not lives(keeper), "it did not end")
        self.assertLess(time.monotonic() - began, 30)  # long before a cell at hand is put away
        self.assertEqual(os.listdir(self.place), [])

    def test_scripts_too(self):
        self.start_attended()
        script = self.path("script.py", "import sys; print('scripted', sys.argv[1:])")
        done = self.attended_run(script, "x", "--like")
        self.assertEqual(done.stdout.decode(), "scripted ['x', '--like']\n", done.stderr)

    def test_directory_and_mode_are_the_commands_own(self):
        self.start_attended()
        for name, mask in (("one", 0o022), ("two", 0o077)):
            folder = self.path(name)
            os.mkdir(folder)
            with open(os.path.join(folder, "policy.toml"), "w", encoding="utf-8") as file:
                file.write(f'version = 1\nextends = "untrusted"\n[env]\nset = {{ WHERE = "{name}" }}\n')
            done = self.attended_run("--policy", "policy.toml", "--report", "r.json", "--", "sh", "-c", "echo $WHERE",
                                     cwd=folder, umask=mask)
            self.assertEqual(done.stdout.decode(), name + "\n", done.stderr)
            report = os.path.join(folder, "r.json")
            own = os.path.join(folder, "own.json")
            self.own_run("--policy", "policy.toml", "--report", "own.json", "--", "true", cwd=folder, umask=mask)
            self.assertEqual(os.stat(report).st_mode, os.stat(own).st_mode)

    def test_nothing_of_a_command_is_in_the_next(self):
        self.start_attended()
        look = ["--pass", "SECRET_*", "--", "sh", "-c", "env | grep SECRET_ || echo none"]
        marked = dict(self.env, SECRET_WORD="of the first", CLOCHE_LIMITS_WALL="7s")
        self.assertIn(b"of the first", self.attended_run(*look, env=marked).stdout)
        self.assertEqual(self.attended_run(*look).stdout, b"none\n")
        done = self.attended_run("--json", "--", "sleep", "8", env=marked)
        self.assertEqual(json.loads(done.stdout)["outcome"]["kind"], "wall")
        self.assertEqual(json.loads(self.attended_run("--json", "--", "sleep", "8").stdout)["outcome"]["kind"], "exited")
        # And what it holds open is nobody's: neither a directory nor a stream of a command that is gone.
        self.settle()
        if os.geteuid() == 0:
            self.assertEqual(os.readlink(f"/proc/{self.attendant}/cwd"), "/")
            for fd in ("0", "1", "2"):
                self.assertEqual(os.readlink(f"/proc/{self.attendant}/fd/{fd}"), "/dev/null")

    def test_variables_of_the_command_set_its_policy(self):
        self.start_attended()
        env = dict(self.env, CLOCHE_LIMITS_FILES="44")
        self.assertEqual(self.attended_run("--", "sh", "-c", "ulimit -n", env=env).stdout, b"44\n")
        self.assertNotEqual(self.attended_run("--", "sh", "-c", "ulimit -n").stdout, b"44\n")

    def test_ceiling_of_the_command_holds(self):
        self.start_attended()
        ceiling = self.path("ceiling.toml", "version = 1\n[limits]\nfiles = 40\n")
        env = dict(self.env, CLOCHE_CEILING=ceiling)
        before = self.attended()
        done = self.plain("--files", "64", "--", "true", env=env)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assert_not_attended(done, before)

    def test_changed_policy_is_seen(self):
        self.start_attended()
        policy = self.path("policy.toml")
        for files in ("51", "52", "51"):
            self.path("policy.toml", f'version = 1\nextends = "untrusted"\n[limits]\nfiles = {files}\n')
            done = self.attended_run("--policy", policy, "--", "sh", "-c", "ulimit -n")
            self.assertEqual(done.stdout.decode(), files + "\n", done.stderr)

    def test_replaced_grant_is_seen(self):
        self.start_attended()
        os.chmod(self.folder, 0o755)
        granted = self.path("granted", "old")
        for _ in range(3):
            self.assertEqual(self.attended_run("--read", granted, "--", "cat", granted).stdout, b"old")
            self.settle()
        os.rename(self.path("next", "new"), granted)
        self.assertEqual(self.attended_run("--read", granted, "--", "cat", granted).stdout, b"new")
        os.unlink(granted)
        os.symlink(self.path("other", "not granted"), granted)
        done = self.plain("--read", granted, "--", "cat", granted)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"symbolic link", done.stderr)

    def test_denials_and_records_are_kept(self):
        self.start_attended()
        env = dict(self.env, CLOCHE_STATE_DIR=self.path("state"))
        hidden = self.path("hidden", "x")
        os.chmod(self.folder, 0o755)
        done = self.attended_run("--", "cat", hidden, env=env)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"denied: read {hidden}".encode(), done.stderr)
        why = self.cloche("why", env=env)
        self.assertIn(hidden.encode(), why.stdout)
        runs = json.loads(self.cloche("ps", "--all", "--json", env=env).stdout)
        self.assertEqual([run["state"] for run in (runs["runs"] if isinstance(runs, dict) else runs)], ["done"])

    def test_limits_hold(self):
        self.start_attended()
        path = self.path("limited.json")

        def limited(options, *program):
            done = self.attended_run(*options, "--report", path, "--", *program)
            return done.returncode, self.report(path)

        code, report = limited(["--wall", "700ms", "--grace", "100ms"], "sh", "-c", "echo so far; sleep 60")
        self.assertEqual((code, report["outcome"]["kind"], output_of(report)), (124, "wall", "so far\n"))
        code, report = limited(["--output", "10K"], "yes")
        self.assertEqual((code, report["outcome"]["kind"]), (137, "output"))
        code, report = limited(["--disk", "1M"], "dd", "if=/dev/zero", "of=/work/x", "bs=64k", "count=64")
        self.assertEqual(report["outcome"]["kind"], "disk")


class Declined(AttendantCase):
    """What is no plain run is done by the command itself, and only once."""

    def assert_own(self, *words, code=0, **more):
        before = self.attended()
        done = self.plain(*words, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assert_not_attended(done, before)
        return done

    def test_runs_that_are_more_than_plain(self):
        self.start_attended()
        tree = self.path("tree")
        os.mkdir(tree)
        self.path("tree/file", "text")
        os.chmod(self.folder, 0o755)
        self.assert_own("--workspace", tree, "--", "true")
        self.assert_own("--put", f"{tree}/file:file", "--", "cat", "file")
        self.assert_own("--keeper", "auto", "--", "true")
        self.assert_own("--preset", "dev", "--tier", "process", "--", "true")
        with open(os.path.join(tree, "file"), encoding="utf-8") as file:
            self.assertEqual(self.assert_own("--stdin", "--", "cat", stdin=file).stdout, b"text")

    def test_policies_that_ask_for_more(self):
        self.start_attended()
        tree = self.path("tree")
        os.mkdir(tree)
        policy = self.path("policy.toml", f'version = 1\nextends = "untrusted"\n[workspace]\npath = ["{tree}"]\n')
        self.assert_own("--policy", policy, "--", "true")

    def test_errors_are_told_once_by_the_command(self):
        self.start_attended()
        for words, code in ((["--wall", "nonsense", "--", "true"], 2), (["--policy", "/nonexistent.toml", "--", "true"], 2),
                            (["--report", "/nonexistent/r.json", "--", "true"], 2)):
            done = self.assert_own(*words, code=code)
            self.assertEqual(done.stderr.count(b"cloche:"), 1, done.stderr)

    def test_too_many_words_and_variables(self):
        self.start_attended()
        done = self.assert_own("--", "sh", "-c", "echo ${#1}", "sh", "x" * 120_000,
                               env=dict(self.env, PADDING="y" * 100_000))
        self.assertEqual(done.stdout, b"120000\n")

    def test_another_init_is_the_commands_own_choice(self):
        self.start_attended()
        env = dict(self.env, CLOCHE_INIT=os.path.join(os.path.dirname(CLOCHE), "cloche-init"))
        self.assert_own("--", "true", env=env)

    def test_strangers(self):
        self.start_attended()
        self.assert_own("--", "true", prefix=["setpriv", "--no-new-privs"])

    @for_root("nobody else enters a namespace alone, or gives up a capability")
    def test_strangers_of_root(self):
        self.start_attended()
        for flags in (["-m"], ["-n"], ["-T"], ["-p", "-f", "--mount-proc"]):
            self.assert_own("--", "true", prefix=["unshare", *flags])
        self.assert_own("--", "true", prefix=["setpriv", "--bounding-set", "-sys_time"])
        self.assert_own("--", "true", prefix=["setpriv", "--groups", "4242"])

    def test_nobody_attends_where_the_confined_cannot_be_told(self):
        def confined(*words):
            return subprocess.run(["setpriv", "--no-new-privs", CLOCHE, "keeper", *words], env=self.env, capture_output=True,
                                  timeout=TIMEOUT, check=False)

        self.assertEqual(confined("start").returncode, 0)
        self.addCleanup(confined, "stop")
        time.sleep(0.3)
        self.assertEqual(json.loads(confined("status", "--json").stdout)["attendant"], 0)
        self.assertEqual(os.listdir(self.place), ["keeper.sock"])

    def test_few_words(self):
        self.start_attended()
        before = self.attended()
        done = subprocess.run([CLOCHE, "run", "--", "id"], env={"CLOCHE_KEEPER_DIR": self.place}, capture_output=True,
                              timeout=TIMEOUT, check=False) if not LIMITS else self.plain("--", "id")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_attended(done, before)

    def test_closed_streams(self):
        self.start_attended()
        for closed in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            before = self.attended()
            done = self.plain("--quiet", "--", "sh", "-c", "echo hi; echo ho >&2; exit 3",
                              preexec_fn=lambda closed=closed: [os.close(fd) for fd in closed])
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (3, b"" if 1 in closed else b"hi\n", b"" if 2 in closed else b"ho\n"))
            self.assert_not_attended(done, before)

    def test_what_can_be_read_only_once(self):
        self.start_attended()
        text = 'version = 1\nextends = "untrusted"\n[limits]\nfiles = 51\n'
        before = self.attended()
        for place in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
            done = subprocess.run([CLOCHE, "run", *LIMITS, "--policy", place, "--", "sh", "-c", "ulimit -n"],
                                  env=self.env, input=text.encode(), capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.stdout, b"51\n", done.stderr)
        fifo = self.path("late.toml")
        os.mkfifo(fifo)
        process = self.start("--policy", fifo, "--", "sh", "-c", "ulimit -n", env=self.env, stdin=subprocess.DEVNULL)
        time.sleep(0.3)
        with open(fifo, "w", encoding="utf-8") as file:
            file.write(text)
        out, err = self.finish(process)
        self.assertEqual(out, b"51\n", err)
        self.assert_not_attended(done, before)

    def test_what_is_something_else_for_each_process(self):
        """An attendant has descriptors of its own by these numbers."""
        self.start_attended()
        script = self.path("script.py", "print('its own')")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        link = self.path("link.py")
        try:
            for number in range(3, 12):
                with open(script, "rb") as file:
                    os.dup2(file.fileno(), 40 + number)
            for place in [f"/proc/self/fd/{number}" for number in range(43, 52)] + ["/dev/fd/44", "/proc/self/cwd/script.py"]:
                done = self.assert_own("--lang", "python", place, pass_fds=range(43, 52), cwd=self.folder)
                self.assertEqual(done.stdout, b"its own\n", done.stderr)
            os.symlink("/dev/fd/45", link)
            self.assertEqual(self.assert_own("--lang", "python", link, pass_fds=[45]).stdout, b"its own\n")
            with open(script, "rb") as file:
                done = self.assert_own("--lang", "python", "/dev/stdin", stdin=file)
            self.assertEqual(done.stdout, b"its own\n", done.stderr)
            os.dup2(folder, 60)
            self.assert_own("--report", "/proc/self/fd/60/report.json", "--", "true", pass_fds=[60])
            self.assertTrue(os.path.exists(self.path("report.json")))
        finally:
            for number in (folder, *range(43, 61)):
                try:
                    os.close(number)
                except OSError:
                    pass
