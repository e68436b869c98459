"""run_cases.py FILE self|ordinary CLOCHE INIT: runs one file of cases.

"ordinary" needs root, which becomes a user without rights first; without root it is what "self" already did, and passes.
The programs are copied to a directory that this user can reach. Exit code 77 when a case was skipped. A case for one of
these users alone says so (turns.py).
A file with the line OWN_NETWORK below runs in a network of its own (own_network.py), where nobody else is.
"""
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from own_network import IN_NETWORK, in_a_network
from turns import ROOT_HAS_A_TURN

ORDINARY_ID = "61235"
OWN_NETWORK = "# needs: a network of its own\n"


def needs_network(case):
    with open(case, encoding="utf-8") as file:
        return OWN_NETWORK in file


def copy_programs(arguments, folder):
    """Copies all that the case needs; returns the words that run it there, but for whose it is."""
    case, _, cloche, init = arguments
    os.chmod(folder, 0o755)
    beside = [os.path.join(os.path.dirname(init), name) for name in ("cloche-keeper", "cloche-gateway", "propose")]
    helpers = [os.path.join(os.path.dirname(__file__), name)
               for name in ("attendant_case.py", "cell.py", "denials_case.py", "keeper_case.py", "network_case.py", "network_world.py",
                            "own_network.py", "learn_case.py", "prove_case.py", "secrets_case.py", "sockets_case.py",
                            "turns.py", "way_out_case.py", "workspace_case.py")]
    beside = [path for path in beside if os.path.exists(path)]
    for path in (cloche, init, *beside, os.path.abspath(__file__), case, *helpers):
        shutil.copy(path, folder)
    attacks = os.path.join(os.path.dirname(init), "attacks")
    if os.path.isdir(attacks):
        shutil.copytree(attacks, os.path.join(folder, "attacks"))
    inside = [os.path.join(folder, os.path.basename(path)) for path in (__file__, case, cloche, init)]
    # The system's own interpreter: the one that runs this file may lie in root's home.
    return ["/usr/bin/python3", "-B", inside[0], inside[1], "self", inside[2], inside[3]]


def as_ordinary_user(arguments):
    if os.geteuid() != 0:
        print("not root: the cases have run as an ordinary user already")
        return 0
    with tempfile.TemporaryDirectory(prefix="cloche-integration-") as folder:
        command = ["setpriv", "--reuid", ORDINARY_ID, "--regid", ORDINARY_ID, "--clear-groups", *copy_programs(arguments, folder)]
        home = os.path.join(folder, "home")
        os.mkdir(home)
        os.chown(home, int(ORDINARY_ID), int(ORDINARY_ID))
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LC_CTYPE": "C.UTF-8",
               "SANITIZED": os.environ.get("SANITIZED", ""), ROOT_HAS_A_TURN: "yes"}
        if needs_network(arguments[0]):
            command = in_a_network(command)
            env[IN_NETWORK] = "made"
        return subprocess.run(command, env=env, cwd=home, check=False).returncode


def in_own_network(arguments):
    env = {**os.environ, IN_NETWORK: "made"}
    if os.geteuid() == 0:
        command = [sys.executable, "-B", os.path.abspath(__file__), *arguments]
        return subprocess.run(in_a_network(command), env=env, check=False).returncode
    # In a user namespace root's files are nobody's, and cloche trusts only root's and the user's own.
    with tempfile.TemporaryDirectory(prefix="cloche-integration-") as folder:
        return subprocess.run(in_a_network(copy_programs(arguments, folder)), env=env, check=False).returncode


def hear_signals():
    """A shell starts what it puts into the background with signals ignored, and so would be every command of a case: an
    interrupt would end none of them."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main(arguments):
    hear_signals()
    if arguments[1] == "ordinary":
        return as_ordinary_user(arguments)
    if needs_network(arguments[0]) and IN_NETWORK not in os.environ:
        return in_own_network(arguments)
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
