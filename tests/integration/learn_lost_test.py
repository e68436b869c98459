"""`cloche learn` of a command that writes what its policy does not hold: that is said, with what to do (X5)."""
import os

from learn_case import WHOLE, LearnCase

LOST = "it went to a place of the cell's own, which ends with the run"


class LearnLost(LearnCase):
    def learnt(self, *words):
        done = self.learn(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("learnt.toml", done.stdout), done.stdout, done.stderr

    def test_X5_what_is_left_in_the_cells_own_tmp_is_named(self):
        for command in (("cp", "job.sh", "/tmp/"), ("tar", "czf", "/tmp/job.sh", "job.sh"),
                        ("sh", "-c", "cat job.sh > /tmp/job.sh")):
            with self.subTest(command=command):
                _, text, said = self.learnt("--", *command)
                self.assertIn(f"#   write /tmp/job.sh: {LOST}", text)
                self.assertIn(f"wanted, not granted: write /tmp/job.sh: {LOST}", said)
                self.assertIn(f'"{self.project}/job.sh"', text)
        _, text, _ = self.learnt("--", "sh", "-c", "cat job.sh > /tmp/job.sh; rm /tmp/job.sh")
        self.assertNotIn(LOST, text)

    def test_X5_who_packs_its_directory_into_such_a_place_packs_the_same_under_the_policy(self):
        policy, text, _ = self.learnt("--", "tar", "czf", "/tmp/x.tgz", ".")
        self.assertIn(f'cwd = "{self.project}"', text)
        self.assertIn(f"write /tmp/x.tgz: {LOST}", text)
        self.assertIn("# What it read in its directory was not left out", text)
        ran = self.run_with(policy, "sh", "-c", "tar czf /tmp/x.tgz . && tar tzf /tmp/x.tgz")
        self.assertIn("./data/one", ran.stdout.split(), ran.stderr)

    def test_X5_a_write_that_failed_and_did_not_matter_is_named(self):
        os.makedirs(self.path("home/code"))
        _, text, said = self.learnt("--", "sh", "-c", "echo x > ~/code/new; cat data/one")
        place = self.path("home/code")
        self.assertIn(f"write {place}: it failed, and the command did without; --workspace {place} lets it", text)
        self.assertIn(f"write {place}: ", said)
        self.assertNotIn("[workspace]", text)
        self.assertEqual(os.listdir(place), [])

    def test_X5_what_is_written_is_not_said_to_have_failed(self):
        _, text, said = self.learnt("--", "sh", "-c", "echo x > out/new")
        self.assertNotIn("did without", text + said)
        self.assertNotIn("wanted", said)

    def test_X5_a_time_that_is_set_is_set_where_the_file_is(self):
        self.path("project/data.txt", "words\n")
        command = ("touch", "-d", "2020-01-01", "data.txt")
        policy, text, _ = self.learnt("--", *command)
        self.assertIn(f'cwd = "{self.project}"', text)
        self.assertIn(f'"{self.project}",{WHOLE}', text)
        self.assertIn(f"write {self.project}/data.txt: only its times or the like were set", text)
        ran = self.run_with(policy, "sh", "-c", " ".join(command) + "; cat data.txt; date -r data.txt +%Y")
        self.assertEqual(ran.stdout, "words\n2020\n", ran.stderr)
        _, text, _ = self.learnt("--direct", "--", *command)
        self.assertIn(f'write = [\n  "{self.project}/data.txt",\n]', text)
        self.assertNotIn("only its times", text)
