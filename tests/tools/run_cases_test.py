"""tests/integration/run_cases.py: a case for one user alone is never taken for one that another has tried."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration")

CASES = """
import unittest
from turns import for_ordinary_user, for_root

class Some(unittest.TestCase):
    def test_for_all(self): pass
    @for_root("it mounts something")
    def test_for_root(self): pass
    @for_ordinary_user("root gets in anywhere")
    def test_for_others(self): pass

@for_root("it gives files away")
class All(unittest.TestCase):
    def test_one(self): pass
    def test_two(self): pass
"""

# What a process without rights says of itself when it is no other user's turn: who it is cannot be changed here.
AS = "import os, sys; os.geteuid = lambda: {}; sys.argv = sys.argv[1:]; sys.path.insert(0, {!r}); " \
     "import run_cases; sys.exit(run_cases.main(sys.argv[1:]))"


class RunCases(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="run-cases-")
        self.addCleanup(holder.cleanup)
        self.case = os.path.join(holder.name, "some_test.py")
        with open(self.case, "w", encoding="utf-8") as file:
            file.write(CASES)

    def turn(self, user, **env):
        """The exit code, the cases that ran, and why others did not."""
        done = subprocess.run([sys.executable, "-B", "-c", AS.format(user, FOLDER), "run_cases.py", self.case, "self", "true", "true"],
                              env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)
        ran = re.findall(r"^(test_\w+) .*\.\.\. ok$", done.stderr, re.M)
        return done.returncode, sorted(ran), re.findall(r"^skipped: (.*)$", done.stdout, re.M)

    def test_root_has_its_own_and_leaves_the_other_users_to_him(self):
        self.assertEqual(self.turn(0), (0, ["test_for_all", "test_for_root", "test_one", "test_two"], []))

    def test_the_user_that_root_becomes_leaves_roots_to_root(self):
        self.assertEqual(self.turn(1000, RUN_CASES_ROOT_HAS_A_TURN="yes"), (0, ["test_for_all", "test_for_others"], []))

    def test_where_there_is_no_root_its_cases_are_skips_with_a_name(self):
        code, ran, skipped = self.turn(1000)
        self.assertEqual((code, ran), (77, ["test_for_all", "test_for_others"]))
        self.assertEqual(skipped, ["fact missing: root; it gives files away"] * 2 + ["fact missing: root; it mounts something"])

    def test_a_case_that_is_only_left_early_is_against_the_rules(self):
        """Cases say whose they are by a decorator: what returns at once would be counted as passed."""
        early = re.compile(r"^ *if os\.geteuid\(\) [!=]= 0:\n *(return\b|class\b).*", re.M)
        for name in sorted(os.listdir(FOLDER)):
            if not name.endswith("_test.py"):
                continue
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                self.assertEqual(early.findall(file.read()), [], name)


if __name__ == "__main__":
    unittest.main()
