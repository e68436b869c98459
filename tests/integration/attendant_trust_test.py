"""Whom an attendant serves, and whom a command trusts with what it has: each looks at the other."""
import os
import resource
import signal
import socket
import subprocess
import time

from attendant_case import AttendantCase
from cell import CLOCHE, LIMITS, TIMEOUT
from keeper_case import KeeperCase, await_true, lives
from turns import for_root

# Takes what is said to it at a name in a directory, and tells how much that was.
LISTENER = """
import os, socket, sys
os.chdir(sys.argv[1])
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.bind(sys.argv[2])
end.listen(8)
print("listens", flush=True)
while True:
    caller, _ = end.accept()
    words, files, _, _ = socket.recv_fds(caller, 4096, 8)
    print("got", len(words), len(files), flush=True)
    for file in files:
        os.close(file)
    caller.close()
"""

# How a run is asked for.
ASKS = """
import ctypes, os, socket, struct, sys, time
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
def ask():
    words = [b"run", *[word.encode() for word in sys.argv[2:]]]
    variables = [b"PATH=/usr/bin:/bin", b"HOME=" + os.environb[b"HOME"]]
    message = struct.pack("<QII", 0xc10ce00000000001, len(words), len(variables))
    message += b"".join(word + b"\\0" for word in words + variables)
    socket.send_fds(end, [message], files)
files = [os.open("/dev/null", os.O_RDWR), 1, os.open("/dev/null", os.O_RDWR), os.open("/", os.O_PATH), os.eventfd(1)]
"""

# A child of it connects and asks for a run; then it ends, and the socket stays open.
ASKER = ASKS + """
child = os.fork()
if child == 0:
    end.connect(sys.argv[1])
    ask()
    os._exit(0)
os.waitpid(child, 0)
print(child, flush=True)
time.sleep(1000)
"""

# Makes a process with this number.
NAMESAKE = """
import ctypes, os, struct, sys, time
number = ctypes.c_int(int(sys.argv[1]))
args = ctypes.create_string_buffer(struct.pack("<11Q", 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(number), 1, 0))
made = ctypes.CDLL(None, use_errno=True).syscall(435, args, 88)
if made == 0:
    time.sleep(1000)
if made > 0:
    print("there", flush=True)
    sys.stdin.read()
    os.kill(made, 9)
    os.waitpid(made, 0)
"""

PYTHON = "/usr/bin/python3"


class Listeners(KeeperCase):
    """A command that finds somebody at its keeper's place."""

    def told(self, name, prefix, *words):
        """What a listener behind these walls gets of a run, and that the run is done all the same."""
        os.makedirs(self.place, mode=0o700, exist_ok=True)
        listener = subprocess.Popen([*prefix, PYTHON, "-c", LISTENER, self.place, name], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(listener.stdout.readline(), "listens\n")
            done = subprocess.run([CLOCHE, "run", *LIMITS, *words, "--", "echo", "fine"], env=self.env, timeout=TIMEOUT,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
            self.assertEqual(done.stdout, b"fine\n", done.stderr)
        finally:
            listener.kill()
            out, _ = listener.communicate(timeout=TIMEOUT)
            os.unlink(os.path.join(self.place, name))
        return [line.split() for line in out.splitlines()]

    def walls(self):
        yield ["setpriv", "--no-new-privs"]
        yield ["unshare", "--user", "--map-root-user"]
        yield ["unshare", "--user", "--map-root-user", "--pid", "--kill-child"]
        if os.geteuid() == 0:
            yield ["unshare", "--mount"]
            yield ["setpriv", "--bounding-set", "-sys_time"]

    def test_one_behind_walls_is_handed_nothing(self):
        self.assertEqual([len(words) for words in self.told("attendant", [])], [3])
        self.assertNotEqual(self.told("attendant", [])[0][1:], ["0", "0"])  # one like us would be
        for prefix in self.walls():
            with self.subTest(prefix):
                for got in self.told("attendant", prefix):
                    self.assertEqual(got, ["got", "0", "0"])

    def test_one_in_a_place_that_is_open_to_others_is_handed_nothing(self):
        os.makedirs(self.place, mode=0o700, exist_ok=True)
        for mode in (0o755, 0o770, 0o701):
            with self.subTest(oct(mode)):
                os.chmod(self.place, mode)
                for got in self.told("attendant", []):
                    self.assertEqual(got, ["got", "0", "0"])
        os.chmod(self.place, 0o700)
        link = self.place + ".elsewhere"
        os.rename(self.place, link)
        os.symlink(link, self.place)
        for got in self.told("attendant", []):
            self.assertEqual(got, ["got", "0", "0"])

    def test_nor_asked_for_a_cell(self):
        for prefix in self.walls():
            with self.subTest(prefix):
                for got in self.told("keeper.sock", prefix, "--keeper", "auto"):
                    self.assertEqual(got, ["got", "0", "0"])


# Connects, goes elsewhere, and asks then; tells how its run ended.
LATE = ASKS + """
end.connect(sys.argv[1])
time.sleep(0.005)  # its patience is 0.1 s
CONFINE
ask()
print(end.recv(4), flush=True)
"""


class Late(AttendantCase):
    def ask_late(self, confine):
        await_true(lambda: os.path.exists(os.path.join(self.place, "attendant")))
        return subprocess.run([PYTHON, "-c", LATE.replace("CONFINE", confine), os.path.join(self.place, "attendant"), *LIMITS,
                               "--", "echo", "let in"], env={"HOME": self.folder}, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def test_one_that_goes_behind_walls_before_it_asks_is_not_served(self):
        self.start_attended()
        ways = {"pass": True, "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)": False}  # PR_SET_NO_NEW_PRIVS
        if os.geteuid() == 0:
            # Namespaces of mounts and networks; of those that come with a cell anyway nobody is kept from anything.
            ways |= {"ctypes.CDLL(None).unshare(0x20000)": False, "ctypes.CDLL(None).unshare(0x40000000)": False,
                     "os.chroot('/usr')": False, "os.setgroups([4242])": False}
        for confine, served in ways.items():
            with self.subTest(confine):
                # Where it was too slow, nobody listens to it any more, which says nothing.
                done = self.ask_late(confine)
                for _ in range(20):
                    if done.stdout and not (served and done.stdout == "b''\n"):
                        break
                    done = self.ask_late(confine)
                self.assertEqual(done.stdout, "let in\nb'\\x00\\x00\\x00\\x00'\n" if served else "b''\n", done.stderr)


class LongNames(AttendantCase):
    def test_a_place_whose_name_leaves_no_room_is_found_as_well(self):
        for size in (97, 98, 107):
            with self.subTest(size):
                self.place = self.path("x" * (size - len(self.path("x")) + 1))
                self.env["CLOCHE_KEEPER_DIR"] = self.place
                self.assertEqual(len(self.place), size)
                self.start_attended()
                self.assertEqual(self.attended_run("--", "echo", "fine").stdout, b"fine\n")
                self.end_keepers()


class Silent(AttendantCase):
    def test_nobody_waits_for_a_caller_that_says_nothing(self):
        pid = self.start_attended()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
            end.connect(os.path.join(self.place, "attendant"))
            # Whoever comes behind it is let go, or finds nobody, and does its run itself.
            for _ in range(3):
                self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
            self.assertEqual(end.recv(4), b"")
        await_true(lambda: os.path.exists(os.path.join(self.place, "attendant")))
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.assertEqual(self.status()["attendant"], pid)


class Numbers(AttendantCase):
    @for_root("nobody else can choose the number of a process")
    def test_whoever_has_ended_is_not_served_as_its_namesake(self):
        attendant = self.start_attended()
        before = self.attended()
        for prefix in ([], ["setpriv", "--no-new-privs"]):
            os.kill(attendant, signal.SIGSTOP)
            asker = subprocess.Popen([*prefix, PYTHON, "-c", ASKER, os.path.join(self.place, "attendant"), *LIMITS, "--",
                                      "echo", "let in"], env={"HOME": self.folder}, stdout=subprocess.PIPE, text=True)
            namesake = None
            try:
                number = asker.stdout.readline().strip()
                namesake = subprocess.Popen([PYTHON, "-c", NAMESAKE, number], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
                self.assertEqual(namesake.stdout.readline(), "there\n")
                os.kill(attendant, signal.SIGCONT)
                # It has sent that one away when it does the next run.
                await_true(lambda: os.path.exists(os.path.join(self.place, "attendant")))
                self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
            finally:
                os.kill(attendant, signal.SIGCONT)
                if namesake:
                    namesake.communicate("", timeout=TIMEOUT)
                asker.kill()
                out, _ = asker.communicate(timeout=TIMEOUT)
            self.assertNotIn("let in", out)
        self.settle()
        self.assertLessEqual(self.attended() - before, 2)


class Facts(AttendantCase):
    def test_facts_are_looked_at_again_when_a_run_is_over(self):
        attendant = self.start_attended()
        self.attended_run("--", "true")
        soft, hard = resource.prlimit(attendant, resource.RLIMIT_NOFILE)
        resource.prlimit(attendant, resource.RLIMIT_NOFILE, (soft - 8, hard))
        time.sleep(1.1)  # until they are not fresh any more
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")
        self.eventually(lambda: not lives(attendant), "an attendant goes by the facts of yesterday")
        self.assertEqual(self.plain("--", "echo", "fine").stdout, b"fine\n")


@for_root("only root can change what a host is")
class Hosts(AttendantCase):
    """Only root can change what a host is, in a mount namespace of its own."""

    def test_a_host_that_changed_is_planned_for_anew(self):
        zero = self.path("zero", "0\n")
        script = """set -e
            "$0" keeper start
            attended() { "$0" keeper status | sed -n 's/^attended //p'; }
            for i in $(seq 100); do test -e "$CLOCHE_KEEPER_DIR/attendant" && break; sleep 0.1; done
            "$0" run $LIMITS -- echo first
            for i in $(seq 100); do test "$(attended)" = 1 && break; sleep 0.1; done
            attended
            mount --bind "$ZERO" /proc/sys/user/max_user_namespaces
            "$0" run $LIMITS -- echo second || echo $?
            "$0" run --keeper never $LIMITS -- echo third || echo $?
            "$0" keeper stop"""
        env = dict(self.env, LIMITS=" ".join(LIMITS), ZERO=zero)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, CLOCHE], env=env, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.stdout, "first\n1\n126\n126\n", done.stderr)
