"""`cloche learn` of a command that writes what it reads to a file: under the policy that file has all of it (X5)."""
from learn_case import LearnCase

JOINS = "import glob; open('out/all', 'w').write(''.join(open(p).read() for p in sorted(glob.glob('data/*'))))"
PACKS = "import shutil; shutil.make_archive('out/d', 'tar', 'data')"
NAMES = ["five", "four", "one", "seven", "six", "three", "two"]
ALL = "".join(f"data/{name}\n" for name in NAMES)
NOT_COMPARED = "# Not compared, because its runs do not all write the same: "


class LearnContents(LearnCase):
    def learnt(self, *command):
        done = self.learn("--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def under(self, text, command, then):
        ran = self.run_with(self.path("learnt.toml", text), "sh", "-c", 'eval "$1" && eval "$2"', "sh", command, then)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def check_packed(self, text, command, lists):
        self.assertEqual(sorted(line.rsplit("/", 1)[1] for line in self.under(text, command, lists).splitlines()
                                if line[-1] != "/"), NAMES, text)

    def test_X5_an_archive_has_every_file_that_it_had(self):
        self.check_packed(self.learnt("tar", "cf", "out/d.tar", "data"), "tar cf out/d.tar data", "tar tf out/d.tar")
        self.check_packed(self.learnt("python3", "-c", PACKS), f'python3 -c "{PACKS}"', "tar tf out/d.tar")

    def test_X5_what_a_pipeline_writes_has_all_that_went_in(self):
        command = "tar cf - data | gzip > out/d.tgz"
        self.check_packed(self.learnt("sh", "-c", command), command, "tar tzf out/d.tgz")

    def test_X5_a_file_that_others_are_joined_into_has_all_of_them(self):
        text = self.learnt("python3", "-c", JOINS)
        self.assertEqual(self.under(text, f'python3 -c "{JOINS}"', "cat out/all"), ALL, text)
        text = self.learnt("sh", "-c", "cat data/* > out/all")
        self.assertEqual(self.under(text, "cat data/* > out/all", "cat out/all"), ALL, text)

    def test_X5_what_is_not_read_is_not_granted_for_it(self):
        text = self.learnt("sh", "-c", "cat data/one data/two > out/all")
        self.assertIn('read = [\n  "%s/data/one",\n  "%s/data/two",\n]' % (self.project, self.project), text)
        self.assertNotIn("Not compared", text)

    def test_X5_a_content_that_is_never_the_same_is_not_asked_for_and_that_is_said(self):
        text = self.learnt("sh", "-c", "date +%N > out/now")
        self.assertIn(f"{NOT_COMPARED}{self.project}/out/now.", text)
        self.assertIn(f'"{self.project}/out"', text)
        self.assertNotIn("read = ", text)

    def test_X5_what_went_into_a_content_that_is_never_the_same_stays(self):
        elsewhere = self.path("home/elsewhere", "elsewhere\n")
        command = f"cat data/* {elsewhere} > out/all; date +%N >> out/all"
        text = self.learnt("sh", "-c", command)
        self.assertIn(f"{NOT_COMPARED}{self.project}/out/all.", text)
        self.assertIn("# What it read was not left out", text)
        self.assertEqual(self.under(text, command, "grep -v '^[0-9]*$' out/all"), ALL + "elsewhere\n", text)

    def test_X5_what_was_the_same_by_chance_costs_nothing_that_went_into_it(self):
        # Within a second it is the same, its size as well, and the runs take longer.
        reads = "cat data/one data/two data/three > out/all"
        text = self.learnt("sh", "-c", f"{reads}; sleep 0.12; date +%s | sha256sum | tr -d 0-9 >> out/all")
        self.assertEqual(self.under(text, reads, "cat out/all"), "data/one\ndata/two\ndata/three\n", text)

    def test_X5_a_content_is_compared_whatever_name_it_gets(self):
        command = "cat data/* > out/all-$(date +%N)"
        text = self.learnt("sh", "-c", command)
        self.assertEqual(self.under(text, command, "cat out/all-*"), ALL, text)
        self.assertNotIn("Not compared", text)
        text = self.learnt("sh", "-c", "cat data/* > /dev/null; echo done > out/$(date +%N)")
        self.assertNotIn("read = ", text)

    def test_X5_an_archive_of_a_place_with_a_secret_in_it_has_all_but_that_and_the_difference_is_said(self):
        self.path("project/data/.env", "CANARY\n")
        done = self.learn("--", "tar", "czf", "out/d.tgz", "data")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Directories of the cell's own have the time of its beginning: runs within a second agree on it, others do not.
        said = f"# Under this policy it does not write the same as with everything in view to {self.project}/out/d.tgz."
        self.assertTrue(said in done.stdout or f"{NOT_COMPARED}{self.project}/out/d.tgz." in done.stdout, done.stdout)
        self.check_packed(done.stdout, "tar czf out/d.tgz data", "tar tzf out/d.tgz")

    def test_X5_a_list_that_shows_numbers_of_the_cells_directories_is_learnt(self):
        text = self.learnt("sh", "-c", "ls -la > out/list")
        self.assertIn("names", self.under(text, "ls -la > out/list", "cat out/list").split())
