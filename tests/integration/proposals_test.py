"""cloche diff, apply and discard, on proposals that were captured from a guest's side made by hand."""
import json
import os
import shutil
import stat
import subprocess
import time

from cell import CLOCHE, TIMEOUT, CellCase

PROPOSE = os.path.join(os.path.dirname(CLOCHE), "propose")


def lines(count, **other):
    return "".join(other.get(f"l{i}", f"line {i}") + "\n" for i in range(1, count + 1))


class Folder:
    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)

    def at(self, name):
        return os.path.join(os.fsencode(self.path), os.fsencode(name))

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(self.at(name), mode)

    def read(self, name):
        with open(self.at(name), "rb") as file:
            return file.read().decode()

    def whiteout(self, name):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        os.mknod(self.at(name), stat.S_IFCHR | 0o600, 0)

    def picture(self):
        found = {}
        for base, _, files in os.walk(self.path):
            for name in files:
                with open(os.path.join(base, name), "rb") as file:
                    found[os.path.relpath(os.path.join(base, name), self.path)] = file.read()
        return found


class WorkspaceCase(CellCase):
    def setUp(self):
        super().setUp()
        self.env = dict(os.environ, CLOCHE_STATE_DIR=self.path("state"))
        self.host = Folder(self.path("host"))
        self.guest = Folder(self.path("guest"))

    def keep(self, number=0, host=None, guest=None):
        """A recorded run with this proposal in it."""
        if number == 0:
            empty = self.path("empty")
            os.mkdir(empty)
            done = self.cloche("run", "--workspace", empty, "--", "true", env=self.env)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            # In place of its own, which is empty.
            shutil.rmtree(self.path(f"state/runs/{os.listdir(self.path('state/runs'))[0]}/ws"))
        (self.run_id,) = [name for name in os.listdir(self.path("state/runs")) if not name.startswith(".")]
        into = self.path(f"state/runs/{self.run_id}/ws/{number}")
        os.makedirs(into, 0o700)
        command = [PROPOSE, "overlay", (host or self.host).path, (guest or self.guest).path, into]
        subprocess.run(command, check=True, timeout=TIMEOUT)

    def command(self, name, *words, code=0, **more):
        done = self.cloche(name, "last", *words, env=self.env, **more)
        self.assertEqual(done.returncode, code, done.stdout.decode(errors="replace") + done.stderr.decode())
        return done.stdout.decode(errors="surrogateescape"), done.stderr.decode()

    def diff(self, *words, **more):
        return self.command("diff", *words, **more)

    def apply(self, *words, **more):
        return self.command("apply", *words, **more)


class Diff(WorkspaceCase):
    def usual(self):
        self.host.write("changed", "old\nsame\n")
        self.host.write("gone", "gone\n")
        self.host.write("moved", "content that moves\n")
        self.host.write("binary", b"a\0b")
        self.host.write("script", "#!/bin/sh\n")
        self.guest.write("changed", "new\nsame\n")
        self.guest.whiteout("gone")
        self.guest.whiteout("moved")
        self.guest.write("to", "content that moves\n")
        self.guest.write("binary", b"a\0cd")
        self.guest.write("script", "#!/bin/sh\n", 0o755)
        self.guest.write(".git/hooks/post-commit", "evil\n", 0o755)
        os.mkfifo(self.guest.at("fifo"))
        self.guest.write("tool", "x\n", 0o4755)
        self.keep()

    def test_X6_shows_every_kind_of_change(self):
        self.usual()
        out, _ = self.diff()
        for text in ("modified changed", "-old\n+new\n", "deleted gone", "renamed moved → to",
                     "mode script (mode 0644 → 0755)", "3 bytes, sha256", "4 bytes, sha256",
                     "added fifo [cannot be applied: a fifo]", "set-uid, set-gid or sticky dropped"):
            self.assertIn(text, out)
        self.assertRegex(out, r"added .git/hooks/post-commit \(mode 0755\) \[protected: ")
        self.assertNotIn("\x1b", out)
        self.assertIn("\x1b[32m+new", self.diff("--color", "always")[0])

    def test_X6_other_forms(self):
        self.usual()
        self.assertRegex(self.diff("--stat")[0], r"changed +\| +2 \+-")
        names = self.diff("--name-only")[0].split("\n")
        self.assertIn("moved", names)
        self.assertIn("to", names)
        data = json.loads(self.diff("--json")[0])
        self.assertEqual(data["run"], self.run_id)
        (workspace,) = data["workspaces"]
        changes = {change["path"]: change for change in workspace["changes"]}
        self.assertEqual(changes["to"]["from"], "moved")
        self.assertEqual(changes["changed"]["lines_added"], 1)
        self.assertFalse(changes["fifo"]["appliable"])
        self.assertTrue(changes[".git/hooks/post-commit"]["protected"])
        self.assertEqual(changes["gone"]["before"]["size"], 5)
        self.diff("--exit-code", code=1)
        out, _ = self.diff("changed")
        self.assertNotIn("gone", out)

    def test_X6_names_of_a_guest_drive_no_terminal(self):
        names = [b"a\nb", b"\x1b]0;title\x07", b"\xff\xfe", "é".encode()]
        for name in names:
            self.guest.write(name, "x\n")
        self.keep()
        for words in ([], ["--stat"], ["--name-only"], ["--json"]):
            out, _ = self.diff(*words)
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\udcff", out)
        raw = self.cloche("diff", "last", "--name-only", "-z", env=self.env).stdout
        self.assertEqual(sorted(raw.split(b"\0")[:-1]), sorted(names))
        self.apply()
        self.assertEqual(sorted(os.listdir(os.fsencode(self.host.path))), sorted(names))

    def test_conflicts_are_marked(self):
        self.host.write("file", "old\n")
        self.guest.write("file", "guest\n")
        self.keep()
        self.assertNotIn("conflict", self.diff()[0])
        self.host.write("file", "host\n")
        self.assertIn("[conflict: changed on the host since]", self.diff()[0])

    def test_nothing_to_show_and_wrong_words(self):
        self.assertIn("no run", self.diff(code=126)[1])
        self.guest.write("a", "x")
        self.keep()
        _, text = self.diff("nowhere", code=2)
        self.assertIn("nowhere", text)
        _, text = self.diff("../a", code=2)
        self.assertIn("does not lie in the workspace", text)
        done = self.cloche("diff", env=self.env)
        self.assertEqual(done.returncode, 2)
        _, text = self.diff("--workspace", "/nonexistent", code=126)
        self.assertIn("/nonexistent", text)

    def test_a_workspace_that_is_gone_is_still_shown(self):
        self.guest.write("a", "x\n")
        self.keep()
        os.rename(self.host.path, self.path("elsewhere"))
        out, text = self.diff()
        self.assertIn("added a", out)
        self.assertIn("without what changed on the host", text)
        self.apply(code=126)


class Apply(WorkspaceCase):
    def test_X6_whole_and_then_says_so(self):
        self.host.write("changed", "old\n")
        self.host.write("gone/deep", "x\n")
        self.guest.write("changed", "new\n")
        self.guest.whiteout("gone")
        self.guest.write("new/file", "n\n", 0o755)
        self.keep()
        out, _ = self.apply()
        self.assertIn("2 added, 1 modified, 2 deleted", out)
        self.assertEqual(self.host.picture(), {"changed": b"new\n", "new/file": b"n\n"})
        self.assertEqual(sorted(os.listdir(self.host.path)), ["changed", "new"])
        self.assertIn("was applied already", self.apply()[0])
        self.assertEqual(self.diff()[0], "")
        # Under root, too, everything belongs to whom the workspace belongs.
        owner = os.stat(self.host.path)
        for name in ("changed", "new", "new/file"):
            found = os.stat(self.host.at(name))
            self.assertEqual((found.st_uid, found.st_gid), (owner.st_uid, owner.st_gid))

    def test_files_belong_to_the_owner_of_the_workspace(self):
        self.guest.write("new/file", "n\n")
        self.keep()
        owner = (12345, 12346) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        os.chown(self.host.path, *owner)
        self.apply()
        for name in ("new", "new/file"):
            found = os.stat(self.host.at(name))
            self.assertEqual((found.st_uid, found.st_gid), owner)

    def test_X6_conflicts_are_all_listed_and_nothing_is_written(self):
        for name in ("one", "two", "three"):
            self.host.write(name, "old\n")
            self.guest.write(name, "guest\n")
        self.guest.write(".bashrc", "evil\n")
        self.keep()
        self.host.write("one", "host\n")
        self.host.write("two", "host\n")
        before = self.host.picture()
        _, text = self.apply(code=1)
        self.assertIn("conflict: one: changed on the host since", text)
        self.assertIn("conflict: two:", text)
        self.assertIn("protected: .bashrc:", text)
        self.assertIn("nothing was written", text)
        self.assertEqual(self.host.picture(), before)
        self.apply("--force", code=1)
        self.assertEqual(self.host.picture(), before)
        problems = json.loads(self.apply("--json", code=1)[0])["workspaces"][0]["problems"]
        self.assertEqual(sorted(one["path"] for one in problems), [".bashrc", "one", "two"])
        out, _ = self.apply("three")
        self.assertIn("3 changes are left", out)
        self.apply("--force", "--allow-protected", "/etc", code=2)
        self.apply("--force", "--allow-protected", ".bashrc")
        self.assertEqual(self.host.read("one"), "guest\n")
        self.assertEqual(self.host.read(".bashrc"), "evil\n")

    def test_X6_three_way(self):
        self.host.write("file", lines(20))
        self.guest.write("file", lines(20, l3="guest"))
        self.keep()
        self.host.write("file", lines(20, l17="host"))
        self.apply(code=1)
        self.assertIn("merged file", self.apply("--three-way")[0])
        self.assertEqual(self.host.read("file"), lines(20, l3="guest", l17="host"))

    def test_X6_a_merge_with_conflicts(self):
        self.host.write("file", lines(5))
        self.guest.write("file", lines(5, l3="guest"))
        self.keep()
        self.host.write("file", lines(5, l3="host"))
        _, text = self.apply("--three-way", code=1)
        self.assertIn("merge conflict: file", text)
        self.assertEqual(self.host.read("file"), lines(5, l3="host"))
        self.apply("--markers", code=2)
        self.apply("--three-way", "--markers")
        self.assertIn("<<<<<<< host\nhost\n=======\nguest\n>>>>>>> guest\n", self.host.read("file"))

    def test_X6_hunks_by_questions_and_by_number(self):
        self.host.write("file", lines(40))
        self.guest.write("file", lines(40, l2="A", l20="B", l38="C"))
        self.guest.write("other", "x\n")
        self.keep()
        _, text = self.apply("--hunk", input=b"?\nn\ny\nq\n")
        self.assertIn("Apply hunk 2 of 3 to file", text)
        self.assertEqual(self.host.read("file"), lines(40, l20="B"))
        self.assertFalse(os.path.exists(self.host.at("other")))
        self.apply("--hunk")  # the end of the input
        self.assertEqual(self.host.read("file"), lines(40, l20="B"))
        self.apply("--hunks", "file:3", code=2)
        self.apply("--hunks", "file:2")
        self.assertEqual(self.host.read("file"), lines(40, l20="B", l38="C"))
        self.apply("--hunk", input=b"a\ny\n")
        self.assertEqual(self.host.read("file"), lines(40, l2="A", l20="B", l38="C"))
        self.assertEqual(self.host.read("other"), "x\n")

    def test_dry_run_writes_nothing(self):
        self.guest.write("a", "x\n")
        self.keep()
        self.assertIn("would apply", self.apply("--dry-run")[0])
        self.assertEqual(os.listdir(self.host.path), [])
        self.assertIn("added a", self.diff()[0])

    def test_R4_a_planted_link_leads_nowhere(self):
        os.mkdir(self.host.at("folder"))
        self.guest.write("folder/file", "guest\n")
        self.keep()
        os.mkdir(self.path("victim"))
        os.rmdir(self.host.at("folder"))
        os.symlink("../victim", self.host.at("folder"))
        self.apply("--force", code=1)
        self.assertEqual(os.listdir(self.path("victim")), [])
        # Nor does one in place of the workspace itself.
        os.rename(self.host.path, self.path("real"))
        os.symlink(self.path("victim"), self.host.path)
        self.apply("--force", code=126)
        self.assertEqual(os.listdir(self.path("victim")), [])

    def test_X6_killed_at_any_moment_it_is_the_old_state_or_the_new(self):
        for i in range(300):
            self.host.write(f"f{i}", "old\n")
            self.guest.write(f"f{i}", "new\n")
        self.keep()
        old = self.host.picture()
        new = {name: b"new\n" for name in old}
        index = self.path(f"state/runs/{self.run_id}/ws/0/index")
        with open(index, "rb") as file:
            untouched = file.read()

        def begin_again():
            for name in old:
                self.host.write(name, "old\n")
            with open(index, "wb") as file:
                file.write(untouched)

        seen = []
        start = time.monotonic()
        self.apply()
        whole = time.monotonic() - start
        for attempt in range(8):
            begin_again()
            process = subprocess.Popen([CLOCHE, "apply", "last"], env=self.env, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(whole * attempt / 8)
            process.kill()
            process.wait(TIMEOUT)
            _, text = self.diff("--name-only")
            seen.append(text)
            self.assertIn(self.host.picture(), (old, new))
            self.assertNotIn(".cloche-apply", os.listdir(self.host.path))
        self.apply()
        self.assertEqual(self.host.picture(), new)
        print(f"{sum(bool(text) for text in seen)} of {len(seen)} were recovered", end=" ", flush=True)


class Several(WorkspaceCase):
    def test_a_conflict_in_one_keeps_all_from_being_written(self):
        host, guest = Folder(self.path("host2")), Folder(self.path("guest2"))
        self.guest.write("first", "1\n")
        host.write("second", "old\n")
        guest.write("second", "2\n")
        self.keep()
        self.keep(1, host, guest)
        out, _ = self.diff()
        self.assertIn(f"workspace {self.host.path}\nadded first", out)
        self.assertIn(f"workspace {host.path}\nmodified second", out)
        self.assertNotIn("first", self.diff("--workspace", host.path)[0])
        host.write("second", "host\n")
        self.apply(code=1)
        self.assertEqual(os.listdir(self.host.path), [])
        self.apply("--force", "second")
        self.assertEqual(os.listdir(self.host.path), [])
        self.assertEqual(host.read("second"), "2\n")
        self.apply("--workspace", self.host.path)
        self.assertEqual(self.host.read("first"), "1\n")


class Discard(WorkspaceCase):
    def test_X6_throws_away_and_says_what(self):
        self.host.write("file", "old\n")
        self.guest.write("file", "new\n")
        self.guest.write("a/b/c", "x\n", 0)
        self.keep()
        out, _ = self.command("discard")
        self.assertIn("3 added, 1 modified", out)
        self.assertEqual(self.host.picture(), {"file": b"old\n"})
        self.assertEqual(os.listdir(self.path(f"state/runs/{self.run_id}/ws")), [])
        for name in ("diff", "apply", "discard"):
            _, text = self.command(name, code=126)
            self.assertIn("keeps no changes", text)

    def test_a_damaged_proposal_can_be_discarded_and_nothing_else(self):
        self.guest.write("file", "new\n")
        self.keep()
        index = self.path(f"state/runs/{self.run_id}/ws/0/index")
        with open(index, "r+b") as file:
            file.seek(40)
            file.write(b"\xff\xff")
        for name in ("diff", "apply"):
            _, text = self.command(name, code=126)
            self.assertIn("damaged", text)
        self.assertEqual(os.listdir(self.host.path), [])
        self.command("discard")
