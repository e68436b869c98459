"""Attacks on the gateway that once got through: what a guest hides, what it leaves behind, what it makes others hold."""
# needs: a network of its own
import contextlib
import json
import os
import socket
import threading
import time

from cell import end_accepting
from keeper_case import await_true
from network_case import QUESTIONS, TLS_CLIENT, WAYS_TO, NetworkCase, gateways_of
from network_world import ECHO, RAW, RETRY

ENDLESS = 8100
SLOW = 8200
MIB = 1024  # in the kernel's kB
MOST_SENT = 64 << 20  # far more than all buffers on the way hold

WAYS = WAYS_TO.format(port=RAW)


def peak_of(pid):
    """The most memory that a process has held, in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


class Answers:
    """Answers of HTTP that do not end by themselves. `over` is set when the server sees its client go."""

    def __init__(self, port, pause):
        self.pause = pause  # between two pieces; None: there is only a head
        self.sent = 0
        self.over = threading.Event()
        self.listener = socket.create_server(("93.184.216.10", port))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        end_accepting(self.listener, self.thread)

    def serve(self):
        try:
            caller, _ = self.listener.accept()
        except OSError:
            return
        with caller:
            caller.recv(65536)
            try:
                caller.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" + b"x" * 1024 + b"\r\n")
                if self.pause is None:
                    caller.recv(1)
                while self.pause is not None and self.sent < MOST_SENT:
                    caller.sendall((b"400\r\n" + b"x" * 1024 + b"\r\n") * 16)
                    self.sent += 1024 * 16
                    time.sleep(self.pause)
            except OSError:
                pass
        if self.sent < MOST_SENT:
            self.over.set()


class GatewayAttacks(NetworkCase):
    # What is hidden from the check of names.

    def test_records_before_a_greeting(self):
        """Some servers pass over an alert before the greeting; then the greeting behind it counts."""
        code = TLS_CLIENT + WAYS + r"""
def greet(way, data):
    with ways[way]() as s:
        s.sendall(data)
        return s.recv(100)
for way in ways:
    for kind in range(0x14, 0x1b):
        if kind != 0x16:
            attempt("%s %02x" % (way, kind), greet, way, bytes([kind]) + b"\3\1\0\2\1\x5a" + hello("other.test"))
    attempt(way + " good", greet, way, hello("allowed.test"))
"""
        results, report = self.guest(code, (f"allowed.test:{RAW}",))
        for key, got in results.items():
            with self.subTest(records=key):
                (self.assertIn if key.endswith("good") else self.assertNotIn)("taken", got)
        self.assertEqual(len(results), 21)
        self.assertEqual(self.world.bytes_at().count(b"other.test"), 0)
        self.assertEqual(report["network"]["denied_total"], 18)

    def test_a_second_greeting_right_behind_the_first(self):
        """The server asks again, and what it then reads was there already."""
        code = TLS_CLIENT + f"""
def twice(how):
    second = hello("other.test")
    if how == "early": second = bytes.fromhex("140303000101") + b"\\x17\\3\\3\\0\\x20" + b"E" * 32 + second
    with socket.create_connection(("allowed.test", {RETRY})) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if how == "pieces":
            s.sendall(hello("allowed.test"))
            s.sendall(second)
        else:
            s.sendall(hello("allowed.test") + second)
        return read_all(s)
for how in ("whole", "pieces", "early"):
    attempt(how, twice, how)
"""
        results, report = self.guest(code, (f"allowed.test:{RETRY}",))
        self.assertEqual(sorted(results), ["early", "pieces", "whole"])
        arrived = self.world.arrivals(port=RETRY)
        self.assertEqual([bytes(a.data).count(b"allowed.test") for a in arrived], [1, 1, 1])
        self.assertEqual(self.world.bytes_at().count(b"other.test"), 0)
        self.assertEqual(self.world.bytes_at().count(b"E" * 32), 0)
        self.assertEqual(report["network"]["denied_total"], 3)
        self.assertIn("other.test", " ".join(self.reasons(report)))

    # What is left behind.

    def test_a_client_that_goes_ends_its_exchange(self):
        """Else its server is drained to nowhere, beside every limit, and the connection is never given back."""
        cases = {"much, closed": (0, 0), "much, reset": (0, 1), "events, closed": (0.05, 0), "silence, reset": (None, 1)}
        for number, (key, (pause, reset)) in enumerate(cases.items()):
            with self.subTest(answer=key):
                port = ENDLESS + number
                server = Answers(port, pause)
                self.addCleanup(server.close)
                process, _ = self.begin(f"""
s = socket.create_connection(("allowed.test", {port}))
s.sendall(get("allowed.test:{port}"))
s.recv(1000)
if {reset}: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
print("gone", flush=True)
sys.stdin.read()
""", *self.rules((f"allowed.test:{port}",)))
                self.assertTrue(server.over.wait(8), f"the server has sent {server.sent} bytes to nobody")
                self.end(process)

    def hold(self, *words):
        """A connection by a name that leads inside, and one by a name that does not."""
        self.world.zone["inner.test"] = ["10.9.9.9"]
        process, line = self.begin(f"""
def dial(name):
    s = socket.create_connection((name, {ECHO}), timeout=30)
    s.sendall(b"\\1hi")
    return s, s.recv(10)
inner, first = dial("inner.test")
outer, second = dial("allowed.test")
print(len(first + second), flush=True)
try: said = inner.recv(10)
except ConnectionError: said = b""
except TimeoutError: said = b"still open"
outer.sendall(b"\\1on")
print(json.dumps([said.decode(), outer.recv(10).decode()]))
""", *self.rules((f"allowed.test:{ECHO}", f"inner.test:{ECHO}")), *words)
        self.assertEqual(int(line), 6)
        return process

    def test_revoking_an_address_closes_what_a_name_led_to(self):
        process = self.hold("--allow-net", f"10.0.0.0/8:{ECHO}")
        with open(self.path("events"), encoding="utf-8") as file:
            run = json.loads(file.readline())["run"]
        done = self.cloche("revoke", run, "host", f"10.0.0.0/8:{ECHO}")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        out, _ = self.end(process)
        self.assertEqual(json.loads(out), ["", "\1on"])

    def test_the_lease_of_an_address_closes_what_a_name_led_to(self):
        out, _ = self.end(self.hold("--allow-net", f"10.0.0.0/8:{ECHO},for=3s"))
        self.assertEqual(json.loads(out), ["", "\1on"])

    def still_knocking(self):
        """How many connections in this network wait for an answer."""
        with open("/proc/net/tcp", encoding="ascii") as file:
            return sum(line.split()[3] == "02" for line in list(file)[1:])  # SYN_SENT

    def knock(self, port, *words):
        """A guest whose connection, by a name that leads inside, is not answered before the service takes callers."""
        self.world.zone["inner.test"] = ["10.9.9.9"]
        service = socket.create_server(("10.9.9.9", port), backlog=0)
        self.addCleanup(service.close)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(("10.9.9.9", port))
        await_true(lambda: self.still_knocking() > 0)
        before = self.still_knocking()
        process, _ = self.begin(f"""
print("begins", flush=True)
try:
    s = socket.create_connection(("inner.test", {port}), timeout=30)
    s.sendall(b"\1hi")
    print(s.recv(10) or "over")
except ConnectionError: print("over")
""", *self.rules((f"inner.test:{port}",)), *words)
        await_true(lambda: self.still_knocking() > before)
        return process, service, fillers

    def has_ended(self, events):
        with open(self.path(events), encoding="utf-8") as file:
            return any(json.loads(line)["event"] == "ended" for line in file)

    def assert_nothing_arrives(self, process, service, fillers):
        for filler in fillers:
            filler.close()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = service.accept()
                    if caller.recv(10):
                        caller.sendall(b"answer")

        threading.Thread(target=serve, daemon=True).start()
        out, _ = self.end(process)
        self.assertEqual(out, "over\n")

    def test_X10_revoking_an_address_closes_what_has_yet_to_be_answered(self):
        process, service, fillers = self.knock(SLOW, "--allow-net", f"10.0.0.0/8:{SLOW}")
        with open(self.path("events"), encoding="utf-8") as file:
            run = json.loads(file.readline())["run"]
        done = self.cloche("revoke", run, "host", f"10.0.0.0/8:{SLOW}")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assert_nothing_arrives(process, service, fillers)

    def test_X10_the_lease_of_an_address_closes_what_has_yet_to_be_answered(self):
        process, service, fillers = self.knock(SLOW + 1, "--allow-net", f"10.0.0.0/8:{SLOW + 1},for=3s")
        await_true(lambda: self.has_ended("events"))
        self.assert_nothing_arrives(process, service, fillers)

    # What others hold: the gateway's memory is under no limit of the guest's.

    def assert_peak(self, process, most):
        """In MiB, once the gateway has read what was sent and grows no more."""
        [gateway] = gateways_of(process.pid)
        before, peak = 0, peak_of(gateway)
        while before != peak:
            time.sleep(1)
            before, peak = peak, peak_of(gateway)
        if not os.environ.get("SANITIZED"):  # what is freed is not given back there
            self.assertLess(peak // MIB, most)

    def test_denied_questions_wait_for_the_engine(self):
        count = 20000 if os.environ.get("SANITIZED") else 100000  # five times slower there
        for kind in ("stream", "datagrams"):
            with self.subTest(kind=kind):
                process, _ = self.begin(QUESTIONS + f"""
import threading
denied = question(b"x" * 63, b"y" * 63, b"z" * 63, b"w" * 50)
count = {count}
if {kind!r} == "stream":
    s = socket.create_connection(("127.0.0.1", 53), timeout=80)
    many = (struct.pack(">H", len(denied)) + denied) * 500
    threading.Thread(target=lambda: [s.sendall(many) for _ in range(count // 500)], daemon=True).start()
    taken = 0
    while taken < count * len(denied):  # an answer is no shorter than its question
        part = s.recv(1 << 20)
        if not part: break
        taken += len(part)
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", 53))
    for _ in range(count * 2): s.send(denied)
print("asked", flush=True)
sys.stdin.read()
""", *self.rules(("allowed.test:80",)))
                self.assert_peak(process, 16)
                _, report = self.end(process)
                self.assertGreater(report["network"]["denied_total"], 0)

    def test_heads_without_an_end(self):
        children = 5 if os.environ.get("SANITIZED") else 25  # five times slower there
        process, _ = self.begin(f"children_wanted = {children}" + """
head = b"GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n" + b"".join(b"X-%d: %s\\r\\n" % (i, b"y" * 900) for i in range(70))
held, children = [], []
for _ in range(children_wanted):
    ready, done = os.pipe()
    if os.fork() == 0:
        try:
            while len(held) < 200:
                s = socket.create_connection(PROXY, timeout=2)
                held.append(s)
                s.setblocking(False)
                s.send(head)
        except OSError:
            pass  # the others wait in front of the door
        os.write(done, b"x")
        sys.stdin.read()
        os._exit(0)
    children.append(ready)
for ready in children: os.read(ready, 1)
print("held", flush=True)
sys.stdin.read()
""", *self.rules(("allowed.test:80",)))
        self.assert_peak(process, 600)
        self.end(process)
