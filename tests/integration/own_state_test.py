"""What cloche keeps is no guest's to see: the state directory inside of a grant, on every tier."""
import json
import os
import shutil

from cell import CellCase, output_of

KEY = "s3cr3t-" * 4 + "four"
TIER0 = ["--preset", "dev", "--tier", "process"]

# All of a tree that can be read, and whether it can be changed or moved out of the way.
LOOK = r"""
import os, sys, json
top, state = sys.argv[1:]
seen, did = [], []
for folder, folders, files in os.walk(top):
    for name in files:
        try: seen.append(os.path.join(folder, name) + "=" + open(os.path.join(folder, name)).read()[:40])
        except OSError as error: seen.append(os.path.join(folder, name) + "!" + error.strerror)
place = state
while len(place) > len(top):
    try: os.rename(place, place + ".away"); did.append("moved " + place)
    except OSError: pass
    place = os.path.dirname(place)
try:
    os.makedirs(state, exist_ok=True)
    with open(state + "/apply.key", "w") as file: file.write("planted")
    did.append("planted")
except OSError: pass
print(json.dumps({"seen": seen, "did": did, "list": os.listdir(state) if os.path.isdir(state) else None}))
"""


class OwnState(CellCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.home = self.path("home")
        self.state = self.home + "/.local/state/cloche"
        self.env = {**os.environ, "HOME": self.home}
        for name in ("CLOCHE_STATE_DIR", "XDG_STATE_HOME"):
            self.env.pop(name, None)
        os.makedirs(self.state + "/runs/abcd", mode=0o700)
        for name in ("apply.key", "runs/abcd/report.json", "../../../notes"):
            with open(os.path.join(self.state, name), "w", encoding="utf-8") as file:
                file.write(KEY)
        os.chmod(self.state + "/apply.key", 0o600)
        self.look = self.path("look.py", LOOK)
        if os.geteuid() == 0 and not self.maps_owners():
            self.skipTest("the file system of the temporary directory cannot map owners")

    def maps_owners(self):
        done = self.cloche("run", "--no-record", "--write", self.home, "--", "true", env={**self.env, "HOME": "/nowhere"})
        return b"cannot map owners" not in done.stderr

    def seen_with(self, *words, state=None, env=None):
        done, report = self.run_report(*words, self.look, self.home, state or self.state, env=env or self.env)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        files = [line["evidence"] for line in report["receipt"] if line["guarantee"] == "file-system"]
        return json.loads(output_of(report)), files[0]

    def assert_kept(self):
        with open(self.state + "/apply.key", encoding="utf-8") as file:
            self.assertEqual(file.read(), KEY)

    def backends(self):
        return [[]] + ([["--backend", "bwrap"]] if shutil.which("bwrap") else [])

    def test_X6_the_state_directory_inside_of_a_grant_is_empty_to_the_guest(self):
        for backend in self.backends():
            for grant in (["--read", self.home], ["--exec", self.home], ["--read", self.home + "/.local"]):
                seen, evidence = self.seen_with(*backend, *grant)
                self.assertEqual((seen["list"], seen["did"]), ([], []), (backend, grant))
                self.assertNotIn("apply.key", str(seen["seen"]))
                self.assertIn("hidden: " + self.state, evidence)
                self.assert_kept()

    def test_X6_what_lies_beside_it_stays_granted(self):
        seen, _ = self.seen_with("--read", self.home)
        self.assertIn(f"{self.home}/notes={KEY}"[:len(self.home) + 40], str(seen["seen"]))

    def test_X6_a_guest_that_writes_around_it_neither_moves_it_nor_puts_another_in_its_place(self):
        backends = self.backends() if os.geteuid() != 0 else [[]]  # bwrap under root grants nothing for writing
        for backend in backends:
            seen, evidence = self.seen_with(*backend, "--write", self.home)
            self.assertEqual((seen["list"], seen["did"]), ([], []), backend)
            self.assertIn("hidden: " + self.state, evidence)
            self.assert_kept()

    def test_X6_it_is_hidden_also_where_it_was_not_yet_there(self):
        shutil.rmtree(self.home + "/.local")
        seen, _ = self.seen_with("--no-record", "--write", self.home)
        self.assertEqual((seen["list"], seen["did"]), ([], []))
        self.assertEqual(os.stat(self.state).st_mode & 0o777, 0o700)

    def test_X6_that_of_runs_without_the_variable_is_hidden_too(self):
        env = {**self.env, "CLOCHE_STATE_DIR": self.path("elsewhere")}
        for mode in (["--read", self.home], ["--workspace", self.home, "--workspace-mode", "copy"],
                     ["--workspace", self.home, "--workspace-mode", "auto"]):
            seen, _ = self.seen_with(*mode, env=env)
            self.assertNotIn("apply.key", str(seen["seen"]), mode)
            self.assert_kept()
            if "--workspace" not in mode:
                continue
            # What a guest puts in its place is no part of what it proposes, and what lay there is in none of it.
            done = self.cloche("diff", "last", env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(KEY.encode(), done.stdout + done.stderr, mode)
            self.assertNotIn(b"apply.key", done.stdout + done.stderr, mode)
            self.cloche("apply", "last", "--force", env=env)
            self.assert_kept()

    def test_X6_a_grant_of_it_or_of_something_in_it_is_refused(self):
        for grant in (self.state, self.state + "/runs", self.state + "/apply.key"):
            for option in ("--read", "--write", "--exec", "--put"):
                word = grant + ":/work/x" if option == "--put" else grant
                for command in ("run", "plan"):
                    done = self.cloche(command, option, word, "--", "true", env=self.env)
                    self.assertEqual(done.returncode, 126, (option, word, done.stderr))
                    self.assertIn(b"state directory of cloche", done.stderr)
        done = self.cloche("run", "--put", self.home + ":/work/x", "--", "true", env=self.env)
        self.assertEqual(done.returncode, 126, done.stderr)
        os.mkdir(self.state + "/mine")
        done = self.cloche("run", "--workspace", self.state + "/mine", "--", "true", env=self.env)
        self.assertEqual(done.returncode, 126, done.stderr)

    def test_X6_tier_0_refuses_what_it_cannot_hide(self):
        for option in ("--read", "--write"):
            done = self.cloche("run", *TIER0, option, self.home, "--", "true", env=self.env)
            self.assertEqual(done.returncode, 126, done.stderr)
            self.assertIn(b"tier 'process' cannot hide the state directory of cloche", done.stderr)
            self.assertIn(b"grant directories beside it", done.stderr)
        os.mkdir(self.home + "/beside")
        done = self.cloche("run", *TIER0, "--read", self.home + "/beside", "--", "true", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_X6_a_link_on_the_way_to_it_is_not_left_to_a_guest_that_writes_there(self):
        real = self.path("data")
        os.rename(self.home + "/.local", real)
        os.symlink(real, self.home + "/.local")
        done = self.cloche("run", "--write", self.home, "--", "true", env=self.env)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"symbolic link", done.stderr)
        done = self.cloche("run", "--read", real, "--", "ls", real + "/state/cloche", env=self.env)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)

    def test_X6_the_plan_shows_it(self):
        done = self.cloche("plan", "--json", "--read", self.home, "--", "true", env=self.env)
        self.assertIn(f"hide {self.state}: an empty directory over it, read-only", done.stdout.decode())
