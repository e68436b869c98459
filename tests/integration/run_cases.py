"""run_cases.py FILE self|ordinary CLOCHE INIT: runs one file of cases.

"ordinary" needs root, which becomes a user without rights first; without root it is what "self" already did, and passes.
The programs are copied to a directory that this user can reach. Exit code 77 when a case was skipped. A file with the
line OWN_NETWORK below runs in a network namespace of its own, which own_network.py furnishes.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ORDINARY_ID = "61235"
OWN_NETWORK = "# needs: a network of its own\n"


def as_ordinary_user(arguments):
    if os.geteuid() != 0:
        print("not root: the cases have run as an ordinary user already")
        return 0
    case, _, cloche, init = arguments
    with tempfile.TemporaryDirectory(prefix="cloche-integration-") as folder:
        os.chmod(folder, 0o755)
        beside = [os.path.join(os.path.dirname(init), name) for name in ("cloche-keeper", "cloche-gateway", "propose")]
        helpers = [os.path.join(os.path.dirname(__file__), name)
                   for name in ("cell.py", "keeper_case.py", "workspace_case.py", "own_network.py", "way_out_case.py",
                                "secrets_case.py", "sockets_case.py")]
        for path in (cloche, init, *beside, os.path.abspath(__file__), case, *helpers):
            shutil.copy(path, folder)
        inside = [os.path.join(folder, os.path.basename(path)) for path in (__file__, case, cloche, init)]
        home = os.path.join(folder, "home")
        os.mkdir(home)
        os.chown(home, int(ORDINARY_ID), int(ORDINARY_ID))
        # The system's own interpreter: the one that runs this file may lie in root's home.
        command = ["setpriv", "--reuid", ORDINARY_ID, "--regid", ORDINARY_ID, "--clear-groups", "/usr/bin/python3", "-B",
                   inside[0], inside[1], "self", inside[2], inside[3]]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LC_CTYPE": "C.UTF-8",
               "SANITIZED": os.environ.get("SANITIZED", ""), "CLOCHE_OWN_NETWORK": os.environ.get("CLOCHE_OWN_NETWORK", "")}
        return subprocess.run(command, env=env, cwd=home, check=False).returncode


def enter_own_network(arguments):
    """Starts this program anew in there; whoever is not root is in a user namespace besides, as the same user."""
    unshare = ["unshare", "--mount", "--net"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-current-user", "--keep-caps"]
    furnish = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_network.py")
    os.execvp("unshare", [*unshare, sys.executable, "-B", furnish, sys.executable, "-B", os.path.abspath(__file__), *arguments])


def main(arguments):
    with open(arguments[0], encoding="utf-8") as file:
        if OWN_NETWORK in file and not os.environ.get("CLOCHE_OWN_NETWORK"):
            enter_own_network(arguments)
    if arguments[1] == "ordinary":
        return as_ordinary_user(arguments)
    # Runs are recorded: here and not among those of whoever runs the tests.
    with tempfile.TemporaryDirectory(prefix="cloche-state-") as state:
        os.environ["CLOCHE_STATE_DIR"] = os.path.join(state, "cloche")
        return run_as_self(arguments)


def run_as_self(arguments):
    case, _, cloche, _ = arguments
    os.environ["CLOCHE_UNDER_TEST"] = os.path.abspath(cloche)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("case", case)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    for _, reason in result.skipped:
        print("skipped:", reason)
    return 77 if result.skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
