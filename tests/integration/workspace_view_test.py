"""What diff shows of a workspace, and what apply says of it: nothing that a guest did can hide in the way it is shown."""
import json
import os
import shutil
import struct
import subprocess

from cell import CLOCHE, LIMITS, TIMEOUT
from turns import for_root
from workspace_case import MODES, WorkspaceCase


class HandedOut(WorkspaceCase):
    """--get and --artifact of a workspace: what the guest sees, whether it wrote it or not."""

    def test_X6_what_the_guest_sees_is_found_in_either_mode(self):
        os.makedirs(self.tree + "/out/deep")
        os.mkdir(self.tree + "/vendor")
        for name in ("out/kept.png", "out/changed.png", "out/gone.png", "out/deep/kept.png", "vendor/in.png", "folder/b.png"):
            self.path("tree/" + name, f"the host's {name}\n")
        os.symlink("kept.png", self.tree + "/out/link.png")
        script = ("echo new > out/changed.png; rm out/gone.png; echo made > out/made.png; rm -r folder; mkdir folder; "
                  "echo other > folder/a.png; find . -name '*.png' -type f | sort")
        for mode in MODES:
            for scratch in ("memory", "disk"):
                with self.subTest(mode=mode, scratch=scratch):
                    got = self.path(f"got-{mode}-{scratch}")
                    done, report = self.report_of(mode, "--workspace-scratch", scratch, "--read", self.tree + "/vendor", "--artifact",
                                                  "**/*.png", "--get", "out:" + got, "--get", f"text:{got}-text", "--", "sh", "-c", script)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    names = ["folder/a.png", "out/changed.png", "out/deep/kept.png", "out/kept.png", "out/made.png"]
                    seen = [line[2:] for line in done.stdout.decode().split()]
                    self.assertEqual(sorted(set(seen) - {"vendor/in.png"}), names)
                    self.assertEqual([o["path"] for o in report["outputs"]], [f"{self.tree}/{name}" for name in names])
                    self.assertEqual(sorted(os.listdir(got)), ["changed.png", "deep", "kept.png", "made.png"])
                    for name, text in (("changed.png", "new"), ("deep/kept.png", "the host's out/deep/kept.png")):
                        with open(f"{got}/{name}", encoding="utf-8") as file:
                            self.assertEqual(file.read(), text + "\n")
                    self.assertTrue(os.path.exists(got + "-text"))
                    to = self.path(f"to-{mode}-{scratch}")
                    self.assertEqual(self.cloche("artifacts", "last", "--to", to).returncode, 0)
                    for name in names:
                        self.assertTrue(any(path.endswith(name) for path in files_below(to)), name)


def files_below(top):
    return [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]


class Selected(WorkspaceCase):
    def test_X6_an_empty_path_selects_nothing(self):
        self.assertEqual(self.work("auto", "--", "sh", "-c", "echo new > text").returncode, 0)
        for command in (("apply", "last", ""), ("diff", "last", ""), ("apply", "last", "text", "")):
            done = self.cloche(*command)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
            self.assertIn(b"empty", done.stderr)
        self.assertEqual(self.cloche("apply", "last", ".").returncode, 0)

    def test_X6_a_leading_dot_and_a_slash_at_the_end_are_no_part_of_a_path(self):
        self.assertEqual(self.work("auto", "--", "sh", "-c", "echo new > text; echo x > folder/new").returncode, 0)
        for path, name in (("./text", b"text\n"), ("folder/", b"folder/new\n"), ("./folder/.", b"folder/new\n")):
            self.assertEqual(self.cloche("diff", "--name-only", "last", path).stdout, name)
            self.assertEqual(self.cloche("apply", "--dry-run", "last", path).returncode, 0)

    def test_X6_a_merge_that_failed_is_not_advised_again(self):
        self.assertEqual(self.work("auto", "--", "sh", "-c", "echo guest > text").returncode, 0)
        self.path("tree/text", "host\n")
        self.assertIn(b"--three-way merges", self.cloche("apply", "last").stderr)
        failed = self.cloche("apply", "--three-way", "last")
        self.assertEqual(failed.returncode, 1)
        self.assertNotIn(b"--three-way", failed.stderr)
        self.assertIn(b"--markers", failed.stderr)

    def test_what_can_be_neither_put_nor_read_is_told_as_that(self):
        os.mkfifo(self.path("pipe"), 0o644)
        done = self.cloche("run", "--put", self.path("pipe") + ":in", "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"neither a regular file nor a directory", done.stderr)


class Shown(WorkspaceCase):
    def test_X6_a_file_in_place_of_a_link_or_a_directory_is_shown_with_its_text_and_mode(self):
        script = ("rm -r link folder; printf '#!/bin/sh\\necho hidden-1\\n' > link; chmod 755 link; "
                  "printf '#!/bin/sh\\necho hidden-2\\n' > folder; chmod 755 folder")
        for mode in MODES:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = self.cloche("diff", "last").stdout.decode()
                for path, text in (("link", "hidden-1"), ("folder", "hidden-2")):
                    self.assertIn(f"{path} (mode 0755)", shown)
                    self.assertIn(f"+echo {text}\n", shown)
                self.assertIn("before: a link to text\n", shown)
                self.assertNotIn(b"Bin", self.cloche("diff", "--stat", "last").stdout)
                changes = json.loads(self.cloche("diff", "--json", "last").stdout)["workspaces"][0]["changes"]
                self.assertEqual({c["path"]: c.get("lines_added") for c in changes},
                                 {"link": 2, "folder": 2, "folder/inner": 0})
                asked = self.cloche("apply", "last", "--hunk", input=b"n\nn\nn\n").stderr
                self.assertIn(b"+echo hidden-1", asked)
                self.assertIn(b"+echo hidden-2", asked)

    @for_root("mounting one takes root")
    def test_X6_changes_behind_a_mount_are_shown_as_what_they_are_and_keep_apply_from_writing(self):
        os.mkdir(self.tree + "/m")
        script = ('mount -t tmpfs none "$1/m" && for i in 1 2 3; do echo $i > "$1/m/g$i"; done && "$2" run $3 -q '
                  '--workspace "$1" -- sh -c "rm m/g1; echo k >> m/g2; echo new > new" && "$2" diff last; '
                  '"$2" diff --name-only last; "$2" apply last; echo code $?; cat "$1/m/g2"; '
                  '"$2" apply last new >&2; echo code $?')
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", self.tree, CLOCHE, " ".join(LIMITS)],
                              capture_output=True, timeout=TIMEOUT, check=False)
        shown = done.stdout.decode()
        for line in ("deleted m/g1 ", "modified m/g2 ", "-1\n", "+k\n", "m/g1\nm/g2\nnew\n"):
            self.assertIn(line, shown, done.stderr)
        self.assertNotIn("g3", shown)
        self.assertTrue(shown.endswith("code 1\n2\ncode 0\n"), shown)
        self.assertIn(b"m/g2: another file system is mounted there", done.stderr)
        with open(self.tree + "/new", encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")


class AsUsers(WorkspaceCase):
    GROUP = 50

    def as_user(self, uid, *words):
        """cloche and its report, as a user who is in that group."""
        home = self.path(f"home-{uid}")
        if not os.path.exists(home):
            os.mkdir(home)
            for name in ("cloche", "cloche-init"):
                shutil.copy(os.path.join(os.path.dirname(CLOCHE), name), home)
            os.chown(home, uid, uid)
        if words[0] != "apply":
            words = (words[0], "--limits-mode", "best-effort", "--workspace", self.tree, *words[1:])
        command = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--groups", str(self.GROUP), home + "/cloche", *words]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, cwd="/",
                              env={**os.environ, "HOME": home, "CLOCHE_STATE_DIR": home + "/state"})

    def report_as(self, uid, *words):
        path = self.path(f"home-{uid}/report.json")
        done = self.as_user(uid, "run", "--report", path, *words)
        with open(path, encoding="utf-8") as file:
            return done, json.load(file)

    def give_tree_to(self, uid):
        for folder, folders, files in os.walk(self.tree):
            for name in (".", *folders, *files):
                os.lchown(os.path.join(folder, name), uid, uid)


class OtherGroups(AsUsers):
    SCRIPT = "echo more >> text && echo new > folder/new && chmod 700 folder && cat text && mv folder moved"

    def own(self, uid):
        """The tree is this user's, but for the group of a file and of a directory that gives it on."""
        self.give_tree_to(uid)
        os.chown(self.tree + "/text", uid, self.GROUP)
        os.chown(self.tree + "/folder", uid, self.GROUP)
        os.chmod(self.tree + "/folder", 0o2775)

    @for_root("who is in one group has no files of another")
    def test_X6_own_files_of_another_group_can_be_changed(self):
        for uid in (0, 61234):
            with self.subTest(uid=uid):
                self.own(uid)
                done, report = self.report_as(uid, "--", "sh", "-c", self.SCRIPT)
                self.assertEqual((done.returncode, done.stdout), (0, b"this is text\nmore\n"), done.stderr)
                self.assertEqual(report["workspaces"][0]["mode"], "copy")
                why = next(line for line in report["receipt"] if line["guarantee"] == "workspace")["mechanism"]
                self.assertRegex(why, "a copy in the scratch: (text|folder) has group 50, and a cell knows one")
                self.assertIn(b"has group 50", self.as_user(uid, "plan", "--", "true").stdout)
                self.assertEqual(os.stat(self.tree + "/folder").st_mode & 0o7777, 0o2775)

    @for_root("who is in one group has no files of another")
    def test_X6_what_is_applied_keeps_its_group(self):
        script = "echo more >> text; echo new > folder/new; mkdir folder/sub; echo deep > folder/sub/deep; echo own > own"
        for uid in (0, 61234):
            with self.subTest(uid=uid):
                self.own(uid)
                os.chmod(self.tree + "/text", 0o660)
                done, _ = self.report_as(uid, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.as_user(uid, "apply", "last")
                self.assertEqual(done.returncode, 0, done.stderr)
                seen = {name: os.stat(f"{self.tree}/{name}")
                        for name in ("text", "folder/new", "folder/sub", "folder/sub/deep", "own")}
                self.assertEqual({name: (st.st_uid, st.st_gid) for name, st in seen.items()},
                                 {name: (uid, uid if name == "own" else self.GROUP) for name in seen})
                self.assertEqual(seen["text"].st_mode & 0o7777, 0o660)
                # As if it had been made there.
                self.assertEqual(seen["folder/sub"].st_mode & 0o7000, 0o2000)
                shutil.rmtree(self.tree + "/folder/sub")
                for name in ("folder/new", "own"):
                    os.unlink(f"{self.tree}/{name}")

    @for_root("who is in one group has no files of another")
    def test_X6_a_copy_for_a_group_is_no_larger_than_what_the_guest_may_write(self):
        self.path("tree/large", "x" * (3 << 20))
        for uid in (0, 61234):
            self.own(uid)
            for words in (("--disk", "2M"), ("--inodes", "12"), ("--workspace-mode", "overlay")):
                with self.subTest(uid=uid, words=words):
                    done, report = self.report_as(uid, *words, "--", "sh", "-c", "echo x > new; echo more >> text")
                    self.assertEqual((done.returncode, report["workspaces"][0]["mode"]), (2, "overlay"), done.stderr)
                    self.assertEqual(report["workspaces"][0]["added"], 1)
                    why = next(line for line in report["receipt"] if line["guarantee"] == "workspace")["mechanism"]
                    self.assertIn("has group 50, which only a copy can change", why)

    @for_root("who is in one group has no files of another")
    def test_X6_what_lies_deeper_is_told_with_the_line_that_helps(self):
        os.makedirs(self.tree + "/a/b/shared")
        for name in ("file", "other"):
            self.path(f"tree/a/b/{name}", "deep\n")
        for uid in (0, 61234):
            with self.subTest(uid=uid):
                self.own(uid)
                for name in ("text", "folder"):
                    os.chown(f"{self.tree}/{name}", uid, uid)
                for name in ("file", "other", "shared"):
                    os.chown(f"{self.tree}/a/b/{name}", uid, self.GROUP)
                script = ("cat a/b/file >/dev/null; echo x >> a/b/file; echo x > a/b/shared/new; chmod 600 a/b/other; "
                          "echo x > a/b/own; echo x >> text; exit 3")
                done, report = self.report_as(uid, "--", "sh", "-c", script)
                self.assertEqual((done.returncode, report["workspaces"][0]["mode"]), (3, "overlay"), done.stderr)
                told = {d["detail"] for d in report["denials"] if d["allow"] == 'workspace.mode = "copy"'}
                self.assertEqual(told, {f"{self.tree}/a/b/{name}" for name in ("file", "shared/new", "other")})
                self.assertIn(b'allowed by workspace.mode = "copy"', done.stderr)
                if uid == 0:
                    continue  # the kernel removes nothing whose group it does not know
                # What the guest puts in their place is its own.
                script = "cd a/b; rm file; echo x > file; echo y >> file; cp other its; mv its other; rm -r shared"
                done, report = self.report_as(uid, "--", "sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([d for d in report["denials"] if "workspace" in d["allow"]], [])


def give_access(path, user, what="access"):
    """A list by which this user may write, too."""
    nobody = 0xffffffff
    entries = ((1, 6, nobody), (2, 6, user), (4, 4, nobody), (16, 6, nobody), (32, 4, nobody))
    packed = b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_" + what, struct.pack("<I", 2) + packed)


class AccessLists(AsUsers):
    SOMEBODY = 4321

    def runs(self):
        """As root: root's and an ordinary user's; else this user's own."""
        if os.geteuid() != 0:
            yield os.geteuid(), lambda *words: self.run_report("--workspace", self.tree, *words)
            return
        for uid in (0, 61234):
            self.give_tree_to(uid)
            yield uid, lambda *words, uid=uid: self.report_as(uid, *words)

    def test_X6_files_with_a_list_that_names_others_can_be_changed(self):
        script = "echo more >> text && echo new > folder/new && rm gone && echo new > gone && cat text"
        for uid, report_of in self.runs():
            with self.subTest(uid=uid):
                try:
                    give_access(self.tree + "/text", self.SOMEBODY)
                    give_access(self.tree + "/folder", self.SOMEBODY, "default")
                except OSError:
                    self.skipTest("fact missing: no access lists on this file system")
                done, report = report_of("--", "sh", "-c", script)
                self.assertEqual((done.returncode, report["workspaces"][0]["mode"]), (0, "copy"), done.stderr)
                why = next(line for line in report["receipt"] if line["guarantee"] == "workspace")["mechanism"]
                self.assertRegex(why, "(text|folder) has an access list that names user 4321, and a cell knows one")

    def test_X6_what_lies_deeper_with_such_a_list_is_told_with_the_line_that_helps(self):
        os.makedirs(self.tree + "/a/shared")
        self.path("tree/a/file", "deep\n")
        self.path("tree/a/own", "deep\n")
        script = "echo x >> a/file; echo x > a/shared/new; echo x >> a/own; exit 3"
        for uid, report_of in self.runs():
            with self.subTest(uid=uid):
                try:
                    give_access(self.tree + "/a/file", self.SOMEBODY)
                    give_access(self.tree + "/a/shared", self.SOMEBODY, "default")
                    give_access(self.tree + "/a/own", uid)
                except OSError:
                    self.skipTest("fact missing: no access lists on this file system")
                done, report = report_of("--", "sh", "-c", script)
                self.assertEqual((done.returncode, report["workspaces"][0]["mode"]), (3, "overlay"), done.stderr)
                told = {d["detail"] for d in report["denials"] if d["allow"] == 'workspace.mode = "copy"'}
                self.assertEqual(told, {f"{self.tree}/a/{name}" for name in ("file", "shared/new")})
                self.assertEqual(report["workspaces"][0]["modified"], 1)


class Attributes(WorkspaceCase):
    def test_X6_what_the_hosts_files_have_is_not_said_to_be_dropped(self):
        try:
            os.setxattr(self.tree + "/text", "user.note", b"the host's")
            give_access(self.tree + "/tool", os.geteuid())
        except OSError:
            self.skipTest("fact missing: no such attributes on this file system")
        for mode in MODES:
            with self.subTest(mode=mode):
                done = self.work(mode, "--", "sh", "-c", "echo more >> text; echo more >> tool; chmod 600 tool")
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.cloche("diff", "last", "--stat")
                self.assertNotIn(b"attributes", done.stdout)
                self.assertIn(b"text", self.cloche("diff", "last").stdout)
                self.assertNotIn(b"dropped", self.cloche("diff", "last").stdout)
