"""How much goes through the gateway, what becomes of a run whose gateway dies, and what the kernel says of that process."""
# needs: a network of its own
import ctypes
import json
import os
import signal
import struct
import time

from cell import TIMEOUT, mark, processes_with
from keeper_case import children_of, lives
from network_case import PRELUDE, NetworkCase, gateways_of
from network_world import ECHO

MIB = 1 << 20

# Asks for much on many connections and reads none of it; greets and goes; asks for names and sends datagrams at once.
FLOOD = r"""
import time
held = []
for number in range(200):
    for where in (("allowed.test", 80), PROXY):
        s = socket.create_connection(where)
        s.sendall(get("allowed.test", "http://allowed.test/big/4000000"))
        held.append(s)
half = b"GET /" + b"x" * 7000
for number in range(300):
    s = socket.create_connection(("allowed.test", 80))
    s.sendall(half if number % 3 else b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + b"q" * 9000)
    held.append(s)
for number in range(500):
    socket.create_connection(("allowed.test", 80)).close()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for number in range(20000):
        try:
            s.sendto(b"\0\7\1\0\0\1\0\0\0\0\0\0\5x%04d\4test\0\0\1\0\1" % (number % 10000), ("127.0.0.1", 53))
            s.sendto(b"x", ("93.184.216.11", 1000 + number))
        except OSError:
            pass
print("flooded", flush=True)
sys.stdin.read(1)
for s in held: s.close()
attempt("after", say, ("allowed.test", 80), get("allowed.test"))
print(results["after"].splitlines()[-1])
"""
READ_ALL = r"""
s = socket.create_connection((HOST, 80))
s.sendall(b"GET /big/60000000 HTTP/1.1\r\nHost: " + HOST.encode() + b"\r\n\r\n")
total = 0
while part := s.recv(65536):
    total += len(part)
    print(total, flush=True)
"""
WRITE_ALL = r"""
s = socket.create_connection((HOST, 80))
s.sendall(b"POST / HTTP/1.1\r\nHost: " + HOST.encode() + b"\r\nContent-Length: 60000000\r\n\r\n")
for i in range(600):
    s.sendall(b"y" * 100000)
print("all of it")
"""
HOLD = r"""
s = socket.create_connection(("allowed.test", 9000))
s.sendall(b"\1ready")
print(read_all(s, b"ready").decode(), flush=True)
import time
time.sleep(30)
"""
MANY = r"""
import resource, selectors
COUNT = 1000
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
poll = selectors.DefaultSelector()
sockets = []
for number in range(COUNT):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("allowed.test" if number % 2 else "93.184.216.20", 9000))
    sockets.append(s)
    poll.register(s, selectors.EVENT_WRITE, number)
def echo_all(word):
    waiting, got = set(range(COUNT)), {n: b"" for n in range(COUNT)}
    for n, s in enumerate(sockets):
        poll.modify(s, selectors.EVENT_WRITE, n)
    while waiting:
        ready = poll.select(20)
        if not ready:
            return "lost %d of them" % len(waiting)
        for key, _ in ready:
            n, s = key.data, key.fileobj
            want = b"\1%s %d;" % (word, n)
            if key.events == selectors.EVENT_WRITE:
                s.sendall(want)
                poll.modify(s, selectors.EVENT_READ, n)
                continue
            part = s.recv(4096)
            if not part:
                return "connection %d ended" % n
            got[n] += part
            if got[n].endswith(b";"):
                if got[n] != want:
                    return "connection %d got what was not its own" % n
                waiting.discard(n)
                poll.modify(s, selectors.EVENT_READ, n)
    return "all"
results = [echo_all(b"one")]
print(results[0], flush=True)
sys.stdin.read(1)
print(echo_all(b"two"), flush=True)
"""


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return {key: value.split() for key, value in (line.split(":", 1) for line in file)}


def scheduling_of(pid):
    """Policy, nice value, and nanoseconds of a turn (0: the kernel does not say)."""
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    attributes = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None, use_errno=True).syscall(number, pid, attributes, 48, 0) != 0:
        raise OSError(ctypes.get_errno(), "sched_getattr")
    _, policy, _, nice, _, turn, _, _ = struct.unpack("=IIQiIQQQ", attributes.raw)
    return policy, nice, turn


class NetworkLimits(NetworkCase):
    def limited(self, code, limit, wall="30s"):
        return self.run_report("--wall", wall, *self.rules(("allowed.test:80", "93.184.216.20:80")), "--set",
                               "net.limits." + limit, "--", "/usr/bin/python3", "-c", PRELUDE + code)

    def assert_limit(self, done, report, key):
        outcome = report["outcome"]
        self.assertEqual((outcome["kind"], outcome["exit_code"], done.returncode), ("network", 137, 137), outcome)
        self.assertIn(key, outcome["message"])
        self.assertEqual(outcome["limit"], key)
        self.assertIn("raise " + key, done.stderr.decode())

    def test_bytes_in(self):
        for host in ("allowed.test", "93.184.216.20"):  # by a reader of HTTP, and by none
            with self.subTest(host=host):
                done, report = self.limited(f"HOST = {host!r}\n" + READ_ALL, "bytes_in=1M")
                self.assert_limit(done, report, "net.limits.bytes_in")
                # On a busy machine it is over before the guest has read anything.
                self.assertLess(max(map(int, done.stdout.split()), default=0), 2 * MIB)
                self.assertLess(report["network"]["bytes_in"], 2 * MIB)
                self.assertIn("net.limits.bytes_in was reached", " ".join(self.reasons(report, "allowed")))

    def test_bytes_out(self):
        for host in ("allowed.test", "93.184.216.20"):
            with self.subTest(host=host):
                self.world.forget()
                done, report = self.limited(f"HOST = {host!r}\n" + WRITE_ALL, "bytes_out=1M")
                self.assert_limit(done, report, "net.limits.bytes_out")
                self.assertNotIn(b"all of it", done.stdout)
                self.assertLess(report["network"]["bytes_out"], 2 * MIB)
                self.assertLess(len(self.world.bytes_at()), 2 * MIB)

    def test_bytes_out_counts_what_comes_with_the_first_words(self):
        post = 'b"POST / HTTP/1.1\\r\\nHost: allowed.test\\r\\nContent-Length: 15000\\r\\n\\r\\n" + b"A" * 15000'
        for where, how in (('("allowed.test", 80)', post), ("PROXY", post.replace("POST /", "POST http://allowed.test/"))):
            with self.subTest(where=where):
                self.world.forget()
                done, report = self.limited(f'for i in range(20):\n    attempt("x", say, {where}, {how})\n', "bytes_out=1K")
                self.assert_limit(done, report, "net.limits.bytes_out")
                self.assertGreater(report["network"]["bytes_out"], 1024)
                # On a busy machine the head may go before the rest is counted.
                self.assertLessEqual(len(self.world.bytes_at()), 1024, "a limit is not for what has gone")

    def test_connections(self):
        code = """
for number in range(20):
    attempt(str(number), say, ("allowed.test", 80), get("allowed.test"))
    print(results[str(number)].splitlines()[-1], flush=True)
"""
        done, report = self.limited(code, "connections=5")
        self.assert_limit(done, report, "net.limits.connections")
        self.assertEqual(done.stdout.decode().count("hello from"), 5)
        self.assertEqual(len(self.world.arrived), 5)
        # As many as are allowed are no reason to end.
        done, report = self.limited(code.replace("range(20)", "range(5)"), "connections=5")
        self.assertEqual(report["outcome"]["kind"], "exited", report["outcome"])

    def test_N8_the_receipt_has_what_the_gateway_keeps_to(self):
        def row(*words):
            done, report = self.run_report(*self.rules(("allowed.test:80",)), *words, "--", "/bin/true")
            self.assertEqual(done.returncode, 0, done.stderr)
            return [line for line in report["receipt"] if line["guarantee"] == "traffic"]

        self.assertEqual(row(), [])
        for key, value, told in (("bytes_in", "10M", "bytes_in 10M"), ("bytes_out", "2K", "bytes_out 2K"),
                                 ("connections", "5", "connections 5"), ("rate", "300K", "rate 300K a second")):
            line, = row("--set", f"net.limits.{key}={value}")
            self.assertEqual((line["standing"], line["evidence"]), ("held", "the gateway's meter has " + told))
            self.assertIn("gateway", line["mechanism"])
        line, = row("--set", "net.limits.connections=5", "--set", "net.limits.bytes_in=1M")
        self.assertEqual(line["evidence"], "the gateway's meter has bytes_in 1M, connections 5")

    def test_what_is_denied_is_no_connection(self):
        code = 'for number in range(9):\n    attempt("x", say, ("93.184.216.11", 80), get("x"))\nprint("through")\n'
        done, report = self.limited(code, "connections=1")
        self.assertEqual((done.returncode, done.stdout), (0, b"through\n"))
        self.assertEqual(report["network"]["denied_total"], 9)

    def test_rate(self):
        wall = 3
        for host in ("allowed.test", "93.184.216.20"):
            with self.subTest(host=host):
                _, report = self.limited(f"HOST = {host!r}\n" + READ_ALL, "rate=200K", f"{wall}s")
                self.assertEqual(report["outcome"]["kind"], "wall", report["outcome"])
                # A slow machine takes longer until its clock has run out.
                self.assertLess(report["network"]["bytes_in"], 2 * 200 * 1024 * max(wall, report["usage"]["wall_ms"] / 1000))
                self.assertGreater(report["network"]["bytes_in"], 0)

    def test_many_connections_at_once(self):
        report_path = self.path("report.json")
        process = self.start("--wall", "60s", "--files", "4096", "-i", "--report", report_path,
                             *self.rules((f"allowed.test:{ECHO}", f"93.184.216.20:{ECHO}")), "--", "/usr/bin/python3", "-c",
                             PRELUDE + MANY)
        self.assertEqual(process.stdout.readline(), b"all\n")
        gateway, = gateways_of(process.pid)
        self.assertEqual(len(self.world.arrivals(port=ECHO)), 1000)
        if not os.environ.get("SANITIZED"):
            self.assertLess(int(status_of(gateway)["VmHWM"][0]), 200 * 1024)
        out, err = process.communicate(b"x", timeout=TIMEOUT)
        self.assertEqual(out, b"all\n", err)
        with open(report_path, encoding="ascii") as file:
            report = json.load(file)
        self.assertEqual((report["network"]["connections_total"], report["network"]["denied_total"]), (1000, 0))
        self.assertLessEqual(len(report["network"]["connections"]), 1000)

    def test_floods(self):
        path = self.path("report.json")
        process = self.start("--wall", "60s", "--files", "4096", "-i", "--report", path, *self.rules(("allowed.test:80",)), "--",
                             "/usr/bin/python3", "-c", PRELUDE + FLOOD)
        self.assertEqual(process.stdout.readline(), b"flooded\n")
        gateway, = gateways_of(process.pid)
        if not os.environ.get("SANITIZED"):
            self.assertLess(int(status_of(gateway)["VmHWM"][0]), 200 * 1024)
            self.assertLess(int(status_of(process.pid)["VmHWM"][0]), 200 * 1024)
        out, err = process.communicate(b"x", timeout=TIMEOUT)
        self.assertEqual(out, b"hello from 93.184.216.10:80/\n", err)
        with open(path, encoding="ascii") as file:
            report = json.load(file)
        self.assertGreaterEqual(len(report["network"]["connections"]), 1000)
        self.assertLessEqual(len(report["network"]["connections"]), 1500)  # refused places behind the first 1000
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.10"})

    def test_much_arrives_whole(self):
        code = r"""
import hashlib
data = bytes(range(256)) * 16384
def both_ways(where):
    import threading
    with socket.create_connection(where) as s:
        sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
        sender.start()
        got = read_all(s)
        sender.join()
        return got == data
attempt("name", both_ways, ("allowed.test", 9000))
attempt("address", both_ways, ("93.184.216.20", 9000))
def fetch(s, target):
    with s:
        s.sendall(get("allowed.test", target))
        return len(read_all(s).split(b"\r\n\r\n", 1)[1])
attempt("http", fetch, socket.create_connection(("allowed.test", 80)), "/big/8000000")
attempt("proxy", fetch, socket.create_connection(PROXY), "http://allowed.test/big/8000000")
attempt("tunnel", fetch, tunnel("allowed.test:80"), "/big/8000000")
"""
        results, report = self.guest(code, ("allowed.test:80", f"allowed.test:{ECHO}", f"93.184.216.20:{ECHO}"))
        self.assertEqual(results, {"name": True, "address": True, "http": 8000000, "proxy": 8000000, "tunnel": 8000000})
        counts = [(c["bytes_in"], c["bytes_out"]) for c in report["network"]["connections"] if c["port"] == ECHO]
        self.assertEqual(counts, [(4 * MIB, 4 * MIB)] * 2)
        self.assertGreater(report["network"]["bytes_in"], 24000000 + 8 * MIB)

    def test_the_report_is_bounded(self):
        code = """
for number in range(1500):
    attempt("x", say, ("93.184.%d.%d" % (100 + number // 250, number % 250), 80), get("x"))
for number in range(50):
    attempt("x", say, ("93.184.100.1", 81), get("x"))
attempt("x", say, ("allowed.test", 80), get("allowed.test"))
"""
        _, report = self.guest(code, ("allowed.test:80",))
        network = report["network"]
        self.assertEqual((network["connections_total"], network["denied_total"]), (1551, 1550))
        # Refusals cost a guest nothing: they do not push out of the report what was allowed.
        self.assertEqual(len(network["connections"]), 501)
        self.assertEqual(network["connections"][-1]["verdict"], "allowed")
        self.assertEqual(len(self.world.arrived), 1)

    def test_the_same_refusal_is_told_once(self):
        code = 'for number in range(30):\n    attempt("x", say, ("93.184.216.11", 81), get("x"))\n'
        _, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual([(c["port"], c["count"]) for c in report["network"]["connections"]], [(81, 30)])

    def test_a_question_to_another_nameserver_is_told(self):
        code = """
for where in ("8.8.8.8", "2001:db8::1"):
    with socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, socket.SOCK_DGRAM) as s:
        attempt(where, s.sendto, b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\5other\\4test\\0\\0\\1\\0\\1", (where, 53))
"""
        _, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual({(c["address"], c["port"], c["verdict"]) for c in report["network"]["connections"]},
                         {("8.8.8.8", 53, "denied"), ("2001:db8::1", 53, "denied")})

    def test_events(self):
        path = self.path("events")
        code = 'attempt("a", say, ("allowed.test", 80), get("allowed.test"))\nattempt("b", say, ("93.184.216.11", 80), get("x"))\n'
        _, report = self.guest(code, ("allowed.test:80",), (), ("--events", path))
        with open(path, encoding="ascii") as file:
            events = [json.loads(line) for line in file]
        self.assertEqual([e["event"] for e in events], ["start", "opened", "closed", "closed", "end"], events)
        self.assertEqual((events[1]["name"], events[1]["address"], events[1]["port"]), ("allowed.test", "93.184.216.10", 80))
        self.assertEqual((events[2]["verdict"], events[3]["verdict"]), ("allowed", "denied"))
        self.assertGreater(events[2]["bytes_in"], 0)
        self.assertEqual((events[-1]["connections_total"], events[-1]["denied_total"], events[-1]["lost"]), (2, 1, 0))
        self.assertEqual(events[-1]["run"], report["id"])

    # The process itself.

    def holding(self, *more, **how):
        """A run that has a connection open, and its gateway."""
        process = self.start("--wall", "60s", *self.rules((f"allowed.test:{ECHO}",)), *more, "--", "/usr/bin/python3", "-c",
                             PRELUDE + HOLD, **how)
        self.assertEqual(process.stdout.readline(), b"\1ready\n")
        gateway, = gateways_of(process.pid)
        return process, gateway

    def wait_gone(self, pids):
        deadline = time.monotonic() + TIMEOUT
        while any(lives(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual([pid for pid in pids if lives(pid)], [])

    def test_a_gateway_that_is_killed_ends_the_run(self):
        path = self.path("report.json")
        process, gateway = self.holding("--report", path)
        cell = children_of(process.pid)
        os.kill(gateway, signal.SIGKILL)
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 125, err)
        with open(path, encoding="ascii") as file:
            outcome = json.load(file)["outcome"]
        self.assertEqual((outcome["kind"], outcome["step"]), ("failed", "gateway"), outcome)
        self.wait_gone(cell)

    def test_an_engine_that_is_killed_leaves_nobody(self):
        word = mark()
        process = self.start("--wall", "60s", *self.rules((f"allowed.test:{ECHO}",)), "--", "/usr/bin/python3", "-c",
                             PRELUDE + HOLD, word)
        self.assertEqual(process.stdout.readline(), b"\1ready\n")
        gateway, = gateways_of(process.pid)
        mine = {gateway, *children_of(process.pid), *(pid for pid in processes_with(word) if pid != process.pid)}
        self.assertGreaterEqual(len(mine), 3)  # gateway, init, guest
        process.kill()
        process.wait(TIMEOUT)
        self.wait_gone(mine)

    def test_a_run_that_ends_takes_its_gateway_along(self):
        process, gateway = self.holding()
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(lives(gateway))

    def test_what_the_kernel_says_of_the_gateway(self):
        _, gateway = self.holding()
        status = status_of(gateway)
        self.assertNotIn("0", status["Uid"] + status["Gid"])
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"], status["Threads"]), (["2"], ["1"], ["1"]))
        for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[key][0], 16), 0, key)
        if os.geteuid() == 0:
            self.assertEqual(status["Groups"], [])
            self.assertNotEqual(status["Uid"][0], str(os.geteuid()))
        self.assertGreater(len(status["NSpid"]), 1)
        self.see_inside(gateway)

    def test_a_gateway_has_longer_turns_and_every_cpu_of_its_engine(self):
        """Also where its guest has fewer."""
        process, gateway = self.holding("--cpus", "1")
        policy, nice, turn = scheduling_of(gateway)
        its_policy, its_nice, its_turn = scheduling_of(process.pid)
        self.assertEqual((policy, nice), (its_policy, its_nice))
        self.assertEqual(policy, os.SCHED_OTHER)
        self.assertEqual(os.sched_getaffinity(gateway), os.sched_getaffinity(process.pid))
        if its_turn != 0:  # from Linux 6.12 on the kernel knows turns of a process's own
            self.assertEqual(turn, 20_000_000)

    def test_a_gateway_keeps_what_was_chosen_for_its_engine(self):
        def choose():
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            os.nice(3)
        _, gateway = self.holding(preexec_fn=choose)
        policy, nice, turn = scheduling_of(gateway)
        self.assertEqual((policy, nice), (os.SCHED_BATCH, scheduling_of(0)[1] + 3))
        self.assertNotEqual(turn, 20_000_000)
        self.assertEqual(os.sched_getaffinity(gateway), {max(os.sched_getaffinity(0))})

    def see_inside(self, gateway):
        try:
            numbers = os.listdir(f"/proc/{gateway}/fd")
        except PermissionError:
            self.assertNotEqual(os.geteuid(), 0)  # only root may look
            return
        for name in ("user", "mnt", "pid", "ipc", "uts"):
            self.assertNotEqual(os.readlink(f"/proc/{gateway}/ns/{name}"), os.readlink(f"/proc/self/ns/{name}"), name)
        self.assertEqual(os.readlink(f"/proc/{gateway}/ns/net"), os.readlink("/proc/self/ns/net"))
        self.assertEqual(os.listdir(f"/proc/{gateway}/root"), [])
        self.assertEqual(os.readlink(f"/proc/{gateway}/cwd"), "/")
        with open(f"/proc/{gateway}/mountinfo", encoding="utf-8") as file:
            mounts = file.read().splitlines()
        self.assertEqual(len(mounts), 1, mounts)
        self.assertIn(" / / ro,", mounts[0])
        files = {os.readlink(f"/proc/{gateway}/fd/{number}") for number in numbers}
        self.assertLessEqual({f for f in files if f.startswith("/")}, {"/dev/null", "/null"})
        with open(f"/proc/{gateway}/environ", "rb") as file:
            self.assertEqual(file.read(), b"")
