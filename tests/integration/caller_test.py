"""What the caller brings along: capabilities, limits, paths that somebody changes; and what a run then says of itself."""
import ctypes
import os
import shutil
import subprocess
import tempfile
import threading

from cell import CLOCHE, CellCase, LIMITS, TIMEOUT, output_of
from turns import for_root

TIER0 = ["--preset", "dev", "--tier", "process"]
BACKENDS = ([], ["--backend", "bwrap"], TIER0)


class Caller(CellCase):
    def under(self, wrapper, *words):
        command = [*wrapper, CLOCHE, "run", *LIMITS, *words]
        return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)

    @for_root("there is no such root to be")
    def test_C18_root_that_lacks_a_capability_is_neither_root_nor_an_ordinary_user(self):
        for capability in ("sys_admin", "setuid", "setgid", "setpcap"):
            for words in BACKENDS:
                with self.subTest(capability=capability, words=words):
                    done = self.under(["setpriv", "--bounding-set", f"-{capability}"], *words, "--", "id", "-u")
                    self.assertEqual((done.returncode, done.stdout), (126, b""), done.stderr)
                    self.assertIn(b"identity", done.stderr)
                    self.assertIn(b"CAP_SYS_ADMIN", done.stderr)

    def test_C62_output_that_finds_no_room_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([CLOCHE, "run", *LIMITS, "--", "echo", "lost"], stdout=full, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(b"No space left on device", done.stderr)

    def test_K7_a_run_is_over_when_the_command_is(self):
        # Under a caller that reaps nobody but its own child, neither a process nor a group of the run may be left.
        libc = ctypes.CDLL(None, use_errno=True)
        subreaper = 36
        self.assertEqual(libc.prctl(subreaper, 1, 0, 0, 0), 0)
        try:
            for _ in range(10):
                done = self.under([], "--keeper", "never", "--", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                with self.assertRaises(ChildProcessError, msg="an orphan of the run's came to us"):
                    os.waitpid(-1, os.WNOHANG)
        finally:
            libc.prctl(subreaper, 0, 0, 0, 0)

    def test_C60_the_stricter_hard_limit_of_the_caller_stays(self):
        for words in BACKENDS:
            with self.subTest(words=words):
                done = self.under(["prlimit", "--nofile=150:150"], *words, "--", "sh", "-c", "ulimit -n; ulimit -Hn")
                self.assertEqual((done.returncode, done.stdout), (0, b"150\n150\n"), done.stderr)
                done = self.under(["prlimit", "--fsize=1048576:1048576"], *words, "--", "sh", "-c", "ulimit -f")
                self.assertEqual((done.returncode, done.stdout), (0, b"2048\n"), done.stderr)

    def test_C60_too_few_open_files_for_an_engine_are_refused(self):
        # As few as a program needs to start at all, and just one too few.
        for files in (20, 60, 127):
            for words in BACKENDS:
                with self.subTest(files=files, words=words):
                    done = self.under(["prlimit", f"--nofile={files}:{files}"], *words, "--", "true")
                    self.assertEqual(done.returncode, 126, done.stderr)
                    self.assertIn(b"ulimit -n", done.stderr)

    def test_C60_just_enough_open_files_are_enough(self):
        for words in BACKENDS:
            with self.subTest(words=words):
                self.assertEqual(self.under(["prlimit", "--nofile=128:128"], *words, "--", "true").returncode, 0)


class Grants(CellCase):
    def test_C30_a_path_that_changes_meanwhile_never_shows_another_place(self):
        folder = tempfile.mkdtemp(prefix="cloche-case-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        granted, secret, link = (os.path.join(folder, name) for name in ("granted", "secret", "link"))
        for place, text in ((granted, "mine"), (secret, "SECRET")):
            os.mkdir(place, 0o755)
            with open(os.path.join(place, "file"), "w", encoding="ascii") as file:
                file.write(text)
        os.symlink(secret, link)
        ended = threading.Event()

        def swap():
            exchange, here = 2, -100
            while not ended.is_set():
                ctypes.CDLL(None).renameat2(here, granted.encode(), here, link.encode(), exchange)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for words in ([], ["--backend", "bwrap"]):
                for _ in range(25):
                    done = self.cloche("run", *words, "--read", granted, "--", "cat", os.path.join(granted, "file"))
                    self.assertIn(done.stdout, (b"", b"mine"), words)
        finally:
            ended.set()
            swapper.join()


class Honesty(CellCase):
    def test_N8_output_over_its_limit_is_that_also_when_the_guest_has_ended(self):
        # One byte too many, and gone: the end and the last bytes arrive together, in either order.
        for words in ([], TIER0):
            for _ in range(25):
                done, report = self.run_report(*words, "--output", "10K", "--", "head", "-c", "10241", "/dev/zero")
                self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "output"), done.stderr)
                self.assertEqual(len(done.stdout), 10240)

    def test_H8_backend_none_warns_and_its_report_says_what_is_missing(self):
        policy = self.path("p.toml", 'version = 1\nextends = "dev"\nbackend = "none"\ndevelopment = true\n'
                                     'weaken = ["no-backend"]\n')
        done, report = self.run_report("--policy", policy, "--", "sh", "-c", "exit 4")
        self.assertEqual((done.returncode, report["backend"]), (4, "none"), done.stderr)
        self.assertIn(b"warning: backend 'none' contains nothing", done.stderr)
        absent = {line["guarantee"] for line in report["receipt"] if line["standing"] == "absent"}
        self.assertGreaterEqual(absent, {"file-system", "network", "system-calls", "identity", "memory"})
        for guarantee in absent:
            self.assertTrue(any(text.startswith(guarantee + ":") for text in report["weakenings"]), guarantee)
        quiet = self.cloche("run", "--policy", policy, "--quiet", "--", "true")
        self.assertIn(b"warning", quiet.stderr)

    def test_a_guests_own_sigsys_ends_as_a_filters(self):
        # No wait status tells them apart; docs/report.md says so.
        done, report = self.run_report("--", "sh", "-c", "kill -SYS $$")
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "denied"), done.stderr)
        self.assertEqual(report["outcome"]["signal"], 31)

    def test_C44_plan_shows_the_masks_over_proc(self):
        done = self.cloche("plan", "--backend", "bwrap", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"--tmpfs /proc/sys --remount-ro /proc/sys", done.stdout)
        _, report = self.run_report("--backend", "bwrap", "--", "sh", "-c", "ls /proc/sys; cat /proc/kallsyms")
        self.assertEqual(output_of(report), "")
