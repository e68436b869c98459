"""A hostile guest's files against diff, apply, --get and --artifact, and a host whose tree somebody changes meanwhile."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from cell import CLOCHE, LIMITS, TIMEOUT
from turns import for_root
from workspace_case import MODES, WorkspaceCase, snapshot

STRANGE = r"""
import os
names = [b"\x1b]0;title\x07", b"\x1b[2Jx", b"line\nbreak", b"tab\t", b"\xff\xfe", b"..x", b"...", b".. ", b" ", b"-rf",
         b"--force", b"a\\b", b'"quoted"', b"\xe2\x80\xae" b"txt.exe", b"n" * 255, b".cloche-get-1", b"\r", b"\x7f",
         b".Cloche-Apply", b"index", b"blobs"]
for name in names:
    with open(name, "wb") as file: file.write(name.hex().encode())
os.makedirs("folder/.cloche-apply"); open("folder/.cloche-apply/journal", "w").close()
try: os.mkdir(".cloche-apply"); open(".cloche-apply/journal", "w").write("evil")
except OSError as error: print(error)
os.symlink("loop-b", "loop-a"); os.symlink("loop-a", "loop-b"); os.symlink(".", "loop-c"); os.symlink("\x1b[31m", "red")
os.symlink("x" * 4095, "long-link")
os.remove("text"); os.mkfifo("text")
os.makedirs("closed/inner/most"); open("closed/inner/most/file", "w").write("found")
for path in ("closed/inner/most/file", "closed/inner/most", "closed/inner", "closed"): os.chmod(path, 0)
"""

FORGED = r"""
import os
for name in ("opaque", "redirect", "whiteout", "metacopy", "origin", "impure", "xwhiteouts", "overlay.opaque"):
    for path in (".", "folder", "empty-folder", "text", "tool"):
        for value in (b"y", b"x", b"/", b""):
            try: os.setxattr(path, "user.overlay." + name, value)
            except OSError: pass
os.chmod("folder", 0o755); os.chmod("text", 0o644); os.chmod("tool", 0o644)
"""

DEEP = r"""
import os
for level in range(1990):
    os.mkdir("d", 0o700); os.chdir("d")
with open("deepest", "w") as file: file.write("x")
os.chdir(".."); os.chmod("d", 0)
"""

# Whatever stands in the way of the caller: it puts links, fifos and other directories where a folder was.
SWAPPER = r"""
import os, random, sys, time
tree, outside = sys.argv[1:]
print("up", flush=True)
while True:
    for name in ("folder", "a", "text"):
        path, aside = f"{tree}/{name}", f"{tree}/{name}-aside"
        for make in (lambda: os.symlink(outside, path), lambda: os.mkfifo(path), lambda: os.mkdir(path)):
            try: os.rename(path, aside)
            except OSError: continue
            try: make()
            except OSError: pass
            time.sleep(random.random() / 100)
            try: os.unlink(path)
            except OSError: pass
            try: os.rmdir(path)
            except OSError: pass
            try: os.rename(aside, path)
            except OSError: pass
            time.sleep(random.random() / 500)
"""


def control_bytes(text):
    return [byte for byte in text if (byte < 32 and byte != 10) or byte == 127 or byte > 127]


class HostileGuest(WorkspaceCase):
    def tearDown(self):
        subprocess.run(["chmod", "-R", "u+rwx", self.folder], check=False, capture_output=True, timeout=TIMEOUT)

    def test_X6_strange_names_links_and_modes_are_shown_and_applied(self):
        first = self.tree
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.copytree(first, self.path("tree-" + mode), symlinks=True)
                self.tree = self.path("tree-" + mode)
                before = snapshot(self.tree)
                done, report = self.report_of(mode, "--lang", "python", "-", input=STRANGE.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(snapshot(self.tree), before)
                self.assertEqual(report["workspaces"][0]["problem"], "")
                for words in ([], ["--stat"], ["--name-only"], ["--json"]):
                    shown = self.cloche("diff", "last", *words)
                    self.assertEqual(shown.returncode, 0, shown.stderr)
                    self.assertNotIn(b"\x1b", shown.stdout + shown.stderr)
                changes = json.loads(self.cloche("diff", "last", "--json").stdout)["workspaces"][0]["changes"]
                by_path = {change["path"]: change for change in changes}
                self.assertFalse(by_path["text"]["appliable"])
                self.assertEqual(by_path["text"]["before"]["sha256"], hashlib.sha256(b"this is text\n").hexdigest())
                self.assertEqual([path for path in by_path if path.startswith(".cloche-apply")], [])
                self.assertEqual(by_path["closed/inner/most/file"]["after"]["mode"], "0000")
                applied = self.cloche("apply", "last")
                self.assertEqual(applied.returncode, 0, applied.stderr)
                self.assertEqual(control_bytes(applied.stdout + applied.stderr), [])
                with open(os.fsencode(self.tree) + b"/\x1b]0;title\x07", "rb") as file:
                    self.assertEqual(file.read(), b"\x1b]0;title\x07".hex().encode())
                self.assertEqual(os.readlink(self.tree + "/loop-a"), "loop-b")
                self.assertEqual(os.lstat(self.tree + "/closed").st_mode & 0o777, 0)
                self.assertFalse(os.path.lexists(self.tree + "/.cloche-apply"))
                self.assertTrue(os.path.isfile(self.tree + "/text"))

    def test_X6_forged_attributes_delete_nothing(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                before = snapshot(self.tree)
                done, report = self.report_of(mode, "--lang", "python", "-", input=FORGED.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(snapshot(self.tree), before)
                changes = report["workspaces"][0]
                self.assertEqual((changes["deleted"], changes["added"], changes["problem"]), (0, 0, ""))
                self.assertEqual(self.cloche("apply", "last").returncode, 0)
                self.assertEqual({path: state[-1] for path, state in snapshot(self.tree).items()},
                                 {path: state[-1] for path, state in before.items()})

    def test_X6_a_directory_that_was_moved_arrives_with_all_that_is_in_it(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                tree = self.tree = self.path("tree-" + mode)
                for folder in ("src/deep", "lib/deep"):
                    os.makedirs(f"{tree}/{folder}")
                    for i in range(60):
                        self.path(f"tree-{mode}/{folder}/f{i}", folder)
                time.sleep(0.05)  # what changed in the very tick of the start counts as changed meanwhile
                done = self.work(mode, "--", "sh", "-c", "mv src aside; mv lib src; mv aside moved")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.cloche("apply", "last").returncode, 0)
                self.assertEqual(sorted(os.listdir(tree)), ["moved", "src"])
                for folder, content in (("src", "lib/deep"), ("moved", "src/deep")):
                    found = set()
                    for i in range(60):
                        with open(f"{tree}/{folder}/deep/f{i}", encoding="utf-8") as file:
                            found.add(file.read())
                    self.assertEqual(found, {content})

    def test_X6_two_thousand_levels(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                got = self.path("got-" + mode)
                done, report = self.report_of(mode, "--get", self.tree + "/d:" + got, "--artifact", "**/deepest", "--lang",
                                              "python", "-", input=DEEP.encode())
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(b"too deep", done.stderr)
                self.assertEqual([name for name in os.listdir(self.folder) if "got" in name], [])
                self.assertEqual(report["workspaces"][0]["added"], 1991)
                self.assertEqual(self.cloche("diff", "last", "--stat").returncode, 0)
                self.assertEqual(self.cloche("discard", "last").returncode, 0)

    def test_X6_deep_trees_are_applied(self):
        # Each level waits for the disk, so not all that a path can hold.
        done = self.work("auto", "--lang", "python", "-", input=DEEP.replace("1990", "400").encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.cloche("apply", "last").returncode, 0)
        self.assertTrue(os.path.isdir(self.tree + "/d" * 399))
        # Too deep for what cleans up behind a test.
        subprocess.run(["chmod", "-R", "u+rwx", self.tree + "/d"], check=True, timeout=TIMEOUT)
        subprocess.run(["rm", "-rf", self.tree + "/d"], check=True, timeout=TIMEOUT)

    def test_N8_holes_and_names_for_one_file_are_bounded(self):
        script = ("import os\nfor i in range(40):\n  with open(f's{i}', 'wb') as f: f.truncate(200 << 20)\n"
                  "with open('n', 'wb') as f: f.write(b'x' * (8 << 20))\nfor i in range(2000): os.link('n', f'n{i}')\n")
        done, report = self.report_of("overlay", "--disk", "256M", "--lang", "python", "-", input=script.encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(report["workspaces"][0]["added"], 2041)
        # It reads a gigabyte, which takes its time under the sanitizers.
        shown = self.cloche("diff", "last", "--json", timeout=4 * TIMEOUT)
        changes = json.loads(shown.stdout)["workspaces"][0]["changes"]
        size = sum(change["after"]["size"] for change in changes if change["appliable"])
        self.assertLessEqual(size, (1 << 30) + (8 << 20))


# A staging directory with a journal that puts n0 in place as a hook, under a digest that anybody can write.
PLANT = r"""
import hashlib, os, struct, sys
version = int(sys.argv[1])
os.mkdir(".cloche-apply"); os.chmod(".cloche-apply", 0o700)
with open(".cloche-apply/n0", "w") as file: file.write("#!/bin/sh\n")
path = b".git/hooks/pre-commit"
body = b"cloche-apply %d\n" % version + struct.pack("<QQ", 1, len(path)) + path
body += struct.pack("<QQQQQQQ", 2, 0, 0o755, 0, 0, 0, 0) + (b"" if version == 1 else bytes(16 + 32))
with open(".cloche-apply/journal", "wb") as file: file.write(body + hashlib.sha256(body).digest())
"""


class Planted(WorkspaceCase):
    def test_R4_a_journal_that_a_guest_wrote_is_not_carried_out(self):
        """It is in the user's name and for the user alone, but not under the user's seal."""
        hooks = self.tree + "/.git/hooks"
        os.makedirs(hooks)
        for version in ("1", "2"):
            kept = self.work("auto", "--", "touch", "new")
            self.assertEqual(kept.returncode, 0, kept.stderr)
            done = self.cloche("run", "--no-record", "--write", self.tree, "--read", self.tree + "/.git", "--cwd", self.tree, "--",
                               "python3", "-c", PLANT, version)
            self.assertEqual(done.returncode, 0, done.stderr)
            before = snapshot(self.tree)
            for command in (["apply", "last"], ["run", "--workspace", self.tree, "--", "true"]):
                done = self.cloche(*command)
                self.assertEqual(done.returncode, 126, done.stderr)
                self.assertIn(self.tree.encode(), done.stderr)
                self.assertIn(b"remove it", done.stderr)
            self.assertEqual(os.listdir(hooks), [])
            self.assertEqual(snapshot(self.tree), before)
            subprocess.run(["rm", "-rf", self.tree + "/.cloche-apply"], check=True, timeout=TIMEOUT)


class HostileHost(WorkspaceCase):
    def swap(self):
        outside = self.path("outside")
        os.makedirs(outside + "/b/c", exist_ok=True)
        for name in ("inner", "deep", "b/c/deep"):
            self.path("outside/" + name, "outside\n")
        process = subprocess.Popen([sys.executable, "-c", SWAPPER, self.tree, outside], stdout=subprocess.PIPE)

        def end():
            process.kill()
            process.wait(TIMEOUT)
            process.stdout.close()

        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), b"up\n")
        return outside, end

    def test_R4_links_that_come_and_go_lead_no_apply_outside(self):
        outside, end = self.swap()
        before = snapshot(outside)
        for number in range(20):
            script = (f"mkdir -p folder a/b/c; for f in folder/inner folder/new-{number} a/b/c/deep text; do "
                      f"rm -f $f; echo {number} > $f; done")
            # The guest may meet a link or a fifo, too, and fail; and what was interrupted cannot always be ended now.
            self.assertIn(self.work("overlay", "--", "sh", "-c", script).returncode, (0, 1, 2, 126))
            done = self.cloche("apply", "last", "--force")
            self.assertIn(done.returncode, (0, 1, 125, 126), done.stderr)
            self.assertEqual(snapshot(outside), before)
        end()
        # Once nobody is in the way any more, the next command ends what could not be undone.
        for name in ("folder", "a", "text"):
            path = f"{self.tree}/{name}"
            if os.path.lexists(path + "-aside"):
                subprocess.run(["rm", "-rf", path], check=True, timeout=TIMEOUT)
                os.rename(path + "-aside", path)
        done = self.work("overlay", "--", "true")
        self.assertIn(done.returncode, (0, 126), done.stderr)
        if os.path.lexists(self.tree + "/.cloche-apply"):
            self.assertIn(b"something new is at its place", done.stderr)  # never overwritten, and never thrown away

    def test_X6_a_file_that_somebody_makes_meanwhile_costs_no_other_file(self):
        """Somebody waits for one of the names to be free: replaced names never are, and a deleted one is not lost."""
        names = [f"f{number}" for number in range(1000)]
        waiter = ("import os, sys\nprint('up', flush=True)\nwhile True:\n  try: os.open(sys.argv[1], os.O_CREAT | "
                  "os.O_EXCL); break\n  except FileExistsError: pass")
        for name in names:
            self.path("tree/" + name, "old\n")
        others = len(os.listdir(self.tree)) - len(names)
        for script, left in (("for i in f[0-9]*; do echo new > $i; done", {"new\n"}),
                             ("for i in f[0-9]*; do echo newer > $i; done; rm f150", {"newer\n", ""})):
            self.assertEqual(self.work("auto", "--", "sh", "-c", script).returncode, 0)
            with subprocess.Popen([sys.executable, "-c", waiter, self.tree + "/f150"], stdout=subprocess.PIPE) as process:
                self.addCleanup(process.kill)
                self.assertEqual(process.stdout.readline(), b"up\n")
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 0, done.stderr)
                process.kill()
            self.assertEqual(len(os.listdir(self.tree)), others + len(set(names) - {"f150"}) +
                             os.path.exists(self.tree + "/f150"))
            texts = set()
            for name in filter(lambda name: os.path.exists(f"{self.tree}/{name}"), names):
                with open(f"{self.tree}/{name}", encoding="utf-8") as file:
                    texts.add(file.read())
            self.assertLessEqual(texts, left)
            self.assertEqual(self.cloche("diff", "last").returncode, 0)

    def test_X6_a_tree_that_changes_while_it_is_copied_or_captured(self):
        outside, end = self.swap()
        before = snapshot(outside)
        for mode in MODES * 6:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", "grep -rsh outside .; echo x > new; rm -rf folder text; true")
                self.assertIn(done.returncode, (0, 125, 126), done.stderr)
                self.assertEqual(snapshot(outside), before)
                self.assertNotIn(b"outside", done.stdout)
        end()

    @for_root("a small file system takes root, here as there")
    def test_X6_changes_that_do_not_fit_where_runs_are_kept_leave_room_for_the_report(self):
        os.mkdir(self.state, 0o700)
        script = 'mount -t tmpfs -o size=400k,mode=700 none "$1" && shift && "$@"; echo $?; "$1" report show last'
        before = snapshot(self.tree)
        for words in (["--workspace", self.tree], ["--artifact", "/work/*"]):
            with self.subTest(words=words):
                write = f"cd {self.tree if words[0] == '--workspace' else '/work'} && head -c 1000000 /dev/urandom > big"
                done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.state, CLOCHE,
                                       "run", *LIMITS, *words, "--", "sh", "-c", write], capture_output=True,
                                      timeout=TIMEOUT, check=False)
                self.assertIn(b"No space left on device", done.stderr)
                self.assertNotIn(b"report.json", done.stderr)
                self.assertEqual((done.returncode, done.stdout[:4]), (0, b"125\n"), done.stderr)
                self.assertIn(b"the guest ended with code 0", done.stdout)
                self.assertEqual(snapshot(self.tree), before)

    def test_K7_killed_while_the_changes_are_kept(self):
        before = snapshot(self.tree)
        script = "import os\nfor i in range(30000): open(f'f{i}', 'w').close()\nprint('done', flush=True)"
        process = self.start("--workspace", self.tree, "--inodes", "60000", "--lang", "python", "-")
        process.stdin.write(script.encode())
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), b"done\n")
        process.stderr.readline()  # "copying: …"; or it was faster
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT)
        self.assertEqual(snapshot(self.tree), before)
        until = time.monotonic() + 20
        while os.listdir(self.state + "/runs") and time.monotonic() < until:
            self.assertEqual(self.cloche("gc", "--keep", "0").returncode, 0)
        self.assertEqual(os.listdir(self.state + "/runs"), [])
