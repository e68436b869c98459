"""A keeper that dies, a client that dies, and clients that a keeper must not serve."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

from cell import CGROUPS, CLOCHE, LIMITS, TIMEOUT, mark, output_of, own_cgroups, processes_with
from keeper_case import KeeperCase, children_of, groups_of, lives
from turns import for_root

OTHER = 61000  # nobody's uid


class Crash(KeeperCase):
    def running(self, word, *words):
        """A run in a keeper's cell that has said that it began; the pids of its guest."""
        process = self.start("--keeper", "always", *words, "--", "sh", "-c", f"echo begun; sleep {word}; echo whole; exit 5")
        self.assertEqual(process.stdout.readline(), b"begun\n")
        self.eventually(lambda: processes_with(word), "the guest is not seen")
        guests = [pid for pid in processes_with(word) if pid != process.pid]
        return process, guests

    def seconds(self):
        """How long a guest sleeps, told from all others by its fraction."""
        return "1." + mark().replace(".", "")[1:]

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        self.eventually(lambda: not lives(pid), "it did not die")

    def test_keeper_dies_while_a_run_goes_on(self):
        for parked in (False, True):
            pid = self.start_keeper()
            if parked:
                self.park()
            word, report = self.seconds(), self.path("r.json")
            process, guests = self.running(word, "--report", report)
            groups = own_cgroups(guests[0]) if CGROUPS else []
            cells = children_of(pid)
            self.kill(pid)
            out, err = self.finish(process)
            self.assertEqual((process.returncode, out), (5, b"whole\n"), err)
            with open(report, encoding="utf-8") as file:
                told = json.load(file)
            self.assertEqual((told["outcome"]["kind"], told["outcome"]["code"]), ("exited", 5))
            self.assertEqual(output_of(told), "begun\nwhole\n")
            self.assertNotEqual(told["receipt"], [])
            if CGROUPS:
                self.assertGreater(told["usage"]["memory_peak_bytes"], 0)
            self.assert_nothing_left(pid, cells + guests)
            self.eventually(lambda groups=groups: not any(map(os.path.exists, groups)), f"{groups} are left")
            self.assertEqual(self.cloche("run", "--", "true").returncode, 0)
            self.assertEqual(self.cloche("run", "--keeper", "always", "--", "true").returncode, 126)

    def test_keeper_is_stopped_while_a_run_goes_on(self):
        pid = self.start_keeper()
        process, guests = self.running(self.seconds())
        self.assertEqual(self.cloche("keeper", "stop").returncode, 0)
        second = self.start_keeper()
        self.assertEqual(self.run_here("--", "true").returncode, 0)
        out, err = self.finish(process)
        self.assertEqual((process.returncode, out), (5, b"whole\n"), err)
        self.assert_nothing_left(pid, guests)
        self.assertEqual(self.status()["pid"], second)

    def test_client_dies_while_its_run_goes_on(self):
        pid = self.start_keeper()
        for parked in (False, True):
            if parked:
                self.park()
            word = mark()
            process, guests = self.running(word)
            groups = own_cgroups(guests[0]) if CGROUPS else []
            self.kill(process.pid)
            self.eventually(lambda guests=guests: not any(map(lives, guests)), "the guest outlived its engine")
            self.eventually(lambda groups=groups: not any(map(os.path.exists, groups)), f"{groups} are left")
            self.eventually(lambda: self.status()["lent"] == 0, "its cell stayed lent")
            self.assertEqual(self.run_here("--", "true").returncode, 0)
        self.assertEqual(self.status()["pid"], pid)

    def test_client_dies_while_its_init_is_stopped(self):
        pid = self.start_keeper()
        process, guests = self.running(mark())
        # Cells that wait have a child, too: the one that waits with them.
        inits = [cell for cell in children_of(pid)
                 if any(set(children_of(child)) & set(guests) for child in children_of(cell))]
        self.assertEqual(len(inits), 1)
        os.kill(inits[0], signal.SIGSTOP)
        self.kill(process.pid)
        self.eventually(lambda: not any(map(lives, guests)), "the guest outlived its engine")
        self.eventually(lambda: self.status()["lent"] == 0, "its cell stayed lent")

    def test_both_die(self):
        for first in ("keeper", "client"):
            pid = self.start_keeper()
            process, guests = self.running(mark())
            cells = children_of(pid)
            for victim in (pid, process.pid) if first == "keeper" else (process.pid, pid):
                os.kill(victim, signal.SIGKILL)
            process.wait(TIMEOUT)
            self.assert_nothing_left(pid, cells + guests)

    def test_client_dies_at_any_moment(self):
        pid = self.start_keeper()
        for step in range(40):
            process = self.start("--keeper", "always", "--", "sleep", "60", stdin=subprocess.DEVNULL)
            try:
                process.wait(step * 0.0007)
            except subprocess.TimeoutExpired:
                pass
            process.kill()
            process.wait(TIMEOUT)
        self.eventually(lambda: self.status()["lent"] == 0, "cells stayed lent to nobody")
        self.settle()
        counts = self.status()
        ready = counts["blank"] + counts["parked"]
        # What stands ready, and the janitor.
        self.eventually(lambda: len(children_of(pid)) <= ready + 1, "cells live on without an engine")
        if CGROUPS:
            kinds = len({os.path.dirname(path) for path in groups_of(pid)})
            self.eventually(lambda: len(groups_of(pid)) <= ready * max(kinds, 1), f"{groups_of(pid)} are left")

    def test_parked_cells_are_killed_from_outside(self):
        pid = self.start_keeper()
        self.park()
        for cell in children_of(pid):
            for guest in children_of(cell):
                with contextlib.suppress(ProcessLookupError):  # one that helps a cell ends by itself
                    os.kill(guest, signal.SIGKILL)
        self.settle()
        self.eventually(lambda: self.status()["parked"] == 2, "they were not replaced")
        self.assertEqual(self.parked_run("--", "echo", "fine").stdout, b"fine\n")

    def test_many_runs_leave_the_keeper_as_it_was(self):
        pid = self.start_keeper()
        self.park()

        for _ in range(20):
            self.run_here("--", "true")
        fds, memory = self.size_of(pid)
        for _ in range(100):
            self.assertEqual(self.run_here("--", "true").returncode, 0)
        after, grown = self.size_of(pid)
        self.assertLessEqual(after, fds + 8)  # networks that wait to be used again
        if not os.environ.get("SANITIZED"):
            self.assertLess(grown, memory + 512)


class ColdCase(KeeperCase):
    def assert_cold(self, *prefix, words=("run",)):
        """A client behind this command is served by nobody, and runs by itself."""
        before = self.status()
        for when, code in (("auto", 0), ("always", 126)):
            done = subprocess.run([*prefix, CLOCHE, *words, *LIMITS, "--keeper", when, "--", "echo", "ran"], env=self.env,
                                  capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL)
            self.assertEqual((done.returncode, done.stdout), (code, b"" if code else b"ran\n"), done.stderr)
        after = self.status()
        for count in ("pid", "served_blank", "served_parked"):
            self.assertEqual(after[count], before[count])


class Strangers(ColdCase):
    def test_client_with_no_new_privs(self):
        self.start_keeper()
        self.assert_cold("setpriv", "--no-new-privs")

    def test_directory_that_is_open_to_others(self):
        self.start_keeper()
        os.chmod(self.place, 0o755)
        done = self.cloche("run", "--keeper", "always", "--", "true")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertEqual(self.cloche("run", "--", "true").returncode, 0)
        os.chmod(self.place, 0o700)
        self.assertEqual(self.run_here("--", "true").returncode, 0)

    def test_place_that_is_a_link(self):
        self.start_keeper()
        link = self.path("link")
        os.symlink(self.place, link)
        done = self.cloche("run", "--keeper", "always", "--", "true", env=dict(self.env, CLOCHE_KEEPER_DIR=link))
        self.assertNotEqual(done.returncode, 0)


def copy_programs(folder):
    """To where any user finds them."""
    os.chmod(folder, 0o755)
    for name in ("cloche", "cloche-init", "cloche-keeper"):
        shutil.copy(os.path.join(os.path.dirname(CLOCHE), name), folder)


@for_root("only root becomes these strangers")
class StrangersOfRoot(ColdCase):
    """What only root can become; an ordinary user's keeper meets the same code."""

    def test_client_in_another_namespace(self):
        self.start_keeper()
        for flags in (["-m"], ["-n"], ["-i"], ["-p", "-f", "--mount-proc"]):
            self.assert_cold("unshare", *flags)

    def test_client_with_fewer_rights(self):
        self.start_keeper()
        self.assert_cold("setpriv", "--bounding-set", "-sys_time")

    def test_client_with_other_groups(self):
        self.start_keeper()
        self.assert_cold("setpriv", "--groups", str(OTHER))
        self.assert_cold("setpriv", "--regid", str(OTHER), "--keep-groups")

    def as_other(self, *words):
        command = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", self.theirs, *words]
        env = {"PATH": "/usr/bin:/bin", "CLOCHE_KEEPER_DIR": self.place}
        return subprocess.run(command, env=env, capture_output=True, timeout=TIMEOUT, check=False, cwd="/",
                              stdin=subprocess.DEVNULL)

    def test_another_users_keeper_is_never_used(self):
        copy_programs(self.folder)
        self.theirs = self.path("cloche")
        os.mkdir(self.place, 0o700)
        os.chown(self.place, OTHER, OTHER)
        self.assertEqual(self.as_other("keeper", "start").returncode, 0)
        self.addCleanup(self.as_other, "keeper", "stop")
        for when, code in (("auto", 0), ("always", 126)):
            self.assertEqual(self.cloche("run", "--keeper", when, "--", "true").returncode, code)
        # Nor if the directory says that it is ours.
        os.chown(self.place, 0, 0)
        done = self.cloche("run", "--keeper", "always", "--", "true")
        self.assertEqual(done.returncode, 126)
        self.assertIn(f"user {OTHER}".encode(), done.stderr)
        os.chown(self.place, OTHER, OTHER)
        told = self.as_other("keeper", "status")
        self.assertIn(b"served-blank 0\nserved-parked 0\n", told.stdout)
        self.assertEqual(self.as_other("keeper", "stop").returncode, 0)
        # And the other way round.
        shutil.rmtree(self.place)
        self.start_keeper()
        self.assertEqual(self.as_other("run", *["--limits-mode", "best-effort"], "--keeper", "always", "--",
                                       "true").returncode, 126)
        os.chmod(self.place, 0o777)
        self.assertNotEqual(self.as_other("keeper", "stop").returncode, 0)
        os.chmod(self.place, 0o700)
        counts = self.status()
        self.assertEqual((counts["served_blank"], counts["served_parked"]), (0, 0))


@for_root("a mount of /proc that hides processes takes root")
class Hidden(KeeperCase):
    """A /proc that hides the keeper from its own user, in a pid namespace with which everything ends that was begun in it."""

    def behind(self, option, script):
        """What the script tells, as an ordinary user; `hide` mounts it with the option."""
        copy_programs(self.folder)
        os.makedirs(self.place, mode=0o700)
        os.chown(self.place, OTHER, OTHER)
        script = f"""
            user() {{ setpriv --reuid {OTHER} --regid {OTHER} --clear-groups "$@"; echo $?; }}
            hide() {{ mount -t proc -o {option} proc /proc; }}
            {script}"""
        env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "CLOCHE_KEEPER_DIR": self.place}
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, self.path("cloche")],
                              env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd="/",
                              stdin=subprocess.DEVNULL)
        return done.stdout.split(), done.stderr

    def test_none_is_started_that_nobody_could_use(self):
        codes, told = self.behind("hidepid=2", 'hide; user "$0" keeper start; user "$0" keeper status')
        self.assertEqual(codes, ["126", "1"], told)
        self.assertIn("hidepid", told)
        self.assertEqual(os.listdir(self.place), [])

    def test_one_that_is_hidden_later_can_be_stopped(self):
        codes, told = self.behind("hidepid=2", 'mount -t proc proc /proc; user "$0" keeper start; hide; '
                                  'user "$0" run --limits-mode best-effort --keeper always -- true; user "$0" keeper stop')
        self.assertEqual(codes, ["0", "126", "0"], told)
        self.assertIn("hidepid", told)

    def test_whoever_is_shown_all_the_same_has_one(self):
        codes, told = self.behind(f"hidepid=2,gid={OTHER}", 'hide; user "$0" keeper start; '
                                  'user "$0" run --limits-mode best-effort --keeper always -- true; user "$0" keeper stop')
        self.assertEqual(codes, ["0", "0", "0"], told)
