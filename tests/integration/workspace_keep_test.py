"""Set-id bits and attributes: dropped, unless the policy of the run and whoever applies both say otherwise."""
import os
import stat

from turns import for_root
from workspace_case import MODES, WorkspaceCase

GUEST = """
import os
with open("tool", "a") as file: file.write("changed\\n")
with open("fresh", "w") as file: file.write("new\\n")
for name in ("tool", "fresh"):
    try: os.setxattr(name, "user.note", b"of the guest")
    except OSError as error: print(error.errno)
for mode in (0o4755, 0o2755):
    try: os.chmod("fresh", mode)
    except OSError: print("refused")
"""


class Kept(WorkspaceCase):
    def setUp(self):
        super().setUp()
        self.tool = self.tree + "/tool"
        os.chmod(self.tool, 0o6755)

    def propose(self, mode, keep):
        text = 'version = 1\nextends = "untrusted"\n'
        if keep is not None:
            text += "[workspace]\nkeep = [" + ", ".join(f'"{word}"' for word in keep) + "]\n"
        done = self.cloche("run", "--policy", self.path("p.toml", text), "--workspace", self.tree, "--workspace-mode", mode,
                           "--lang", "python", "-", input=GUEST.encode())
        self.assertEqual((done.returncode, done.stdout), (0, b"refused\nrefused\n"), done.stderr)
        return self.cloche("diff", "last").stdout

    def bits(self):
        return stat.S_IMODE(os.stat(self.tool).st_mode) & 0o6000

    def note(self, name):
        try:
            return os.getxattr(f"{self.tree}/{name}", "user.note")
        except OSError:
            return None

    def test_R4_without_a_word_both_are_dropped(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                os.chmod(self.tool, 0o6755)
                shown = self.propose(mode, None)
                self.assertIn(b"set-id bits or capabilities are dropped", shown)
                self.assertIn(b"extended attributes dropped", shown)
                self.assertEqual(self.cloche("apply", "last").returncode, 0)
                self.assertEqual((self.bits(), self.note("tool"), self.note("fresh")), (0, None, None))

    @for_root("giving capabilities to a file takes root")
    def test_R4_capabilities_that_are_dropped_are_marked(self):
        os.chmod(self.tool, 0o755)
        # Version 2 of struct vfs_cap_data: effective CAP_NET_BIND_SERVICE.
        os.setxattr(self.tool, "security.capability", bytes.fromhex("0100000200040000" + "00" * 12))
        # On an overlay such a file cannot be changed at all.
        self.assertNotEqual(self.work("overlay", "--", "sh", "-c", "echo more >> tool").returncode, 0)
        self.assertEqual(self.work("copy", "--", "sh", "-c", "echo more >> tool").returncode, 0)
        self.assertIn(b"capabilities are dropped", self.cloche("diff", "last").stdout)
        self.assertEqual(self.cloche("apply", "last").returncode, 0)
        self.assertNotIn("security.capability", os.listxattr(self.tool))

    def test_R4_one_word_is_not_enough(self):
        shown = self.propose("overlay", ["setid", "xattrs"])
        self.assertIn(b"--keep xattrs", shown)
        self.assertEqual(self.cloche("apply", "last").returncode, 0)
        self.assertEqual((self.bits(), self.note("tool"), self.note("fresh")), (0, None, None))
        os.chmod(self.tool, 0o6755)
        self.propose("overlay", ["xattrs"])
        before = os.stat(self.tool)
        done = self.cloche("apply", "last", "--keep", "setid,xattrs")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"does not grant setid", done.stderr)
        self.assertEqual(os.stat(self.tool).st_ino, before.st_ino)

    def test_R4_both_words_keep_them(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                os.chmod(self.tool, 0o6755)
                self.propose(mode, ["setid", "xattrs"])
                done = self.cloche("apply", "last", "--keep", "setid,xattrs")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.bits(), 0o6000)
                self.assertEqual((self.note("tool"), self.note("fresh")), (b"of the guest", b"of the guest"))
                # Never a bit that the host's file had not.
                self.assertEqual(stat.S_IMODE(os.stat(self.tree + "/fresh").st_mode) & 0o6000, 0)
                self.assertEqual(os.stat(self.tool).st_uid, os.geteuid())
                os.remove(self.tree + "/fresh")

    def test_R4_each_word_is_for_itself(self):
        self.propose("overlay", ["setid", "xattrs"])
        self.assertEqual(self.cloche("apply", "last", "--keep", "setid").returncode, 0)
        self.assertEqual((self.bits(), self.note("tool")), (0o6000, None))

    def test_R4_wrong_words_are_refused(self):
        self.propose("overlay", ["setid"])
        done = self.cloche("apply", "last", "--keep", "owner")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"neither setid nor xattrs", done.stderr)

    def test_P3_a_ceiling_allows_none_unless_it_says_so(self):
        policy = self.path("p.toml", 'version = 1\nextends = "untrusted"\n[workspace]\nkeep = ["setid"]\n')
        ceiling = self.path("ceiling.toml", "version = 1\n")
        env = dict(os.environ, CLOCHE_CEILING=ceiling)
        done = self.cloche("run", "--policy", policy, "--workspace", self.tree, "--", "true", env=env)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn(b"workspace.keep", done.stderr)
        self.path("ceiling.toml", 'version = 1\n[workspace]\nkeep = ["setid"]\n')
        done = self.cloche("run", "--policy", policy, "--workspace", self.tree, "--", "true", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
