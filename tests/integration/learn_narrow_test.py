"""`cloche learn` grants no more of the host's files than what a command reads: a look is no reason for a tree (X5)."""
import os
import shutil
import subprocess
import tempfile

from learn_case import LearnCase


class LearnNarrow(LearnCase):
    def setUp(self):
        super().setUp()
        # Not below /tmp, which each cell has of its own.
        self.top = tempfile.mkdtemp(prefix="cloche-case-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.project = self.top + "/g/proj"
        os.makedirs(self.project)
        os.makedirs(self.top + "/g/other")
        with open(self.top + "/g/other/notes", "w", encoding="utf-8") as file:
            file.write("private\n")
        for words in (["init", "-q"], ["config", "user.email", "a@example.org"], ["config", "user.name", "a"],
                      ["commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.env, check=True, timeout=20)

    def learnt(self, *words):
        done = self.learn("--quiet", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("learnt.toml", done.stdout), done.stdout

    def test_X5_what_lies_beside_a_project_stays_out_of_view(self):
        # All of these look at each directory on the way to the project.
        for command in ("branch", "tag", "remote -v", "ls-files", "stash list", "rev-parse --show-toplevel",
                        "rev-parse HEAD", "config --local --list"):
            with self.subTest(command=command):
                words = ("git", *command.split())
                policy, text = self.learnt("--", *words)
                self.assertNotIn(f'"{self.top}/g"', text)
                self.assertNotIn(f'"{self.top}"', text)
                read = self.run_with(policy, "cat", "../other/notes")
                self.assertNotEqual((read.returncode, read.stdout), (0, "private\n"), text)
                plain = subprocess.run(words, cwd=self.project, env=self.env, text=True, capture_output=True,
                                       timeout=20, check=True)
                self.assertEqual(self.run_with(policy, *words).stdout, plain.stdout, text)

    def test_X5_looks_at_files_above_never_become_all_that_lies_there(self):
        for name in "abcd":
            with open(f"{self.top}/g/{name}", "w", encoding="utf-8") as file:
                file.write("x\n")
        policy, text = self.learnt("--", "sh", "-c", "test -s ../a && test -s ../b && test -s ../c && test -s ../d")
        self.assertIn(f'"{self.top}/g/a"', text)
        self.assertNotIn(f'"{self.top}/g"', text)
        self.assertNotEqual(self.run_with(policy, "cat", "../other/notes").stdout, "private\n", text)

    def test_X5_many_looks_are_not_called_reads(self):
        os.makedirs(self.project + "/many")
        for name in "abcd":
            with open(f"{self.project}/many/{name}", "w", encoding="utf-8") as file:
                file.write("x\n")
        _, text = self.learnt("--", "sh", "-c", "cd many; test -s a && test -s b && test -s c && test -s d")
        self.assertIn(f'"{self.project}/many",  # ', text)
        self.assertNotIn("were read", text)

    def test_X5_a_repository_is_granted_by_what_is_read_of_it(self):
        _, text = self.learnt("--", "git", "rev-parse", "--git-dir")
        for narrow in ("HEAD", "objects", "refs"):
            self.assertIn(f'"{self.project}/.git/{narrow}"', text)
        self.assertNotIn(f'"{self.project}/.git"', text)

    def test_X5_only_what_was_listed_is_called_so(self):
        os.makedirs(self.project + "/there")
        for code in ("test -d there", "cd there", "python3 -c 'import os; os.open(\"there\", os.O_PATH)'"):
            with self.subTest(code=code):
                _, text = self.learnt("--", "sh", "-c", code)
                self.assertIn(f'"{self.project}/there",  # the directory was looked at; all that lies in it', text)
        _, text = self.learnt("--", "ls", "there")
        self.assertIn(f'"{self.project}/there",  # the directory was listed', text)
