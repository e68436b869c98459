"""tools/run-tests counts what ctest reports and sees what tests leave behind."""
import ctypes
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from unittest import mock

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "run-tests")
LOADER = importlib.machinery.SourceFileLoader("run_tests", TOOL)
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", LOADER))
LOADER.exec_module(run_tests)

RESULTS = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x">
<testcase name="good" status="run"><system-out>\x1b[1m\x00</system-out></testcase>
<testcase name="bad" status="fail"><failure message=""/></testcase>
<testcase name="skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] skips
x.cc:4: Skipped
no landlock
[  SKIPPED ] skips (0 ms)</system-out></testcase>
<testcase name="returns77" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>no bwrap</system-out></testcase>
<testcase name="missing" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="off" status="disabled"/>
</testsuite>
"""

# Stands in for ctest: writes the results where --output-junit says.
FAKE_CTEST = """#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
cp "$RESULTS" "$2"
exit "${CTEST_CODE:-0}"
"""


class RunTests(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="run-tests-")
        self.addCleanup(shutil.rmtree, self.root)
        for folder in ("tools", "tests", "build/release", "bin", "tmp"):
            os.makedirs(os.path.join(self.root, folder))
        shutil.copy(TOOL, self.path("tools/run-tests"))
        self.write("bin/ctest", FAKE_CTEST)
        os.chmod(self.path("bin/ctest"), 0o755)
        self.write("tests/skips.allowed", "0\n")

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, results, code=0):
        self.write("results.xml", results)
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], RESULTS=self.path("results.xml"),
                           CTEST_CODE=str(code))
        return subprocess.run([self.path("tools/run-tests"), "release"], env=environment, capture_output=True,
                              text=True, check=False)

    @staticmethod
    def last_line(done):
        return done.stdout.splitlines()[-1]

    def test_counts_each_kind(self):
        tally = run_tests.Tally()
        self.write("results.xml", RESULTS)
        tally.read("release", self.path("results.xml"))
        self.assertEqual(1, tally.passed)
        self.assertEqual(["release: bad", "release: missing"], tally.failed)
        self.assertEqual(["release: skips: no landlock", "release: returns77: no bwrap",
                          "release: off: disabled in the source"], tally.skipped)

    def test_one_failure_fails(self):
        done = self.run_tool('<testsuite><testcase name="a" status="fail"/></testsuite>', code=8)
        self.assertEqual((1, "0 passed, 1 failed, 0 skipped"), (done.returncode, self.last_line(done)))

    def test_all_passed_and_nothing_left_succeeds_else_not(self):
        self.write("results.xml", '<testsuite><testcase name="a" status="run"/></testsuite>')
        environment = {"PATH": self.path("bin") + ":" + os.environ["PATH"], "RESULTS": self.path("results.xml")}
        for after, code in (({"old"}, 0), ({"old", "new"}, 1)):
            with mock.patch.object(run_tests, "ROOT", self.root), mock.patch.dict(os.environ, environment), \
                 mock.patch.object(run_tests, "SETTLE_SECONDS", 0), \
                 mock.patch.object(run_tests, "snapshot", side_effect=[{"old"}, after]), \
                 mock.patch("sys.argv", ["run-tests", "release"]):
                self.assertEqual(code, run_tests.main())

    def test_no_test_at_all_fails(self):
        done = self.run_tool("<testsuite/>")
        self.assertEqual((1, "0 passed, 1 failed, 0 skipped"), (done.returncode, self.last_line(done)))

    def test_ctest_failing_by_itself_fails(self):
        done = self.run_tool('<testsuite><testcase name="a" status="run"/></testsuite>', code=8)
        self.assertEqual((1, "1 passed, 1 failed, 0 skipped"), (done.returncode, self.last_line(done)))

    def test_more_skips_than_allowed_fail(self):
        skip = '<testsuite><testcase name="a" status="disabled"/></testsuite>'
        done = self.run_tool(skip)
        self.assertIn("too many skips: 1, and tests/skips.allowed says 0", done.stdout)
        self.assertEqual((1, "0 passed, 0 failed, 1 skipped"), (done.returncode, self.last_line(done)))
        self.write("tests/skips.allowed", "1  # a reason\n")
        self.assertNotIn("too many skips", self.run_tool(skip).stdout)

    def test_skips_allowed_must_be_a_number(self):
        self.write("tests/skips.allowed", "many\n")
        self.assertNotEqual(0, self.run_tool("<testsuite/>").returncode)

    def test_sees_a_temp_file(self):
        with mock.patch.dict(os.environ, TMPDIR=self.path("tmp")):
            before = run_tests.temp_files()
            self.write("tmp/cloche-left", "")
            self.assertEqual({"file " + self.path("tmp/cloche-left")}, run_tests.temp_files() - before)

    def test_sees_a_process_by_its_program(self):
        shutil.copy(shutil.which("sleep"), self.path("build/release/victim"))
        with mock.patch.object(run_tests, "ROOT", self.root):
            before = run_tests.processes(["release"])
            with subprocess.Popen([self.path("build/release/victim"), "60"]) as child:
                wanted = f"process {child.pid} (victim"
                until = time.monotonic() + 10
                try:
                    # The kernel closes the pipe that Popen waits for a moment before it sets the name.
                    seen = set()
                    while not any(line.startswith(wanted) for line in seen) and time.monotonic() < until:
                        seen = run_tests.processes(["release"]) - before
                finally:
                    child.kill()
        self.assertTrue(any(line.startswith(wanted) for line in seen), seen)

    def test_leftovers_are_what_was_not_there_before(self):
        with mock.patch.object(run_tests, "SETTLE_SECONDS", 0), \
             mock.patch.object(run_tests, "snapshot", return_value={"old", "new"}):
            self.assertEqual(["new"], run_tests.leftovers({"old", "gone"}, []))

    def test_shared_memory_that_stays_is_seen(self):
        library = ctypes.CDLL(None, use_errno=True)
        before = run_tests.snapshot([])
        identifier = library.shmget(0, 4096, 0o600)  # IPC_PRIVATE
        self.assertGreaterEqual(identifier, 0)
        try:
            self.assertIn(f"SysV shm {identifier} with key 0x0", run_tests.snapshot([]) - before)
        finally:
            library.shmctl(identifier, 0, None)  # IPC_RMID
        self.assertNotIn(f"SysV shm {identifier} with key 0x0", run_tests.snapshot([]))


if __name__ == "__main__":
    unittest.main(buffer=True)
