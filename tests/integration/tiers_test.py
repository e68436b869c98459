"""The tiers from outside: what tier 0 holds, the life of a run, and what a cell shows of its limits."""
import os
import shutil
import socket
import subprocess
import sys

from cell import CLOCHE, CellCase, HOST, LIMITS, STUBBORN, TIMEOUT, mark, output_of, processes_with

TIER0 = ["--preset", "dev", "--tier", "process"]

# Prints one line a finding; a harmless run prints only "at ...", "uid ..." and "limits ...".
PROBE = """
import os, resource, socket, sys
print("at", os.getcwd())
print("uid", os.getuid())
print("limits", *[resource.getrlimit(getattr(resource, "RLIMIT_" + n))[1] for n in ("NOFILE", "NPROC", "AS", "CORE")])
open("mine", "w").write("x")
for path in ("/etc/shadow", "/proc/self/status", "/root", sys.argv[1]):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print("READ", path)
    except OSError:
        pass
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try:
        socket.socket(family)
        print("SOCKET", family)
    except OSError:
        pass
"""


class Tier0(CellCase):
    def test_H1_hardened_process_has_a_work_directory_limits_and_no_reach(self):
        os.chmod(self.folder, 0o755)
        secret = self.path("secret", "s")
        done, report = self.run_report(*TIER0, "--files", "100", "--pids", "50", self.path("x.py", PROBE), secret)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = dict(line.split(" ", 1) for line in output_of(report).splitlines())
        self.assertEqual(set(lines), {"at", "uid", "limits"}, output_of(report))
        self.assertTrue(lines["at"].startswith("/tmp/cloche-"), lines)
        self.assertFalse(os.path.exists(os.path.dirname(lines["at"])), "the work directory outlives the run")
        if os.geteuid() == 0:
            self.assertGreaterEqual(int(lines["uid"]), 0x71000000)
        nofile, nproc, address_space, core = map(int, lines["limits"].split())
        self.assertEqual((nofile, core), (100, 1))
        self.assertGreater(nproc, 0)
        self.assertGreater(address_space, 0)

    def test_H1_tree_is_killed_without_a_pid_namespace(self):
        word = mark()
        done, report = self.run_report(*TIER0, "--wall", "2s", "--grace", "200ms", self.path("x.py", STUBBORN), word)
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (124, "wall"), done.stderr)
        self.assertEqual(processes_with(word), [])

    def test_H1_daemon_does_not_outlive_its_run(self):
        word = mark()
        done, report = self.run_report(*TIER0, "--", "sh", "-c", f"pwd; (setsid sleep {word} >/dev/null 2>&1 &) ; exit 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(processes_with(word), [])
        # Its own directory; other tests of this user have theirs.
        work = output_of(report).strip()
        self.assertTrue(work.startswith(f"/tmp/cloche-{report['id']}/"), work)
        self.assertFalse(os.path.exists(f"/tmp/cloche-{report['id']}"))

    def test_H9_low_trust_never_runs_below_tier_1(self):
        done = self.cloche("run", "--tier", "process", "--", "true")
        self.assertIn(done.returncode, (2, 126), done.stderr)
        self.assertIn(b"trust", done.stderr)

    def test_H8_backend_none_only_in_development(self):
        done = self.cloche("run", "--backend", "none", "--", "true")
        self.assertIn(done.returncode, (2, 126), done.stderr)


class Reach(CellCase):
    def test_C40_a_socket_inside_a_grant_is_out_of_reach(self):
        # Neither a read-only mount nor Landlock judges connect(); the filter must.
        os.chmod(self.folder, 0o755)
        place = self.path("service.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place)
            os.chmod(place, 0o777)
            server.listen(4)
            text = ("import socket, sys\n"
                    "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n"
                    "    try:\n        socket.socket(socket.AF_UNIX, kind).connect(sys.argv[1])\n        print('BREACH')\n"
                    "    except PermissionError:\n        print('held')\n")
            script = self.path("x.py", text)
            for words in (["--read", self.folder], ["--backend", "bwrap", "--read", self.folder], TIER0 + ["--read", self.folder]):
                _, report = self.run_report(*words, script, place)
                self.assertEqual(output_of(report), "held\nheld\n", words)

    def test_N13_guest_cannot_blind_its_init(self):
        text = ("import resource\n"
                "for pid in (1, 2):\n"
                "    try:\n        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))\n        print('BREACH')\n"
                "    except OSError:\n        print('held')\n")
        done, report = self.run_report(self.path("x.py", text))
        self.assertEqual((done.returncode, output_of(report)), (0, "held\nheld\n"))

    def test_C56_watches_are_the_cells_own(self):
        text = ("import ctypes\nlibc = ctypes.CDLL(None)\n"
                "print(sum(libc.inotify_init() >= 0 for _ in range(100)))\n")
        _, report = self.run_report(self.path("x.py", text))
        self.assertLessEqual(int(output_of(report)), 16)


# Ignores and blocks every signal, the C libraries' own included, then becomes the command.
DEAF = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
number = {"x86_64": (13, 14), "aarch64": (134, 135)}[os.uname().machine]
action = (ctypes.c_ulong * 4)(1, 0, 0, 0)
for signal in range(1, 65):
    libc.syscall(number[0], signal, action, None, 8)
libc.syscall(number[1], 2, ctypes.byref(ctypes.c_ulong(0xffffffffffffffff)), None, 8)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Signals(CellCase):
    def test_C14_callers_signal_state_ends_at_the_cell(self):
        # An ignored SIGCHLD must not keep init from hearing of the guest's end either.
        for tier in ([], TIER0):
            words = [CLOCHE, "run", *LIMITS, *tier, "--wall", "20s", "--", "sh", "-c", "exit 5"]
            if not tier:
                words[-1] = "grep -E 'SigBlk|SigIgn' /proc/self/status; exit 5"
            done = subprocess.run([sys.executable, "-c", DEAF, *words], capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 5, done.stderr)
            if not tier:
                self.assertEqual(done.stdout.decode().split(), ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16])


class Life(CellCase):
    def test_K3_each_step_once_and_in_order(self):
        for words, life in (
                (["--", "true"], ["prepare", "start", "run", "drain", "dispose"]),
                (["--wall", "300ms", "--grace", "100ms", "--", "sleep", "9"],
                 ["prepare", "start", "run", "time-out", "drain", "dispose"]),
                (["--", "/usr/bin/there-is-no-such-program"], ["prepare", "start", "run", "drain", "dispose"]),
                (["--memory", "64M", "--", "sh", "-c", "kill -9 $$"], ["prepare", "start", "run", "drain", "dispose"])):
            _, report = self.run_report(*words)
            self.assertEqual(report["lifecycle"], life, words)

    def test_K3_a_failed_preparation_is_disposed_of(self):
        link = self.path("link")
        os.symlink("/opt", link)
        policy = self.path("p.toml", f'version = 1\nextends = "untrusted"\n[files]\nread = ["{link}"]\n')
        done, report = self.run_report("--policy", policy, "--", "true")
        self.assertIn(done.returncode, (125, 126), done.stderr)
        self.assertEqual((report["lifecycle"][0], report["lifecycle"][-1]), ("prepare", "dispose"))
        self.assertNotIn("run", report["lifecycle"])


class HonestLimits(CellCase):
    def test_X8_cpu_count_is_the_cap(self):
        text = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"
        _, report = self.run_report("--cpus", "1", self.path("x.py", text))
        self.assertEqual(output_of(report), "1 1\n")
        _, report = self.run_report("--cpus", "1", "--", "nproc")
        self.assertEqual(output_of(report), "1\n")

    def test_X8_guest_cannot_widen_its_cpus(self):
        text = "import os\ntry:\n    os.sched_setaffinity(0, range(os.sysconf('SC_NPROCESSORS_CONF')))\nexcept PermissionError:\n    print('held')\n"
        _, report = self.run_report("--cpus", "1", self.path("x.py", text))
        self.assertEqual(output_of(report), "held\n")

    def test_X8_full_disk_has_its_own_outcome(self):
        text = "f = 0\nwhile True:\n    open(f'/tmp/{f}', 'wb').write(bytes(1 << 19)); f += 1\n"
        done, report = self.run_report("--disk", "4M", self.path("x.py", text))
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)
        done, report = self.run_report("--inodes", "64", self.path("y.py", text.replace("1 << 19", "0")))
        self.assertEqual((done.returncode, report["outcome"]["kind"]), (137, "disk"), done.stderr)


class Interpreters(CellCase):
    def test_K10_node_heap_is_below_the_memory_limit(self):
        if not shutil.which("node", path="/usr/local/bin:/usr/bin:/bin"):
            self.skipTest("fact missing: node is not installed below /usr")
        text = "console.log(require('v8').getHeapStatistics().heap_size_limit >> 20)"
        _, report = self.run_report("--memory", "400M", self.path("x.js", text))
        self.assertLess(int(output_of(report)), 400)
        self.assertGreater(HOST["memory"], 400 << 20, "on so small a machine node would choose that by itself")
