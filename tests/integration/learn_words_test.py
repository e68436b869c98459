"""`cloche learn` of a command that writes what only a cell has, as sizes of directories: it is learnt, and said (X5)."""
import subprocess

from learn_case import LearnCase

REMARK = "# It writes other numbers under this policy than with everything in view"


class LearnWords(LearnCase):
    def test_X5_words_about_directories_are_those_of_the_cell(self):
        # What lies in the place, and what the command says of it, stays; its size and its owner are the cell's.
        for command, words in ((("ls", "-la"), ("data", "job.sh", "names")), (("du", "-s", "."), (".",)),
                               (("stat", "-c", "%n %s %h", ".."), ("..",))):
            with self.subTest(command=command):
                done = self.learn("--", *command)
                self.assertEqual(done.returncode, 0, done.stderr)
                ran = self.run_with(self.path("p.toml", done.stdout), *command)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for word in words:
                    self.assertIn(word, ran.stdout.split(), done.stdout)
                if command[0] == "ls":  # of a private copy the size of a directory is another
                    self.assertIn(REMARK, done.stdout)
                    self.assertRegex(done.stderr, r"There, line \d+ was ")

    def test_X5_what_is_missing_in_the_output_is_named_and_nothing_is_learnt(self):
        # A directory with a place of secrets in it is never granted, so its names are not there to be listed.
        self.path("home/note", "a note\n")  # in view of the observed run
        done = self.learn("--", "ls", "..")
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertRegex(done.stderr, r"with the same exit code, and its output differs: line \d+ was \S+ and is \S+\)")

    def test_X5_a_repository_above_is_named_to_a_command_that_looks_for_it(self):
        git = lambda *words: subprocess.run(["git", *words], cwd=self.project, env=self.env, check=True, timeout=20)
        git("init", "-q")
        top = self.project
        self.project = top + "/names"
        done = self.learn("--", "git", "status")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"wanted, not granted: read {top}/.git: the repository begins above the current directory; "
                      f"start in {top}: git -C names", done.stderr)
        self.project = top
        done = self.learn("--", "git", "-C", "names", "status")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Nothing of it where a command fails of something else.
        self.project = top + "/names"
        self.assertNotIn("repository", self.learn("--", "false").stderr)
