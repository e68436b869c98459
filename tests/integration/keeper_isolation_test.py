"""Nothing of a run is visible to the next, whichever prepared cell it gets."""
import os

from keeper_case import KeeperCase

RUNS = 12  # more than a keeper has networks, so that they go round

# Leaves a mark wherever a guest might; what is refused is as good as not left. Ends well only if it left the first ones.
LEAVE = r"""
import array, ctypes, os, resource, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
left = []
def leave(name, action):
    try:
        if action() is not False:
            left.append(name)
    except OSError:
        pass
def write(path):
    with open(path, "w") as file:
        file.write("mark")
for place in ("/work", "/tmp", "/home/guest", "/dev/shm", "/var/tmp", "/run", "/", "/etc", "/usr", "/dev", "/sys", "/proc"):
    leave(place, lambda: write(place + "/cloche-mark"))
leave("shm", lambda: libc.shmget(0x436c, 4096, 0o1666) >= 0)
leave("msg", lambda: libc.msgget(0x436c, 0o1666) >= 0)
leave("sem", lambda: libc.semget(0x436c, 1, 0o1666) >= 0)
leave("mq", lambda: libc.mq_open(b"/cloche-mark", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0)
leave("keyring", lambda: libc.syscall(248, b"user", b"cloche-mark", b"mark", 4, -4) >= 0)
leave("session keyring", lambda: libc.syscall(248, b"user", b"cloche-mark", b"mark", 4, -5) >= 0)
named = socket.socket(socket.AF_UNIX)
leave("abstract", lambda: named.bind("\0cloche-mark"))
named.listen()
# One that nobody has open any more: it lies in a queue that only it could empty.
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
flying = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
leave("flying", lambda: flying.bind("\0cloche-flying"))
pair = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno(), other.fileno(), flying.fileno()]))]
one.sendmsg([b"x"], pair)
other.sendmsg([b"x"], pair)
for end in (one, other, flying):
    end.close()
os.environ["CLOCHE_MARK"] = "mark"
leave("umask", lambda: os.umask(0))
leave("limit", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (17, 17)))
leave("hostname", lambda: libc.sethostname(b"cloche-mark", 11) == 0)
leave("priority", lambda: os.nice(3))
leave("personality", lambda: libc.personality(0x0040000) >= 0)
leave("process", lambda: subprocess.Popen(["sleep", "61.4361"], start_new_session=True, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
if "full" in sys.argv:
    try:
        with open("/work/fill", "wb") as file:
            while True:
                file.write(b"x" * 65536)
    except OSError:
        pass
print(*left)
sys.stdout.flush()
os._exit(0 if {"/work", "abstract", "flying", "process"} <= set(left) else 1)
"""

# Prints whatever it finds that a fresh cell would not have.
LOOK = r"""
import ctypes, glob, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
found = []
for place in ("/work", "/tmp", "/home/guest", "/dev/shm", "/var/tmp", "/run", "", "/etc", "/usr", "/dev", "/sys", "/proc"):
    if os.path.lexists(place + "/cloche-mark"):
        found.append(place)
for name, call in (("shm", lambda: libc.shmget(0x436c, 0, 0)), ("msg", lambda: libc.msgget(0x436c, 0)),
                   ("sem", lambda: libc.semget(0x436c, 0, 0)), ("mq", lambda: libc.mq_open(b"/cloche-mark", 0)),
                   ("keyring", lambda: libc.syscall(249, b"user", b"cloche-mark", None, 0))):
    if call() >= 0:
        found.append(name)
for name in ("\0cloche-mark", "\0cloche-flying"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_UNIX, kind) as end:
            try:
                end.bind(name)
            except OSError:
                found.append(name[1:])
        with socket.socket(socket.AF_UNIX, kind) as end:
            try:
                end.connect(name)
                found.append("connected " + name[1:])
            except OSError:
                pass
if "CLOCHE_MARK" in os.environ:
    found.append("environment")
umask = os.umask(0)
pids = sorted(int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*"))
disk = os.statvfs("/work")
print(found)
print(oct(umask), resource.getrlimit(resource.RLIMIT_NOFILE), os.uname().nodename, os.nice(0), libc.personality(-1))
print(len(pids), sorted(os.listdir("/work")), sorted(os.listdir("/tmp")), sorted(os.listdir("/dev/shm")))
print(disk.f_bfree, disk.f_ffree, sorted(os.environ), sorted(os.listdir("/proc/self/fd"))[:3])
"""


class Isolation(KeeperCase):
    def look(self, *words):
        done = self.cloche("run", *words, "--", "python3", "-c", LOOK)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def leave(self, *words, options=()):
        done = self.run_here(*options, "--", "python3", "-c", LEAVE, *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_look_finds_what_leave_left(self):
        text = LEAVE[:LEAVE.index("os._exit")] + LOOK
        done = self.cloche("run", "--keeper", "never", "--", "python3", "-c", text)
        left, found = done.stdout.decode().splitlines()[:2]
        for name in left.split():
            if name.startswith("/") or name in ("shm", "msg", "sem", "mq", "keyring"):
                self.assertIn(f"'{name}'", found)
        for name in ("cloche-mark", "connected cloche-mark", "environment"):
            self.assertIn(f"'{name}'", found)

    def test_marks_of_a_run_are_in_no_later_one(self):
        fresh = self.look("--keeper", "never")
        self.assertTrue(fresh.startswith("[]\n"), fresh)
        self.start_keeper()
        for _ in range(RUNS):
            self.leave()
        for _ in range(RUNS):
            self.assertEqual(self.look("--keeper", "always"), fresh)
        for _ in range(RUNS):  # each beside the next
            self.leave()
            self.assertEqual(self.look("--keeper", "always"), fresh)
        counts = self.status()
        self.assertGreater(counts["served_parked"], RUNS)

    def test_marks_of_a_run_that_an_attendant_does_are_in_no_later_one(self):
        fresh = self.look("--keeper", "never")
        self.start_keeper(attendant=True)
        self.eventually(lambda: os.path.exists(os.path.join(self.place, "attendant")), "no attendant listens")
        for _ in range(RUNS):
            done = self.cloche("run", "--", "python3", "-c", LEAVE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.settle()
            self.assertEqual(self.look(), fresh)
            self.settle()
        self.assertGreaterEqual(self.status()["attended"], 2 * RUNS)

    def test_marks_in_a_blank_cell_are_in_no_later_one(self):
        fresh = self.look("--keeper", "never")
        self.start_keeper("--parked", "0")
        for _ in range(RUNS):
            self.leave()
            self.assertEqual(self.look("--keeper", "always"), fresh)
        self.assertEqual(self.status()["served_parked"], 0)

    def test_full_scratch_is_nobody_elses(self):
        self.start_keeper()
        small = ["--disk", "1M"]
        fresh = self.look("--keeper", "never", *small)
        for _ in range(4):
            self.leave("full", options=small)
            self.assertEqual(self.look("--keeper", "always", *small), fresh)

    def test_marks_of_a_run_that_goes_on(self):
        fresh = self.look("--keeper", "never")
        self.start_keeper()
        going = self.start("--keeper", "always", "--stdin", "--", "python3", "-c",
                           LEAVE.replace("os._exit", "sys.stdin.read(); os._exit"))
        going.stdout.readline()
        for _ in range(RUNS):
            self.assertEqual(self.look("--keeper", "always"), fresh)
        _, err = self.finish(going)
        self.assertEqual(going.returncode, 0, err)

    def test_times_of_the_hosts_devices_are_out_of_reach(self):
        """Anybody may write to the nodes, which is what setting their times takes."""
        touch = """
import os
for name in ("null", "zero", "full", "random", "urandom"):
    for way in ({}, {"ns": (1, 1)}):
        try:
            os.utime("/dev/" + name, **way)
            print("touched", name)
        except OSError:
            pass
with open("/dev/null", "w") as null:
    null.write("taken")
with open("/dev/zero", "rb") as zero:
    print(zero.read(2))
"""
        done = self.cloche("run", "--keeper", "never", "--", "python3", "-c", touch)
        self.assertEqual(done.stdout, b"b'\\x00\\x00'\n", done.stderr)
        self.start_keeper()
        for _ in range(3):
            self.assertEqual(self.run_here("--", "python3", "-c", touch).stdout, done.stdout)
            self.settle()

    def test_guest_sees_nothing_of_the_keeper(self):
        pid = self.start_keeper()
        self.park()
        text = "import os; print(os.path.exists('/proc/%d'), os.getpid() < 10, os.getppid(), " \
               "[os.readlink('/proc/self/fd/%%s' %% n).split(':')[0] for n in ('0', '1', '2')], " \
               "[n for n in os.listdir('/proc/self/fd') if int(n) > 3])" % pid
        done = self.parked_run("--", "python3", "-c", text)
        self.assertEqual(done.stdout.decode(), "False True 1 ['pipe', 'pipe', 'pipe'] []\n", done.stderr)
        done = self.run_here("--", "ls", self.place)
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(self.place, "keeper.sock")))
