"""X4: attempts that do not show at first sight: datagrams, threads, handles, descriptors without a name."""
import os
import socket
import subprocess

from cell import output_of
from denials_case import KINDS, DenialCase

# Of a call that Python does not have: one message, sent to the address.
SENDMMSG = """
libc = ctypes.CDLL(None, use_errno=True)
def sendmmsg(s, address):
    name = ctypes.create_string_buffer(address, len(address))
    header = (ctypes.c_uint64 * 8)(ctypes.addressof(name), len(address))
    if libc.sendmmsg(s.fileno(), header, 1, 0) < 0: raise OSError(ctypes.get_errno(), "sendmmsg")
"""
TELLS_HOW_MANY = os.stat("/proc/self/fd").st_size != 0  # a kernel before 6.2 does not


class BehindAGateway(DenialCase):
    """The gateway sees connections and no processes; that one of the programs that ran asked is known."""
    LOOK_UP = """import socket
try: socket.create_connection(("denied.example", 443), 2)
except OSError: pass
"""

    def asked(self, *command):
        _, report = self.run_report("--allow-net", "allowed.example:443", "--", *command)
        return self.denial(report, "connect", "denied.example")["program"]

    def test_X4_the_program_that_asked(self):
        self.assertEqual(self.asked("/usr/bin/python3", "-c", self.LOOK_UP), os.path.basename(os.path.realpath("/usr/bin/python3")))

    def test_X4_one_of_those_that_ran(self):
        programs = [os.path.basename(os.path.realpath(name)) for name in ("/bin/sh", "/bin/cat", "/usr/bin/python3")]
        script = f"cat /dev/null; no-such-program; python3 - <<'END'\n{self.LOOK_UP}END\n"
        self.assertEqual(self.asked("/bin/sh", "-c", script), " or ".join(programs))


class Datagrams(DenialCase):
    def setUp(self):
        super().setUp()
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.server.close)
        self.log = os.path.join(self.place, "log")
        self.server.bind(self.log)
        os.chmod(self.log, 0o777)

    def test_X4_sent_to_a_socket_of_the_host(self):
        body = SENDMMSG + f"""
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
attempt(lambda: s.sendto(b"x", {self.log!r}))
attempt(lambda: s.sendto(b"x", "\\0nobody"))
attempt(lambda: sendmmsg(s, b"\\1\\0\\0somebody"))
attempt(lambda: s.sendmsg([b"x"], [], 0, "\\0everybody"))
a, b = socket.socketpair()
a.sendmsg([b"x"]); a.send(b"y"); print(b.recv(9))
"""
        answers = set()
        for level in ("off", "calls", "files", "all"):
            _, report = self.python("--observe", level, body=body)
            answers.add(output_of(report))
            found = {d["detail"] for d in report["denials"] if d["what"] == "connect"}
            wanted = {self.log, "@nobody", "@somebody"} if level != "off" else set()
            self.assertEqual(found, wanted | ({"@everybody"} if level == "all" else set()), level)
        self.assertEqual(answers, {"2\n111\n111\n111\nb'xy'\n"})
        denial = self.denial(report, "connect", self.log)
        self.assertEqual((denial["allow"], denial["never"]), ("", "it takes datagrams, and only streams can be granted"))

    def test_X4_sent_to_an_address(self):
        body = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt(lambda: s.sendto(b"x", ("192.0.2.7", 53)))
t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
t.bind(("127.0.0.1", 0))
attempt(lambda: s.sendto(b"x", t.getsockname()))
"""
        _, report = self.python("--set", "net.loopback=true", body=body)
        self.assertEqual(output_of(report), "101\nok\n")
        self.assertEqual([d["detail"] for d in report["denials"] if d["what"] == "connect"], ["192.0.2.7:53"])

    def test_X4_answers_to_a_name_that_the_kernel_chose_are_no_denial(self):
        body = """
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); server.bind("/tmp/server")
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); client.bind("")
client.sendto(b"question", "/tmp/server")
_, whom = server.recvfrom(99)
attempt(lambda: server.sendto(b"answer", whom))
"""
        _, report = self.python(body=body)
        self.assertEqual(output_of(report), "ok\n")
        self.assertEqual([d for d in report["denials"] if d["what"] == "connect"], [])

    def test_X4_a_socket_whose_address_is_as_long_as_one_of_the_network(self):
        # Two bytes of family, and the name: 16 and 28 are what IPv4 and IPv6 have.
        names = ["@" + "n" * (size - 3) for size in (16, 28)]
        body = f"for name in {names!r}: attempt(lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + name[1:]))\n"
        _, report = self.python("--allow-net", "api.example.org:443", body=body)
        self.assertEqual(output_of(report), "111\n111\n")
        for name in names:
            self.assertTrue(self.denial(report, "connect", name)["never"])


class Processes(DenialCase):
    def test_X4_signals_to_a_group_of_the_host(self):
        victim = subprocess.Popen(["sleep", "60"], start_new_session=True)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        body = f"""
import time
attempt(lambda: os.killpg({victim.pid}, 15))
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    time.sleep(60)
time.sleep(0.3)
attempt(lambda: os.killpg(child, 15))
"""
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, body=body)
                self.assertEqual(output_of(report), f"{1 if kind == 'process' else 3}\nok\n")
                if kind == "process" or victim.pid > 11_000:
                    self.assertEqual(self.told(report, "signal"), [("signal", f"15 to process group {victim.pid}")])
                self.assertIsNone(victim.poll())

    def test_X4_signals_to_threads_and_by_handles(self):
        victim = subprocess.Popen(["sleep", "60"])
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        body = f"""
import threading
libc = ctypes.CDLL(None)
print(libc.syscall(234, {victim.pid}, {victim.pid}, 12))
print(libc.syscall(234, os.getpid(), threading.get_native_id(), 0))
attempt(lambda: signal_by_handle(os.pidfd_open({victim.pid})))
attempt(lambda: signal_by_handle(os.pidfd_open(child)))
os.waitpid(child, 0)
"""
        body = """
import signal
def signal_by_handle(handle): signal.pidfd_send_signal(handle, 10)
child = os.fork()
if child == 0:
    signal.pause()
""" + body
        if os.uname().machine != "x86_64":
            body = body.replace("234", "131")
        for kind, options in KINDS.items():
            with self.subTest(kind):
                _, report = self.python(*options, body=body)
                ends = output_of(report).splitlines()
                self.assertEqual((ends[0], ends[1], ends[3]), ("-1", "0", "ok"), output_of(report))
                self.assertIsNone(victim.poll())
                found = {d["detail"] for d in report["denials"] if d["what"] == "signal"}
                if kind == "process":  # there the handle can be had, and threads are told of with `all` alone
                    wanted = {f"10 to process {victim.pid}"}
                elif victim.pid > 11_000:
                    wanted = {f"12 to process {victim.pid}", f"handle on process {victim.pid}"}
                else:
                    wanted = found
                self.assertEqual(found, wanted)
                if kind == "process":
                    _, report = self.python(*options, "--observe", "all", body=body)
                    self.assertTrue(self.denial(report, "signal", f"12 to process {victim.pid}")["never"])


class Descriptors(DenialCase):
    MAKERS = {
        "socket": "socket.socket(socket.AF_UNIX)",
        "pair": "socket.socketpair()",
        "pipe": "os.pipe()",
        "dup": "os.dup(0)",
        "fcntl": "fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)",
        "eventfd": "os.eventfd(0)",
        "epoll": "select.epoll()",
        "memfd": "os.memfd_create('x')",
    }

    def limits(self, report):
        return [d for d in report["denials"] if d["what"] == "limit"]

    def test_X4_a_limit_that_calls_without_a_name_meet(self):
        if not TELLS_HOW_MANY:
            self.skipTest("fact missing: this kernel does not tell how many files a process has open")
        for name, make in self.MAKERS.items():
            with self.subTest(name):
                body = f"""
import fcntl, select
held, refused = [], 0
for n in range(80):
    try: held.append({make})
    except OSError as e: refused += e.errno == 24
print(refused)
"""
                _, report = self.python("--observe", "all", "--files", "64", "--set", "files.exec_writable=true", body=body)
                limits = self.limits(report)
                self.assertEqual([d["allow"] for d in limits], ["limits.files = 128  # and leave out --files, or raise it"])
                self.assertEqual(limits[0]["count"], int(output_of(report)))
                self.assertGreater(limits[0]["count"], 10)

    def test_X4_below_all_it_shows_by_the_use_of_the_last_one(self):
        if not TELLS_HOW_MANY:
            self.skipTest("fact missing: this kernel does not tell how many files a process has open")
        uses = {
            "connect": "held.append(socket.socket(socket.AF_UNIX)); held[-1].connect_ex('/tmp/none')",
            "option": "held.append(socket.socket(socket.AF_UNIX)); held[-1].setsockopt(1, 9, 1)",
            "accept": "c = socket.socket(socket.AF_UNIX); held.append(c); c.connect('/tmp/own'); held.append(server.accept())",
            "blocking": "held.append(os.dup(0)); os.set_blocking(held[-1], True)",
            "close": "held.append(os.dup(0))",
        }
        for name, use in uses.items():
            with self.subTest(name):
                body = f"""
held = []
if {name!r} == "accept":
    server = socket.socket(socket.AF_UNIX); server.bind("/tmp/own"); server.listen()
for n in range(COUNT):
    try: {use}
    except OSError as e: assert e.errno == 24, e
if {name!r} == "close":
    for one in reversed(held): os.close(one)
"""
                _, report = self.python("--observe", "calls", "--files", "64", body=body.replace("COUNT", "80"))
                self.assertEqual([(d["allow"], d["detail"]) for d in self.limits(report)],
                                 [("limits.files = 128  # and leave out --files, or raise it", "limits.files: as many open as allowed")])
                _, report = self.python("--observe", "calls", "--files", "64", body=body.replace("COUNT", "20"))
                self.assertEqual(self.limits(report), [])

    def test_X4_a_last_number_in_use_is_no_sign_while_others_are_free(self):
        body = "os.dup2(0, 63)\nos.set_blocking(63, True)\nos.close(63)\nos.closerange(3, 64)\n"
        _, report = self.python("--files", "64", body=body)
        self.assertEqual(self.limits(report), [])
