"""`cloche learn --merge` of a policy that lets what the command changes be read only (X5)."""
import os

from learn_case import WHOLE, LearnCase


class LearnMerge(LearnCase):
    def merge(self, grants, *command, options=()):
        """The exit code, and the policy as it is then."""
        mine = self.path("mine.toml", f'version = 1\nextends = "untrusted"\ncwd = "{self.project}"\n\n{grants}')
        done = self.learn("--merge", mine, "--yes", *options, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(mine, encoding="utf-8") as file:
            return mine, file.read(), done.stdout

    def test_X5_a_file_that_may_be_read_is_replaced(self):
        one, other = self.project + "/data/one", self.project + "/data/two"
        edit = ("sed", "-i", "s/one/uno/", "data/one")
        for granted in (f'["{one}", "{other}"]', f'["{self.project}/data", "{self.project}/names"]', f'["{self.project}"]'):
            with self.subTest(granted):
                mine, text, diff = self.merge(f"[files]\nread = {granted}\n", *edit)
                self.assertIn(f'+  "{self.project}/data",{WHOLE}', diff)
                self.assertNotIn(f'"{one}"', text)
                # What the command does not change stays as it was granted.
                self.assertEqual(f'"{other}"' in text, other in granted, text)
                self.assertEqual(f'"{self.project}/names"' in text, "names" in granted, text)
                ran = self.run_with(mine, "sh", "-c", " ".join(edit) + "; cat data/one")
                self.assertEqual(ran.stdout, "data/uno\n", ran.stderr)
        with open(one, encoding="utf-8") as file:
            self.assertEqual(file.read(), "data/one\n")

    def test_X5_a_file_that_may_be_read_is_written_and_removed(self):
        one = self.project + "/data/one"
        for command, left in ((("sh", "-c", "echo more >> data/one"), "data/one\nmore\n"), (("rm", "data/one"), ""),
                              (("rm", "-r", "data"), ""), (("mv", "data", "moved"), "")):
            with self.subTest(command):
                mine, text, _ = self.merge(f'[files]\nread = ["{one}"]\n', *command)
                self.assertNotIn("read =", text)
                ran = self.run_with(mine, *command[:2], command[-1] + "; cat data/one") if left else self.run_with(mine, *command)
                self.assertEqual((ran.returncode, ran.stdout), (0, left), ran.stderr)

    def test_X5_what_lies_in_the_way_is_left_where_nothing_changes_it(self):
        one = self.project + "/data/one"
        _, text, _ = self.merge(f'[files]\nread = ["{one}"]\n', "sh", "-c", "cat data/one > data/new")
        self.assertIn(f'read = ["{one}"]', text)
        self.assertIn(f'"{self.project}/data",{WHOLE}', text)

    def test_X5_a_policy_in_words_of_the_home(self):
        os.makedirs(self.path("home/code"))
        self.path("home/code/file", "one\n")
        for granted in ("~/code", "~/code/file"):
            with self.subTest(granted):
                place = self.path("home/code")
                mine, text, _ = self.merge(f'[files]\nread = ["{granted}"]\n', "sed", "-i", "s/one/uno/", place + "/file")
                self.assertNotIn(f'"{granted}"', text)
                ran = self.run_with(mine, "sh", "-c", f"sed -i s/one/uno/ {place}/file; cat {place}/file")
                self.assertEqual(ran.stdout, "uno\n", ran.stderr)

    def test_X5_a_program_that_is_replaced_can_still_be_executed(self):
        tool = self.path("project/data/tool", "#!/bin/sh\necho one\n")
        os.chmod(tool, 0o755)
        edit = ("sh", "-c", "sed -i s/one/uno/ data/tool && data/tool")
        mine, text, _ = self.merge(f'[files]\nexec = ["{tool}"]\n', *edit)
        self.assertIn("exec_writable = true", text)
        ran = self.run_with(mine, *edit)
        self.assertEqual(ran.stdout, "uno\n", ran.stderr)

    def test_X5_changes_that_go_to_the_host_take_the_place_of_what_may_be_read(self):
        one = self.project + "/data/one"
        mine, text, _ = self.merge(f'[files]\nread = ["{one}"]\n', "sh", "-c", "echo more >> data/one", options=["--direct"])
        self.assertIn(f'write = [\n  "{one}",', text)
        self.assertNotIn("read =", text)
        os.chmod(self.folder, 0o755)  # root's guest has another uid
        ran = self.run_with(mine, "sh", "-c", "echo more >> data/one")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_X5_a_policy_that_extends_one_says_what_it_does_not_grant_any_more(self):
        one = self.project + "/data/one"
        base = self.path("base.toml", f'version = 1\nextends = "untrusted"\ncwd = "{self.project}"\nfiles.read = ["{one}"]\n')
        edit = ("sed", "-i", "s/one/uno/", "data/one")
        done = self.learn("--policy", base, "--", *edit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"# {one} is not granted by itself any more", done.stdout)
        self.assertEqual(self.run_with(self.path("child.toml", done.stdout), *edit).returncode, 0)
