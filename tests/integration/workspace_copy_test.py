"""What a copy of a workspace leaves out, or could not read, is not the guest's to delete or to replace."""
import os
import socket
import stat

from turns import for_root
from workspace_case import MODES, WorkspaceCase, snapshot


class LeftOut(WorkspaceCase):
    def leave_out(self):
        """What a copy leaves out, as far as this user can make it."""
        made = ["s", "folder/s"]
        for name in made:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(f"{self.tree}/{name}")
        for name, device in (("device", os.makedev(1, 3)), ("folder/whiteout", os.makedev(0, 0))):
            try:
                os.mknod(f"{self.tree}/{name}", stat.S_IFCHR | 0o600, device)
                made.append(name)
            except PermissionError:
                pass  # an ordinary user makes no devices
        return made

    def test_X6_what_a_copy_leaves_out_was_not_deleted_by_the_guest(self):
        made = self.leave_out()
        before = snapshot(self.tree)
        for mode in MODES:
            with self.subTest(mode=mode):
                _, report = self.report_of(mode, "--", "true")
                changes = report["workspaces"][0]
                self.assertEqual((changes["added"], changes["modified"], changes["deleted"]), (0, 0, 0))
                self.assertEqual(snapshot(self.tree), before)
        # A directory that was moved or written to is looked at as a whole.
        done, report = self.report_of("copy", "--", "sh", "-c", "echo x >folder/new; rm gone")
        self.assertEqual([report["workspaces"][0][key] for key in ("added", "modified", "deleted")], [1, 0, 1], done.stderr)
        self.assertEqual(self.cloche("apply", "last").returncode, 0)
        self.assertEqual([name for name in made if not os.path.lexists(f"{self.tree}/{name}")], [])
        self.assertEqual(sorted(set(os.listdir(self.tree)) ^ {name for name in before if "/" not in name}), [".", "gone"])

    def test_X6_a_directory_with_something_that_a_copy_left_out_does_not_go(self):
        self.leave_out()
        before = snapshot(self.tree)
        for script in ("rm -r folder", "mv folder moved", "rm -r folder; echo x >folder"):
            with self.subTest(script):
                self.work("copy", "--", "sh", "-c", script)
                for force in ([], ["--force"]):
                    done = self.cloche("apply", "last", *force)
                    self.assertNotEqual(done.returncode, 0, done.stdout)
                    self.assertIn(b"which the proposal does not delete", done.stderr)
                    self.assertEqual(snapshot(self.tree), before)

    def test_X6_a_file_in_place_of_what_a_copy_left_out_is_a_conflict(self):
        self.leave_out()
        before = snapshot(self.tree)
        for script in ("echo x >s", "ln -s text s", "mkdir s; echo x >s/in"):
            with self.subTest(script):
                self.work("copy", "--", "sh", "-c", script)
                self.assertIn(b"that the guest never saw", self.cloche("diff", "last").stdout)
                done = self.cloche("apply", "last")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn(b"that the guest never saw", done.stderr)
                self.assertEqual(snapshot(self.tree), before)
        self.assertEqual(self.cloche("apply", "last", "--force").returncode, 0)
        self.assertEqual(os.listdir(self.tree + "/s"), ["in"])


@for_root("only root makes files of somebody else")
class Withheld(WorkspaceCase):
    """Files of others are there in a copy, without content and without rights. Under root the engine could read them."""

    def withhold(self):
        self.path("tree/folder/theirs", "not for the guest\n")
        os.makedirs(self.tree + "/folder/closed/deep")
        self.path("tree/folder/closed/deep/file", "nor this\n")
        for path in ("theirs", "closed", "closed/deep", "closed/deep/file"):
            os.chown(f"{self.tree}/folder/{path}", 1001, 1001)
        os.chmod(self.tree + "/folder/theirs", 0o600)
        os.chmod(self.tree + "/folder/closed", 0o700)
        self.before = self.contents()

    def contents(self):
        return {path: seen[-1] for path, seen in snapshot(self.tree).items() if "theirs" in path or "closed" in path}

    def test_X6_what_was_made_beside_a_file_that_could_not_be_read_is_all_that_is_proposed(self):
        self.withhold()
        done, report = self.report_of("copy", "--", "sh", "-c", "echo x >folder/new; chmod 750 folder")
        changes = report["workspaces"][0]
        self.assertEqual([changes[key] for key in ("added", "modified", "deleted")], [1, 1, 0], done.stderr)
        self.assertEqual(self.cloche("apply", "last").returncode, 0)
        self.assertEqual(self.contents(), self.before)

    def test_X6_no_rights_that_a_guest_gives_itself_empty_what_could_not_be_read(self):
        self.withhold()
        for script in ("chmod -R u+rwX .", "chmod -R u+rwX .; echo x >folder/theirs; echo x >folder/closed/new",
                       "rm -rf folder/theirs folder/closed", "rm -rf folder/*; ln -s x folder/theirs; echo x >folder/closed"):
            with self.subTest(script):
                done = self.work("copy", "--", "sh", "-c", "echo x >>text;" + script)
                self.assertEqual(done.returncode, 0, done.stderr)
                shown = self.cloche("diff", "last").stdout
                self.assertNotIn(b"nor this", shown)
                self.assertNotIn(b"not for the guest", shown)
                self.assertNotIn(b"deep", shown)
                self.assertEqual(self.cloche("apply", "last").returncode, 0)
                self.assertEqual(self.contents(), self.before)

    def test_X6_a_directory_with_what_could_not_be_read_does_not_go(self):
        self.withhold()
        for script in ("rm -rf folder", "mv folder moved", "rm -rf folder; echo x >folder"):
            with self.subTest(script):
                self.work("copy", "--", "sh", "-c", script)
                for force in ([], ["--force"]):
                    self.assertNotEqual(self.cloche("apply", "last", *force).returncode, 0)
                    self.assertEqual(self.contents(), self.before)
