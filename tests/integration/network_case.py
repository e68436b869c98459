"""What the network's cases share: a world outside, guests that try to reach it, and what the report says of it."""
import glob
import json
import os
import resource
import shutil
import socket
import tempfile
import threading

from cell import TIMEOUT, CellCase
from network_world import World

# For guests in Python: each attempt is a line in the result, and none can hang.
PRELUDE = r"""
import errno, json, os, socket, ssl, struct, subprocess, sys
socket.setdefaulttimeout(10)
PROXY = ("127.0.0.1", int(os.environ.get("http_proxy", ":3128").rsplit(":", 1)[1]))
results = {}
def attempt(key, do, *words):
    try:
        value = do(*words)
    except OSError as error:
        value = "error: " + (errno.errorcode.get(error.errno, "") or type(error).__name__) + " " + str(error)
    except Exception as error:
        value = "error: " + type(error).__name__ + " " + str(error)
    results[key] = value.decode("latin-1") if isinstance(value, bytes) else value
def read_all(s, until=b""):
    data = b""
    while not until or until not in data:
        try:
            part = s.recv(65536)
        except ConnectionError as error:
            return data + b"<" + errno.errorcode[error.errno].encode() + b">"
        if not part:
            break
        data += part
    return data
def say(where, data, until=b""):
    with socket.create_connection(where) as s:
        s.sendall(data)
        return read_all(s, until)
def tunnel(where):
    s = socket.create_connection(PROXY)
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (where.encode(), where.encode()))
    head = read_all(s, b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise OSError(0, "refused: " + head.decode("latin-1"))
    return s
def get(host, path="/", more=""):
    return ("GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n" % (path, host, more)).encode()
"""
# Greetings as a client of TLS makes them, to be sent by hand.
TLS_CLIENT = r"""
def client(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return context.wrap_bio(incoming, outgoing, server_hostname=name), incoming, outgoing
def flight(tls, outgoing):
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()
def hello(name):
    tls, _, outgoing = client(name)
    return flight(tls, outgoing)
"""
# Three ways to the same place; {port} is to be filled in.
WAYS_TO = r"""
def socks(name, port):
    s = socket.create_connection(PROXY)
    s.sendall(b"\5\1\0")
    s.recv(2)
    s.sendall(b"\5\1\0\3" + bytes([len(name)]) + name.encode() + struct.pack(">H", port))
    if s.recv(100)[1:2] != b"\0":
        raise OSError(0, "refused")
    return s
ways = {{"direct": lambda: socket.create_connection(("allowed.test", {port})), "proxy": lambda: tunnel("allowed.test:{port}"),
        "socks": lambda: socks("allowed.test", {port})}}
"""
# Questions for a nameserver, as they stand in a datagram.
QUESTIONS = r"""
def question(*labels):
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l for l in labels) + b"\0\0\1\0\1"
"""
END = "\nprint(json.dumps(results))\n"


class Listener:
    """At the address of allowed.test: talks to each caller in a thread of its own, and keeps what it was told."""

    def __init__(self, case, port, talk):
        self.got = []
        self.talk = talk
        self.listener = socket.create_server(("93.184.216.10", port), backlog=64)
        case.addCleanup(self.listener.close)
        case.addCleanup(self.listener.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(caller,), daemon=True).start()

    def one(self, caller):
        said = bytearray()
        self.got.append(said)
        caller.settimeout(20)
        try:
            with caller:
                self.talk(caller, said)
        except OSError:
            pass


class NetworkCase(CellCase):
    @classmethod
    def setUpClass(cls):
        # A thousand connections have as many ends in this process.
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        cls.shared = tempfile.mkdtemp(prefix="cloche-world-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        os.chmod(cls.shared, 0o755)
        cls.world = World(cls.shared)
        cls.addClassCleanup(cls.world.close)

    def setUp(self):
        super().setUp()
        self.errors = b""
        self.world.forget()
        self.world.zone.clear()
        self.world.zone.update({"allowed.test": ["93.184.216.10"], "other.test": ["93.184.216.11"],
                                "second.test": ["93.184.216.12"]})

    @staticmethod
    def rules(allow=(), deny=()):
        return [word for rule in allow for word in ("--allow-net", rule)] + [word for rule in deny for word in ("--deny-net", rule)]

    def guest(self, code, allow, deny=(), more=()):
        """Runs attempts in Python. Returns what each came to, and the report."""
        done, report = self.run_report("--wall", "90s", *self.rules(allow, deny), *more, "--", "/usr/bin/python3", "-c",
                                       PRELUDE + code + END)
        self.assertEqual(report["outcome"]["kind"], "exited", report["outcome"])
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.errors = done.stderr
        return json.loads(done.stdout), report

    def begin(self, code, *words):
        """A guest that prints a line when it is ready and waits for the end of its stdin."""
        process = self.start("--wall", "100s", "-i", "--report", self.path("report.json"), "--events", self.path("events"),
                             *words, "--", "/usr/bin/python3", "-u", "-c", PRELUDE + code)
        line = process.stdout.readline()
        self.assertTrue(line, "the guest ended")
        return process, line

    def end(self, process):
        """Lets the guest go on to its end; returns what it said and the report."""
        out, errors = process.communicate(b"", timeout=TIMEOUT)
        with open(self.path("report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["outcome"]["kind"], process.returncode), ("exited", 0), errors.decode())
        return out.decode(), report

    def assert_denied(self, report, **wanted):
        """The report has a denial with these values."""
        for connection in report["network"]["connections"]:
            if connection["verdict"] == "denied" and all(connection[key] == value for key, value in wanted.items()):
                return connection
        return self.fail(f"no denial with {wanted} in {json.dumps(report['network']['connections'], indent=1)}")

    def reasons(self, report, verdict="denied"):
        return [c["reason"] for c in report["network"]["connections"] if c["verdict"] == verdict]


def gateways_of(pid):
    """Gateways among the descendants of a process."""
    parents = {}
    names = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        number = int(path.split("/")[2])
        names[number] = text[text.index("(") + 1:text.rindex(")")]
        parents[number] = int(text.rpartition(")")[2].split()[1])
    found = []
    for number in parents:
        above = number
        while above in parents and above != pid:
            above = parents[above]
        if above == pid and names[number].startswith("cloche-gateway"):
            found.append(number)
    return found
