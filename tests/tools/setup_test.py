"""tools/setup asks dpkg first, installs only what is missing, and says so when it may not. No package is touched: the
programs it calls are stand-ins."""
import os
import shutil
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "setup")


class Setup(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="setup-test-")
        os.chmod(self.root, 0o755)
        self.addCleanup(shutil.rmtree, self.root)
        self.log = os.path.join(self.root, "log")
        with open(self.log, "w", encoding="utf-8"):
            os.chmod(self.log, 0o666)
        for name in ("bash", "env"):
            os.symlink(shutil.which(name), os.path.join(self.root, name))
        self.stand_in("apt-get", f'echo "apt-get $*" >>{self.log}')

    def stand_in(self, name, script):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n{script}\n")
        os.chmod(path, 0o755)

    def installed(self, *packages):
        lines = "\\n".join(f"installed {package}" for package in packages)
        self.stand_in("dpkg-query", f"printf '{lines}\\n'; exit 1")

    def run_tool(self, *groups, user=None):
        with open(TOOL, encoding="utf-8") as script:
            return subprocess.run([shutil.which("bash"), "-s", *groups], stdin=script, env={"PATH": self.root}, user=user,
                                  capture_output=True, text=True, check=False)

    def calls(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_nothing_missing_calls_nothing(self):
        self.installed("clang-format-19", "clang-tidy-19")
        self.assertEqual((0, "", []), (self.run_tool("style").returncode, self.run_tool("style").stderr, self.calls()))

    def test_installs_only_what_is_missing(self):
        if os.geteuid() != 0:
            self.stand_in("sudo", '"$@"')
        self.installed("clang-format-19")
        self.assertEqual(0, self.run_tool("style").returncode)
        self.assertEqual(1, len(self.calls()))
        self.assertTrue(self.calls()[0].endswith("install --no-install-recommends clang-tidy-19"), self.calls())

    def test_removed_package_is_missing(self):
        if os.geteuid() != 0:
            self.stand_in("sudo", '"$@"')
        self.stand_in("dpkg-query", "printf 'config-files libbenchmark-dev\\n'")
        self.run_tool("bench")
        self.assertIn("libbenchmark-dev", self.calls()[0])

    def test_says_what_is_missing_without_root_and_sudo(self):
        self.installed("clang-format-19")
        done = self.run_tool("style", user=65534 if os.geteuid() == 0 else None)
        self.assertEqual((1, []), (done.returncode, self.calls()))
        self.assertIn("needs root or sudo", done.stderr)
        self.assertIn("clang-tidy-19", done.stderr)

    def test_unknown_group_is_refused(self):
        self.assertEqual(2, self.run_tool("kitchen").returncode)
        self.assertEqual(2, self.run_tool().returncode)


if __name__ == "__main__":
    unittest.main(buffer=True)
