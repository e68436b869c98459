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

    def test_X5_a_directory_that_only_has_to_be_there_is_granted_by_a_file(self):
        for name, size in (("a", 9), ("b", 3), ("c", 3), ("sub/d", 1)):
            os.makedirs(os.path.dirname(f"{self.project}/{name}"), exist_ok=True)
            with open(f"{self.project}/{name}", "w", encoding="utf-8") as file:
                file.write("x" * size)
        os.symlink("a", self.project + "/Link")
        for command in (("pwd", "-P"), ("realpath", "."), ("python3", "-c", "import os; print(os.getcwd())"), ("sh", "-c", "pwd"),
                        ("ls", "-d", "../proj")):
            with self.subTest(command=command):
                policy, text = self.learnt("--", *command)
                self.assertIn(f'read = [\n  "{self.project}/b",  # any file of a directory that has to be there', text)
                self.assertNotIn(f'"{self.project}"', text.split("[files]")[1])
                ran = self.run_with(policy, *command)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("proj", ran.stdout)
                self.assertNotEqual(self.run_with(policy, "cat", "a").returncode, 0)

    def test_X5_where_a_directory_has_but_directories_one_of_their_files_will_do(self):
        shutil.rmtree(self.project + "/.git")
        os.makedirs(self.project + "/.ssh")
        os.makedirs(self.project + "/deep/deeper")
        for name in (".ssh/id_rsa", "deep/.env", "deep/deeper/file"):
            with open(f"{self.project}/{name}", "w", encoding="utf-8") as file:
                file.write("CANARY\n" if name != "deep/deeper/file" else "more than that\n")
        _, text = self.learnt("--", "realpath", ".")
        for secret in (".ssh", ".env"):
            self.assertNotIn(secret, text)
        self.assertIn(f'"{self.project}/deep/deeper/file",  # any file', text)

    def test_X5_a_directory_above_that_is_listed_is_shown_as_a_whole(self):
        for command, lines in (("ls ..", ["other", "proj"]), ("ls -a ../../g", [".", "..", "other", "proj"]),
                               ("ls -la ..", None)):
            with self.subTest(command=command):
                policy, text = self.learnt("--", *command.split())
                self.assertIn(f'"{self.top}/g",  # the directory was listed', text)
                self.assertNotIn("proj", text.split("[files]")[1])
                ran = self.run_with(policy, *command.split())
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                if lines:
                    self.assertEqual(ran.stdout.splitlines(), lines)
                else:
                    self.assertIn(" other\n", ran.stdout)

    def test_X5_a_directory_above_that_holds_secrets_is_named_and_not_shown(self):
        os.makedirs(self.top + "/g/other/.ssh")
        _, text = self.learnt("--", "ls", "..")
        self.assertIn(f"#   read {self.top}/g: it holds places of secrets", text)
        self.assertNotIn(f'"{self.top}/g"', text)

    def test_X5_what_is_found_beside_a_project_is_found_under_the_policy(self):
        policy, _ = self.learnt("--", "find", "..", "-name", "notes")
        self.assertEqual(self.run_with(policy, "find", "..", "-name", "notes").stdout, "../other/notes\n")

    def test_X5_an_empty_directory_is_granted_as_it_is(self):
        os.makedirs(self.project + "/empty")
        _, text = self.learnt("--", "sh", "-c", "cd empty && pwd")
        self.assertIn(f'"{self.project}/empty",  # the directory was looked at', text)

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
