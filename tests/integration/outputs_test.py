"""cloche outputs: what plugins hand back, who owns it, and that all of it is applied or nothing."""
import base64
import json
import os
import signal
import stat
import subprocess
import time

from cell import CellCase, CLOCHE, TIMEOUT

MANIFEST = ".cloche-outputs.json"


def document(**files):
    """The text that hands back these files, name=body; __ stands for a slash and _txt for .txt."""
    names = {key: key.replace("__", "/").replace("_txt", ".txt") for key in files}
    return json.dumps({"outputs": [{"path": names[key], "body": body} for key, body in files.items()]})


class OutputsCase(CellCase):
    def setUp(self):
        super().setUp()
        self.target = self.path("target")
        os.mkdir(self.target)
        self.state = self.path("state")

    def outputs(self, verb, text, *more, producer="p", into=None):
        """cloche outputs VERB with this document on stdin."""
        words = ["outputs", verb, "--into", into or self.target, "--producer", producer, *more, "-"]
        return self.cloche(*words, input=text if isinstance(text, bytes) else text.encode())

    def apply(self, text, *more, code=0, **other):
        done = self.outputs("apply", text, *more, **other)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def status(self, into=None):
        done = self.cloche("outputs", "status", into or self.target, "--json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return {f["path"]: (f["producer"], f["state"], f["stale"]) for f in json.loads(done.stdout)["files"]}

    def picture(self, top=None):
        """Everything below the target: path to kind and content."""
        top = top or self.target
        found = {}
        for base, folders, files in os.walk(top):
            for name in folders + files:
                path = os.path.join(base, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISLNK(mode):
                    what = os.readlink(path)
                elif stat.S_ISREG(mode):
                    with open(path, "rb") as file:
                        what = file.read()
                else:
                    what = None
                found[os.path.relpath(path, top)] = (mode, what)
        return found

    def write(self, name, text):
        with open(os.path.join(self.target, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.target, name), encoding="utf-8") as file:
            return file.read()


class Ownership(OutputsCase):
    def test_R4_diff_writes_nothing_and_apply_all_of_it(self):
        text = document(a_txt="one\ntwo\n", d__e__f="x")
        done = self.outputs("diff", text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"+++ b/d/e/f", done.stdout)
        self.assertEqual(os.listdir(self.target), [])
        self.assertEqual(self.outputs("apply", text, "--dry-run").returncode, 0)
        self.assertEqual(os.listdir(self.target), [])
        self.apply(text)
        self.assertEqual(self.read("a.txt"), "one\ntwo\n")
        self.assertEqual(self.status(), {"a.txt": ("p", "clean", False), "d/e/f": ("p", "clean", False)})
        self.assertEqual(sorted(os.listdir(self.target)), [MANIFEST, "a.txt", "d"])

    def test_R4_diff_is_a_patch(self):
        self.apply(document(a_txt="one\ntwo\nthree\n"))
        patch = self.outputs("diff", document(a_txt="one\n2\nthree\n", b_txt="new\n")).stdout
        self.apply(document(a_txt="one\n2\nthree\n", b_txt="new\n"))
        subprocess.run(["patch", "-p1", "-R", "-s"], input=patch, cwd=self.target, check=True, timeout=TIMEOUT)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")
        self.assertFalse(os.path.exists(os.path.join(self.target, "b.txt")))

    def test_R4_hand_edit_is_never_overwritten_silently(self):
        self.apply(document(a_txt="1", b_txt="1"))
        self.write("a.txt", "mine")
        before = self.picture()
        done = self.apply(document(a_txt="2", b_txt="2", c_txt="2"), code=1)
        self.assertIn(b"a.txt: edited by hand", done.stdout)
        self.assertIn(b"nothing is written", done.stderr)
        self.assertEqual(self.picture(), before)
        self.assertEqual(self.status()["a.txt"], ("p", "edited", False))
        self.apply(document(a_txt="2", b_txt="2", c_txt="2"), "--skip-conflicts")
        self.assertEqual([self.read(n) for n in ("a.txt", "b.txt", "c.txt")], ["mine", "2", "2"])
        self.apply(document(a_txt="3", b_txt="2", c_txt="2"), "--force")
        self.assertEqual(self.read("a.txt"), "3")

    def test_R4_two_producers_share_a_target_but_no_file(self):
        self.apply(document(a="p"), producer="p")
        self.apply(document(b="q"), producer="q")
        done = self.apply(document(a="q", b="q2", c="q"), producer="q", code=1)
        self.assertIn(b"a: owned by p", done.stdout)
        self.assertEqual((self.read("a"), self.read("b")), ("p", "q"))
        self.apply(document(), "--prune", producer="q")
        self.assertEqual(self.status(), {"a": ("p", "clean", False)})
        self.assertFalse(os.path.exists(os.path.join(self.target, "b")))

    def test_R4_unmanaged_file_is_left_alone(self):
        self.write("a", "mine")
        self.assertIn(b"no producer owns", self.apply(document(a="1"), code=1).stdout)
        self.assertEqual(self.picture(), {"a": (os.lstat(os.path.join(self.target, "a")).st_mode, b"mine")})

    def test_R4_prune_and_stale_and_forget(self):
        self.apply(document(a="1", b="1", c="1"))
        self.apply(document(a="1"))
        self.assertEqual(self.status()["b"], ("p", "clean", True))
        self.write("c", "mine")
        self.apply(document(a="1"), "--prune")
        self.assertEqual(self.status(), {"a": ("p", "clean", False), "c": ("p", "edited", True)})
        self.assertFalse(os.path.exists(os.path.join(self.target, "b")))
        self.assertEqual(self.cloche("outputs", "forget", self.target, "c", "nope").returncode, 1)
        self.assertEqual(self.cloche("outputs", "forget", self.target, "c", "a").returncode, 0)
        self.assertEqual(sorted(os.listdir(self.target)), ["a", "c"])

    def test_json(self):
        self.apply(document(a="1"))
        done = self.apply(document(a="2", b="2"), "--json", producer="q", code=1)
        said = json.loads(done.stdout)
        self.assertEqual((said["applied"], said["conflicts"]), (False, 1))
        self.assertEqual([f["verdict"] for f in said["files"]], ["conflict", "add"])

    def test_R4_bytes_and_rights(self):
        body = bytes(range(256))
        entry = {"path": "bin", "body": base64.b64encode(body).decode(), "encoding": "base64", "executable": True}
        self.apply(json.dumps({"outputs": [entry]}))
        mode, content = self.picture()["bin"]
        self.assertEqual((content, mode & 0o100), (body, 0o100))
        self.assertEqual(mode & 0o7022, 0)


class Hostile(OutputsCase):
    def setUp(self):
        super().setUp()
        self.victim = self.path("victim")
        os.mkdir(self.victim)
        with open(os.path.join(self.victim, "v"), "w", encoding="utf-8") as file:
            file.write("old")
        self.untouched = self.picture(self.victim)

    def test_R4_documents_that_break_a_rule_do_nothing(self):
        cases = [(b"", "byte"), (b"[]", "object"), (b"\xff", "byte"), (b"{" * 100000, "byte"),
                 (b'{"outputs":' + b"[" * 100000, "objects only"),
                 (b'{"outputs":[],"outputs":[]}', "twice"),
                 (document(a="1", A="1"), "outputs[1] (A)"), (document(a__b="1", a="1"), "outputs[0] (a/b)")]
        for path in ("../victim/v", "/etc/passwd", "a/../../victim/v", ".cloche-apply/n0", MANIFEST, "x/" + MANIFEST.upper(),
                     "a\nb", "a\x1b[2J", "a\0b", "", ".", ".git/hooks/post-checkout", ".BASHRC"):
            cases.append((json.dumps({"outputs": [{"path": "ok", "body": ""}, {"path": path, "body": "x"}]}), "outputs[1]"))
        cases.append((json.dumps({"outputs": [{"path": "a", "body": "", "mode": 0o4755}]}), "outputs[0] (a)"))
        for text, named in cases:
            with self.subTest(text=text[:60]):
                done = self.outputs("apply", text)
                self.assertEqual(done.returncode, 1, done.stderr)
                said = done.stderr.decode()
                self.assertEqual(said.count("\n"), 1, said)
                self.assertNotIn("\x1b", said)
                self.assertIn(named, said)
                self.assertEqual(os.listdir(self.target), [])
        self.assertEqual(self.picture(self.victim), self.untouched)

    def test_R4_limits(self):
        self.apply(document(a="12345"), "--max-body", "4", code=1)
        self.apply(document(a="1", b="1"), "--max-count", "1", code=1)
        self.apply(document(a="1" * 100), "--max-size", "64", code=1)
        endless = subprocess.run(f"yes | '{CLOCHE}' outputs apply --into '{self.target}' --producer p --max-size 1M -",
                                 shell=True, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(endless.returncode, 1, endless.stderr)
        self.assertEqual(os.listdir(self.target), [])

    def test_R4_protected_names_need_a_word(self):
        text = json.dumps({"outputs": [{"path": ".bashrc", "body": "x"}]})
        self.assertIn(b"--allow-protected", self.apply(text, code=1).stderr)
        self.apply(text, "--allow-protected")
        self.assertEqual(self.read(".bashrc"), "x")

    def test_R4_planted_links_lead_nowhere(self):
        os.symlink(self.victim, os.path.join(self.target, "d"))
        os.symlink(os.path.join(self.victim, "v"), os.path.join(self.target, "f"))
        os.symlink(os.path.join(self.victim, "new"), os.path.join(self.target, "n"))
        self.apply(document(d__v="x", f="x", n="x"), code=1)
        self.apply(document(d__v="x", f="x", n="x", ok="x"), "--skip-conflicts")
        self.apply(document(f="y", n="y"), "--force")
        self.assertEqual((self.read("f"), self.read("n")), ("y", "y"))
        self.assertEqual(self.picture(self.victim), self.untouched)

    def test_R4_target_that_is_a_link_is_refused(self):
        link = self.path("link")
        os.symlink(self.victim, link)
        for into in (link, link + "/"):
            self.apply(document(a="x"), into=into, code=1)
            self.assertEqual(self.cloche("outputs", "status", into).returncode, 1)
        self.assertEqual(self.cloche("run", "--outputs", link, "--producer", "p", "--", "true").returncode, 2)
        self.assertEqual(self.picture(self.victim), self.untouched)

    def test_R4_manifest_of_somebody_else(self):
        self.apply(document(a="1"))
        good = self.read(MANIFEST)
        for bad in ("", "{}", good.replace('"a"', '"../victim/v"'), good.replace('"p"', '"P\\u001b"'),
                    good.replace('"version": 1', '"version": 2'), good.replace("644", "4644").replace("600", "4600")):
            self.write(MANIFEST, bad)
            before = self.picture()
            for done in (self.outputs("apply", document(b="1"), "--force", "--prune"),
                         self.cloche("outputs", "status", self.target)):
                self.assertEqual(done.returncode, 1, bad)
                self.assertIn(MANIFEST.encode(), done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertNotIn(b"\x1b", done.stderr)
            self.assertEqual(self.picture(), before)
        os.unlink(os.path.join(self.target, MANIFEST))
        os.symlink(os.path.join(self.victim, "v"), os.path.join(self.target, MANIFEST))
        self.apply(document(b="1"), "--force", code=1)
        self.assertEqual(self.picture(self.victim), self.untouched)

    def test_R4_differences_do_not_drive_a_terminal(self):
        self.write("a", "\x1b[2J")
        done = self.outputs("diff", document(a="\x1b]0;x\x07\u202e\n"), "--force", "--color", "always")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"\x1b]", done.stdout)
        self.assertNotIn(b"\x1b[2J", done.stdout)
        self.assertNotIn("\u202e".encode(), done.stdout)

    def test_R4_failed_write_leaves_the_target_as_it_was(self):
        self.apply(document(a="1"))
        before = self.picture()

        def small_files():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        text = document(a="2", b="x" * 200000)
        done = subprocess.run([CLOCHE, "outputs", "apply", "--into", self.target, "--producer", "p", "-"],
                              input=text.encode(), capture_output=True, timeout=TIMEOUT, check=False, preexec_fn=small_files)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(self.picture(), before)


class Crash(OutputsCase):
    COUNT = 120

    def set_of(self, body):
        return json.dumps({"outputs": [{"path": f"d{i % 20}/{i}", "body": body} for i in range(self.COUNT)]})

    def killed_while_applying(self, text, pause):
        """Whether the application of this document was really interrupted."""
        return self.ended_while_applying(text, pause, signal.SIGKILL) == -signal.SIGKILL

    def ended_while_applying(self, text, pause, number):
        process = subprocess.Popen([CLOCHE, "outputs", "apply", "--into", self.target, "--producer", "p", "-"],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.stdin.write(text.encode())
        process.stdin.close()
        while process.poll() is None and not os.path.exists(self.staging):
            pass
        time.sleep(pause)
        process.send_signal(number)
        return process.wait(TIMEOUT)

    def setUp(self):
        super().setUp()
        self.staging = os.path.join(self.target, ".cloche-apply")
        self.apply(self.set_of("old"))

    def test_R4_kill_9_in_the_middle_leaves_the_old_or_the_new(self):
        interrupted = 0
        current = "old"
        for attempt in range(8):
            wanted = f"new {attempt}"
            interrupted += self.killed_while_applying(self.set_of(wanted), attempt * 0.004)
            # Whoever looks next ends it, one way or the other.
            states = self.status()
            self.assertEqual(len(states), self.COUNT)
            self.assertEqual({state for _, state, _ in states.values()}, {"clean"})
            self.assertFalse(os.path.exists(self.staging))
            bodies = {content for _, content in self.picture().values() if content and len(content) < 20}
            self.assertIn(bodies, ({current.encode()}, {wanted.encode()}))
            current = bodies.pop().decode()
        self.assertGreater(interrupted, 0)

    def test_R4_signals_leave_all_or_nothing_and_nothing_to_do(self):
        current = "old"
        for attempt, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP) * 4):
            wanted = f"new {attempt}"
            code = self.ended_while_applying(self.set_of(wanted), attempt * 0.003, number)
            self.assertIn(code, (0, 130))
            current = wanted if code == 0 else current
            self.assertFalse(os.path.exists(self.staging))
            bodies = {content for _, content in self.picture().values() if content and len(content) < 20}
            self.assertEqual(bodies, {current.encode()})

    def test_R4_next_apply_goes_on_from_there(self):
        for attempt in range(5):
            self.killed_while_applying(self.set_of(f"new {attempt}"), attempt * 0.01)
            left = os.path.exists(self.staging)
            done = self.apply(self.set_of(f"next {attempt}"))
            # Killed after the lock and before the first file, there is nothing to speak of.
            self.assertTrue(left or b"interrupted" not in done.stderr, done.stderr)
            self.assertEqual({state for _, state, _ in self.status().values()}, {"clean"})
            self.assertEqual(self.read("d0/0"), f"next {attempt}")


GUEST = """
import json, sys
print("to stderr", file=sys.stderr)
json.dump({"outputs": [{"path": "index.html", "body": sys.argv[1]}]}, sys.stdout)
sys.exit(int(sys.argv[2]))
"""


class Runs(OutputsCase):
    def run_guest(self, *words, body="hi\n", code="0", script=GUEST):
        path = self.path("guest.py", script)
        return self.cloche("run", "--outputs", self.target, "--producer", "docs", *words, path, body, code,
                           env=dict(os.environ, CLOCHE_STATE_DIR=self.state))

    def outputs_of_run(self, verb, run):
        return self.cloche("outputs", verb, "--into", self.target, "--producer", "docs", run,
                           env=dict(os.environ, CLOCHE_STATE_DIR=self.state))

    def test_R4_run_hands_back_and_applies(self):
        done = self.run_guest("--apply")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertIn(b"to stderr", done.stderr)
        self.assertIn(b"+hi", done.stderr)
        self.assertEqual(self.read("index.html"), "hi\n")
        self.assertEqual(self.status(), {"index.html": ("docs", "clean", False)})

    def test_R4_without_apply_the_run_keeps_them(self):
        done = self.run_guest()
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertEqual(os.listdir(self.target), [])
        self.assertIn(b"cloche outputs apply", done.stderr)
        self.assertIn(b"+hi", self.outputs_of_run("diff", "last").stdout)
        self.assertEqual(self.outputs_of_run("apply", "last").returncode, 0)
        self.assertEqual(self.read("index.html"), "hi\n")

    def test_R4_conflict_is_1_and_the_document_is_kept(self):
        self.write("index.html", "mine")
        done = self.run_guest("--apply")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.read("index.html"), "mine")
        self.assertEqual(self.outputs_of_run("apply", "last").returncode, 1)
        os.unlink(os.path.join(self.target, "index.html"))
        self.assertEqual(self.outputs_of_run("apply", "last").returncode, 0)

    def test_R4_guest_that_fails_hands_nothing_back(self):
        done = self.run_guest("--apply", code="7")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(os.listdir(self.target), [])
        self.assertIn(b"keeps no outputs", self.outputs_of_run("apply", "last").stderr)

    def test_R4_what_is_no_document_is_1_and_not_kept(self):
        for script in ("print('hello')", "pass", "import sys; sys.stdout.buffer.write(bytes(range(256)))"):
            done = self.run_guest("--apply", script=script)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(b"keeps no outputs", self.outputs_of_run("apply", "last").stderr)
        self.assertEqual(os.listdir(self.target), [])

    def test_R4_output_limit_bounds_the_document(self):
        done = self.run_guest("--apply", "--output", "64K", body="x", script="print('x' * 1000000)")
        self.assertEqual(done.returncode, 137)
        self.assertEqual(os.listdir(self.target), [])

    def test_wrong_words_run_nothing(self):
        for words in (["--outputs", self.target], ["--producer", "p"], ["--apply"],
                      ["--outputs", self.target, "--producer", "P"],
                      ["--outputs", self.path("none"), "--producer", "p"]):
            done = self.cloche("run", *words, "--", "touch", self.path("ran"))
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.count(b"\n"), 1)
        for words in ([], ["dif"], ["diff", "x"], ["apply", "--into", self.target, "x"], ["status"], ["forget", self.target],
                      ["status", self.target, "--prune"], ["diff", "--into", self.target, "--producer", "p", "-n", "-"],
                      ["apply", "--into", self.target, "--producer", "p", "--force", "--skip-conflicts", "-"],
                      ["apply", "--into", self.target, "--producer", "p", "--max-count", "0", "-"]):
            done = self.cloche("outputs", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.count(b"\n"), 1)
