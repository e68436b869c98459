"""From a run with a workspace to the host's files: what was applied is what the guest had."""
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import time

from cell import CLOCHE, TIMEOUT, output_of
from workspace_case import MODES, WRECK, WorkspaceCase, snapshot

# The last line is what the guest's tree looks like at its end.
PICTURE = r"""
import hashlib, json, os, stat
out = {}
for folder, folders, files in os.walk("."):
    for name in folders + files:
        path = os.path.join(folder, name)
        st = os.lstat(path)
        if stat.S_ISREG(st.st_mode) and st.st_mode & 0o400 == 0:
            os.chmod(path, st.st_mode | 0o400)
        if stat.S_ISLNK(st.st_mode): what = os.readlink(path)
        elif stat.S_ISREG(st.st_mode): what = hashlib.sha256(open(path, "rb").read()).hexdigest()
        else: what = ""
        if not stat.S_ISFIFO(st.st_mode): out[path] = (stat.S_IFMT(st.st_mode), what)
print(json.dumps(out))
"""


def picture(top):
    out = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = ""
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                if st.st_mode & 0o400 == 0:
                    os.chmod(path, st.st_mode | 0o400)
                with open(path, "rb") as file:
                    what = hashlib.sha256(file.read()).hexdigest()
            out["./" + os.path.relpath(path, top)] = [stat.S_IFMT(st.st_mode), what]
    return out


class Signals(WorkspaceCase):
    COUNT = 300

    def signalled(self, words, folder, number, pause):
        """The exit code of this command, which gets the signal when it has begun to stage or, later, to rename."""
        process = subprocess.Popen([CLOCHE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        until = time.monotonic() + TIMEOUT
        awaited = folder + ("/.cloche-apply" if pause is None else "/.cloche-apply/journal")
        while process.poll() is None and not os.path.exists(awaited) and time.monotonic() < until:
            pass
        time.sleep(pause or 0)
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT)
        self.assertFalse(os.path.lexists(folder + "/.cloche-apply"))
        return process.returncode

    def texts(self, folder):
        out = set()
        for number in range(self.COUNT):
            try:
                with open(f"{folder}/f{number}", encoding="utf-8") as file:
                    out.add(file.read())
            except FileNotFoundError:
                out.add(None)
        return out

    def test_X6_a_signal_leaves_all_or_nothing_and_nothing_to_do(self):
        """Before it is decided it cancels with 130; from then on the change comes to its end."""
        script = f"for i in $(seq 0 {self.COUNT - 1}); do echo $0 > f$i; echo $0 > /tmp/f$i; done"
        codes = []
        now = None
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for attempt, pause in enumerate((None, 0, 0.001, 0.003, None)):
            text = str(attempt)
            done = self.work("auto", "--artifact", "/tmp/f*", "--", "sh", "-c", script, text)
            self.assertEqual(done.returncode, 0, done.stderr)
            for words, folder in ((("apply", "last"), self.tree),
                                  (("artifacts", "last", "--to", self.path("to" + text)), self.path("to" + text))):
                before = now if folder == self.tree else None
                code = self.signalled(words, folder, numbers[attempt % 3], pause)
                codes.append(code)
                self.assertIn(code, (0, 130), words)
                after = text + "\n" if code == 0 else before
                self.assertEqual(self.texts(folder) if os.path.isdir(folder) else {None}, {after}, words)
                if folder == self.tree:
                    now = after
        self.assertEqual(set(codes), {0, 130})


class Elsewhere(WorkspaceCase):
    """After the run the host puts another directory where one was, with the same names and bytes."""
    SCRIPT = "echo more >> folder/inner; echo new > folder/new; echo new > new"

    def exchange(self, path):
        os.rename(path, path + "-moved")
        shutil.copytree(path + "-moved", path, symlinks=True)

    def conflicts_of(self, mode, exchanged):
        done = self.work(mode, "--", "sh", "-c", self.SCRIPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.exchange(exchanged)
        before = picture(self.tree)
        shown = self.cloche("diff", "last").stdout
        done = self.cloche("apply", "last")
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertEqual(picture(self.tree), before)
        return shown, done.stderr

    def test_X6_nothing_is_written_into_another_directory_of_that_path(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.rmtree(self.tree)
                self.make_tree()
                shown, told = self.conflicts_of(mode, self.tree + "/folder")
                for name in (b"folder/inner", b"folder/new"):
                    self.assertIn(b"conflict: " + name + b": another directory is where folder was", told)
                self.assertNotIn(b"conflict: new", told)
                self.assertEqual(shown.count(b"conflict: another directory is where folder was"), 2)
                # What lies beside it can be had, and a word of its own is enough for the rest.
                self.assertEqual(self.cloche("apply", "last", "new").returncode, 0)
                self.assertEqual(self.cloche("apply", "last", "--three-way").returncode, 1)
                self.assertEqual(self.cloche("apply", "last", "--force").returncode, 0)
                self.assertTrue(os.path.exists(self.tree + "/folder/new"))

    def test_X6_nor_into_one_in_place_of_the_workspace(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.rmtree(self.tree)
                shutil.rmtree(self.tree + "-moved", ignore_errors=True)
                self.make_tree()
                _, told = self.conflicts_of(mode, self.tree)
                self.assertEqual(told.count(b": another directory is where the workspace was"), 3, told)
                # Back at its place it is the same again.
                shutil.rmtree(self.tree)
                os.rename(self.tree + "-moved", self.tree)
                self.assertEqual(self.cloche("apply", "last").returncode, 0)


class RoundTrip(WorkspaceCase):
    def test_X6_what_is_applied_is_what_the_guest_had(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.rmtree(self.tree)
                self.make_tree()
                done, report = self.report_of(mode, "--lang", "python", "-", input=(WRECK + PICTURE).encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                expected = json.loads(output_of(report).splitlines()[-1])
                done = self.cloche("apply", report["id"])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(picture(self.tree), expected)
                self.assertTrue(os.stat(self.tree + "/tool").st_mode & stat.S_IXUSR)
                self.assertFalse(os.path.lexists(self.tree + "/pipe"))
                self.assertFalse(os.path.lexists(self.tree + "/.cloche-apply"))

    def test_X6_whole_trees_change_their_kind(self):
        """A link or a file becomes a directory with directories in it, and such a directory a file or a link."""
        script = ("rm link was-file; mkdir -p link/a/b was-file/a/b; echo 1 > link/a/b/c; echo 2 > was-file/a/b/c; "
                  "rm -r kinds; ln -s text kinds; rm -r kinds-too; echo 3 > kinds-too")
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.rmtree(self.tree)
                self.make_tree()
                for name in ("kinds", "kinds-too"):
                    os.makedirs(f"{self.tree}/{name}/a/b")
                    self.path(f"tree/{name}/a/b/c", "deep\n")
                done = self.work(mode, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 0, done.stderr)
                for name, text in (("link/a/b/c", "1\n"), ("was-file/a/b/c", "2\n"), ("kinds-too", "3\n")):
                    with open(f"{self.tree}/{name}", encoding="utf-8") as file:
                        self.assertEqual(file.read(), text)
                self.assertFalse(os.path.islink(self.tree + "/link"))
                self.assertEqual(os.readlink(self.tree + "/kinds"), "text")

    def test_X6_discarded_is_gone(self):
        before = snapshot(self.tree)
        _, report = self.report_of("auto", "--", "sh", "-c", "echo x > text; rm gone")
        self.assertEqual(self.cloche("discard", report["id"]).returncode, 0)
        self.assertEqual(self.cloche("apply", report["id"]).returncode, 126)
        self.assertEqual(snapshot(self.tree), before)

    def test_X6_a_run_through_a_keeper_proposes_the_same(self):
        os.environ["CLOCHE_KEEPER_DIR"] = self.path("keeper")
        os.mkdir(self.path("keeper"), 0o700)
        self.addCleanup(os.environ.pop, "CLOCHE_KEEPER_DIR")
        self.addCleanup(self.cloche, "keeper", "stop")
        self.assertEqual(self.cloche("keeper", "start").returncode, 0)
        for mode in MODES:
            for _ in range(3):
                done, report = self.report_of(mode, "--keeper", "always", "--", "sh", "-c", "echo x > text; rm gone")
                self.assertEqual(done.returncode, 0, done.stderr)
                changes = report["workspaces"][0]
                self.assertEqual((changes["added"], changes["modified"], changes["deleted"]), (0, 1, 1))


class Meanwhile(WorkspaceCase):
    def start_and_edit(self, mode, edit, does="echo guest >> text"):
        """A guest changes a file, then the host does, then the guest ends."""
        script = does + "; echo ready; read line; exit 0"
        process = self.start("--stdin", "--workspace", self.tree, "--workspace-mode", mode, "--", "sh", "-c", script)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.1)  # in which the engine sees what stands where
        edit()
        process.communicate(b"go\n", timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)

    def test_X6_an_edit_on_the_host_during_the_run_is_a_conflict(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                self.path("tree/text", "as before\n")
                self.start_and_edit(mode, lambda: self.path("tree/text", "mine\n"))
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 1, done.stderr)
                with open(self.tree + "/text", encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine\n")
                self.assertEqual(self.cloche("apply", "last", "--force").returncode, 0)

    def test_X6_an_edit_on_the_host_after_the_run_is_a_conflict_and_can_be_merged(self):
        lines = [f"line {i}\n" for i in range(20)]
        for mode in MODES:
            with self.subTest(mode=mode):
                self.path("tree/text", "".join(lines))
                done = self.work(mode, "--", "sed", "-i", "s/line 3$/guest 3/", "text")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.path("tree/text", "".join(lines).replace("line 15\n", "host 15\n"))
                self.assertEqual(self.cloche("apply", "last").returncode, 1)
                with open(self.tree + "/text", encoding="utf-8") as file:
                    self.assertNotIn("guest 3", file.read())
                self.assertEqual(self.cloche("apply", "last", "--three-way").returncode, 0)
                with open(self.tree + "/text", encoding="utf-8") as file:
                    text = file.read()
                self.assertIn("guest 3\n", text)
                self.assertIn("host 15\n", text)

    def test_X6_other_edits_on_the_host_are_nobodys_business(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                self.start_and_edit(mode, lambda: self.path("tree/gone", "changed\n"))
                self.assertEqual(self.cloche("apply", "last").returncode, 0)
                with open(self.tree + "/gone", encoding="utf-8") as file:
                    self.assertEqual(file.read(), "changed\n")

    def test_X6_files_that_the_host_makes_beside_are_no_conflict(self):
        """They change the same times as a directory does that is exchanged for another."""
        for mode in MODES:
            with self.subTest(mode=mode):
                top = f"tree/{mode}/"
                os.makedirs(self.path(top + "src/deep"))
                for name in ("src/a", "src/b", "src/deep/a"):
                    self.path(top + name, "as before\n")

                def build(top=top):
                    for name in ("notes", "src/x.o", "src/deep/y.o"):
                        self.path(top + name, "mine\n")

                self.start_and_edit(mode, build, f"cd {mode}; echo g >> src/a; echo g >> src/deep/a; rm src/b")
                done = self.cloche("apply", "last")
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertFalse(os.path.exists(self.path(top + "src/b")))
                for name, text in (("src/a", "as before\ng\n"), ("src/deep/a", "as before\ng\n"), ("src/x.o", "mine\n")):
                    with open(self.path(top + name), encoding="utf-8") as file:
                        self.assertEqual(file.read(), text)

    def test_X6_a_directory_that_the_host_exchanged_is_a_conflict_whatever_its_time_says(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                top = self.path(f"tree/{mode}")
                for name in ("src", "other"):
                    os.makedirs(f"{top}/{name}")
                    self.path(f"tree/{mode}/{name}/a", f"of {name}\n")

                def exchange(top=top):
                    os.rename(top + "/src", top + "/src.old")
                    os.rename(top + "/other", top + "/src")
                    os.utime(top, (1, 1))

                self.start_and_edit(mode, exchange, f"echo guest >> {mode}/src/a")
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 1, done.stderr)
                with open(top + "/src/a", encoding="utf-8") as file:
                    self.assertEqual(file.read(), "of other\n")

    def test_X6_a_file_that_the_guest_deletes_and_the_host_changes_is_a_conflict(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                self.path("tree/gone", "as before\n")

                def edit():
                    self.path("tree/gone", "mine\n")
                    self.path("tree/later", "mine\n")

                self.start_and_edit(mode, edit, "rm gone")
                done = self.cloche("apply", "last")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"gone", done.stderr)
                self.assertNotIn(b"later", done.stderr)
                os.remove(self.tree + "/later")


class Repositories(WorkspaceCase):
    def git(self, *words, where=None):
        config = ["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *config, *words], cwd=where or self.tree, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False, env=dict(os.environ, HOME=self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_X6_a_commit_in_a_cell_is_a_commit_on_the_host_when_applied(self):
        if shutil.which("git") is None:
            self.fail("git is missing: tools/setup test installs it")
        for mode in MODES:
            with self.subTest(mode=mode):
                shutil.rmtree(self.tree)
                self.make_tree()
                self.git("init", "-q")
                self.git("add", ".")
                self.git("commit", "-qm", "first")
                os.makedirs(self.tree + "/nested")
                self.git("init", "-q", where=self.tree + "/nested")
                self.git("worktree", "add", "-q", self.tree + "/side", "-b", "side")
                commit = "git -c user.name=g -c user.email=g commit -qm second"
                script = (f"echo more >> text && git add text && {commit} && cd side && echo s > s && git add s && {commit}"
                          " && cd ../nested && echo n > n && git add n && git status --short")
                done = self.work(mode, "--", "sh", "-c", script)
                self.assertEqual((done.returncode, done.stdout), (0, b"A  n\n"), done.stderr)
                self.assertEqual(self.git("log", "--format=%s").split(), ["first"])
                done = self.cloche("apply", "last", "--allow-protected", "all")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.git("log", "--format=%s").split(), ["second", "first"])
                self.assertEqual(self.git("log", "--format=%s", where=self.tree + "/side").split(), ["second", "first"])
                self.assertEqual(self.git("fsck", "--strict"), "")

    def test_R4_a_repository_of_any_name_is_not_written_without_a_grant(self):
        marker = self.path("obeyed")
        config = ('[core]\\n repositoryformatversion = 0\\n bare = false\\n worktree = .\\n'
                  f' fsmonitor = "touch {marker}; false"\\n')
        pieces = {"HEAD": "echo ref: refs/heads/main > bare/HEAD", "objects": "mkdir bare/objects",
                  "refs": "mkdir bare/refs", "config": f"printf '{config}' > bare/config"}
        done = self.work("auto", "--", "sh", "-c", "mkdir bare && " + " && ".join(pieces.values()))
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.cloche("diff", "last").stdout.decode()
        for piece in pieces:
            self.assertRegex(shown, rf"added bare/{piece}/? .*\[protected: ")
        for selected in ([], ["bare"], ["bare/config"], ["bare/HEAD"]):
            self.assertEqual(self.cloche("apply", "last", *selected).returncode, 1, selected)
        self.assertFalse(os.path.exists(self.tree + "/bare/HEAD"))
        self.assertEqual(self.cloche("apply", "last", "--allow-protected", "bare").returncode, 0)
        # What it is kept from: git obeys it.
        self.git("status", where=self.tree + "/bare")
        self.assertTrue(os.path.exists(marker))

    def test_R4_the_last_piece_of_a_repository_is_not_written_without_a_grant(self):
        steps = ("mkdir bare bare/objects && echo '[core]' > bare/config", "mkdir bare/refs",
                 "echo ref: refs/heads/main > bare/HEAD")
        for step, code in zip(steps, (0, 0, 1)):
            self.assertEqual(self.work("auto", "--", "sh", "-c", step).returncode, 0)
            self.assertEqual(self.cloche("apply", "last").returncode, code, step)
        self.assertFalse(os.path.exists(self.tree + "/bare/HEAD"))

    def test_R4_a_hook_is_not_written_without_a_grant(self):
        self.git("init", "-q")
        done = self.work("auto", "--", "sh", "-c", "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo y > fine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"protected", self.cloche("diff", "last").stdout)
        self.assertEqual(self.cloche("apply", "last").returncode, 1)
        self.assertFalse(os.path.exists(self.tree + "/fine"))
        self.assertEqual(self.cloche("apply", "last", "fine").returncode, 0)
        self.assertFalse(os.path.exists(self.tree + "/.git/hooks/pre-commit"))
        self.assertEqual(self.cloche("apply", "last", "--allow-protected", ".git/hooks/pre-commit").returncode, 0)
        self.assertTrue(os.path.exists(self.tree + "/.git/hooks/pre-commit"))

    def test_R4_a_workspace_that_is_protected_itself_takes_nothing_without_a_grant(self):
        self.git("init", "-q")
        for place in (".git/hooks", ".ssh", ".config/autostart"):
            with self.subTest(place=place):
                folder = os.path.join(self.tree, place)
                os.makedirs(folder, exist_ok=True)
                done = self.cloche("run", "--workspace", folder, "--", "sh", "-c", "echo x > pre-commit")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(self.cloche("diff", "last").stdout.decode(), r"added pre-commit .*\[protected: ")
                self.assertEqual(self.cloche("apply", "last").returncode, 1)
                self.assertFalse(os.path.exists(folder + "/pre-commit"))
                self.assertEqual(self.cloche("apply", "last", "--allow-protected", "pre-commit").returncode, 0)

    def test_R4_what_the_hosts_links_and_settings_lead_git_to_is_not_written_without_a_grant(self):
        self.git("init", "-q")
        shutil.rmtree(self.tree + "/.git/hooks")
        os.mkdir(self.tree + "/linked")
        os.symlink("../linked", self.tree + "/.git/hooks")
        self.git("config", "include.path", "../included")
        self.path("tree/included", "[core]\n\thooksPath = named\n")
        marker = self.path("obeyed")
        hook = f"printf '#!/bin/sh\\ntouch {marker}\\n' > named/pre-commit && chmod +x named/pre-commit"
        done = self.work("auto", "--", "sh", "-c", f"mkdir named && {hook} && cp named/pre-commit linked && echo >> included")
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.cloche("diff", "last").stdout.decode()
        for path in ("named/pre-commit", "linked/pre-commit", "included"):
            self.assertRegex(shown, rf"{path} .*\[protected: ")
            self.assertEqual(self.cloche("apply", "last", path).returncode, 1, path)
        self.assertEqual(self.cloche("apply", "last", "--allow-protected", "all").returncode, 0)
        # What it is kept from: git obeys it.
        self.git("-c", "user.name=g", "-c", "user.email=g", "commit", "-q", "--allow-empty", "-m", "x")
        self.assertTrue(os.path.exists(marker))
