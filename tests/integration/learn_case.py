"""What the cases of `cloche learn` share: a project, and words to learn from it."""
import os
import re
import subprocess

from cell import CGROUPS, CLOCHE, TIMEOUT, CellCase
from workspace_case import snapshot

LIMITS = [] if CGROUPS else ["--limits-mode", "best-effort"]

# Beside each directory that a policy lets a command change.
WHOLE = "  # the whole directory: all that lies in it can be read and changed"

# Reads three files, lists a directory, writes one file, executes a program outside of /usr, uses a variable.
JOB = """
cat data/one data/two data/three || exit 3
ls names || exit 4
"$TOOLS"/helper || exit 5
test "$COLOUR" = blue || exit 6
echo made > out/result || exit 7
"""


class LearnCase(CellCase):
    def setUp(self):
        super().setUp()
        self.project = self.path("project")
        for folder in ("project/data", "project/names", "project/out", "tools", "home/.ssh", "state"):
            os.makedirs(self.path(folder))
        for name in ("data/one", "data/two", "data/three", "data/four", "data/five", "data/six", "data/seven",
                     "names/a", "names/b", "names/c"):
            self.path("project/" + name, name + "\n")
        self.path("project/job.sh", JOB)
        self.path("tools/helper", "#!/bin/sh\necho helper\n")
        self.path("tools/other", "not used\n")
        os.chmod(self.path("tools/helper"), 0o755)
        self.path("home/.ssh/id_rsa", "CANARY\n")
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.path("home"), "COLOUR": "blue",
                    "TOOLS": self.path("tools"), "API_TOKEN": "CANARY-TOKEN",
                    "CLOCHE_STATE_DIR": self.path("state")}
        if "CLOCHE_INIT" in os.environ:
            self.env["CLOCHE_INIT"] = os.environ["CLOCHE_INIT"]

    def do(self, *words, stdin="", env=None):
        return subprocess.run([CLOCHE, *words], cwd=self.project, env=env or self.env, input=stdin, text=True,
                              capture_output=True, timeout=3 * TIMEOUT, check=False)

    def learn(self, *words, **more):
        return self.do("learn", *LIMITS, *words, **more)

    def run_with(self, policy, *command):
        return self.do("run", "--quiet", *LIMITS, "--policy", policy,
                       "--", *command)

    def seen(self):
        """The host's files without the records of runs, and without times of reading."""
        return {name: facts for name, facts in snapshot(self.folder).items() if not name.startswith("state")}


def without_each_grant(text):
    """The policy's text without one entry of a list, for each of them."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if re.match(r'  "', line) or line.startswith("cwd = "):
            yield line.strip(), "".join(lines[:at] + lines[at + 1:])
