"""Guests that want to reach more than they may, by greetings, spellings and other sockets. What counts is what arrived."""
# needs: a network of its own
import json
import os
import socket
import subprocess

from cell import TIMEOUT
from network_case import PRELUDE, TLS_CLIENT, NetworkCase
from network_world import GREETER, HOST_HTTP, RAW, RETRY

TLS_CODE = TLS_CLIENT + r"""
def renamed(old, new):
    assert len(old) == len(new)
    return hello(old).replace(old.encode(), new.encode())
def extended(record, kind, data):
    # The extensions are last: their length, and those of the handshake and the record, grow.
    body = bytearray(record[9:])
    at = 2 + 32
    at += 1 + body[at]
    at += 2 + struct.unpack(">H", body[at:at + 2])[0]
    at += 1 + body[at]
    more = struct.pack(">HH", kind, len(data)) + data
    body[at:at + 2] = struct.pack(">H", struct.unpack(">H", body[at:at + 2])[0] + len(more))
    body += more
    return record[:3] + struct.pack(">H", len(body) + 4) + record[5:6] + struct.pack(">I", len(body))[1:] + bytes(body)
def name_list(*names):
    entries = b"".join(b"\0" + struct.pack(">H", len(n)) + n for n in names)
    return struct.pack(">H", len(entries)) + entries
def split(record, size):
    payload = record[5:]
    return b"".join(record[:3] + struct.pack(">H", len(payload[i:i + size])) + payload[i:i + size] for i in range(0, len(payload), size))
def greet(data, by="direct", step=0):
    s = tunnel("allowed.test:%d") if by == "proxy" else socket.create_connection(("allowed.test", %d))
    with s:
        for i in range(0, len(data), step or len(data)):
            s.sendall(data[i:i + (step or len(data))])
        reply = s.recv(100)
        return "passed" if reply.startswith(b"taken") else reply.hex() or "end"
""" % (RAW, RAW)

ALERT = "15030300020231"  # fatal, access denied


class NetworkHostile(NetworkCase):
    def test_tls_greetings(self):
        code = TLS_CODE + r"""
good = hello("allowed.test")
cases = {
    "good": good,
    "good upper case": renamed("allowed.test", "ALLOWED.Test"),
    "good trailing dot": renamed("allowed.testx", "allowed.test."),
    "good in many records": split(good, 50),
    "none": hello(None),
    "wrong": hello("other.test"),
    "wrong of the same length": renamed("allowed.test", "evilxxx.test"),
    "wrong below": hello("x.allowed.test"),
    "wrong in many records": split(hello("other.test"), 50),
    "address": renamed("allowed.test", "93.184.216.1"),
    "two dots": renamed("allowed.testxx", "allowed.test.."),
    "zero inside": renamed("allowed.test.other", "allowed.test\0other"),
    "encrypted": extended(good, 0xfe0d, b"\0\0\1\0\1\7\0\x20" + b"e" * 32 + b"\0\x10" + b"p" * 16),
    "old encrypted": extended(good, 0xffce, b"\0" * 20),
    "second name extension": extended(good, 0, name_list(b"other.test")),
    "two names": extended(hello(None), 0, name_list(b"allowed.test", b"other.test")),
    "second first": extended(hello(None), 0, name_list(b"other.test", b"allowed.test")),
    "ssl 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"c" * 37,
    "no greeting": b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
    "cut short": good[:5] + b"\x01\x00\x00\x01\x00" + b"q" * (len(good) - 10),
}
for key, data in cases.items():
    for by in ("direct", "proxy"):
        attempt(key + " / " + by, greet, data, by)
attempt("good byte by byte / direct", greet, good, "direct", 1)
attempt("wrong byte by byte / direct", greet, hello("other.test"), "direct", 1)
"""
        results, report = self.guest(code, (f"allowed.test:{RAW}",))
        for key, got in results.items():
            with self.subTest(greeting=key):
                if key.startswith("good"):
                    self.assertEqual(got, "passed")
                else:
                    self.assertNotEqual(got, "passed")
                if key.startswith(("none", "wrong", "encrypted")):
                    self.assertEqual(got, ALERT)
        arrived = [bytes(a.data) for a in self.world.arrived if a.data]
        self.assertEqual(len(arrived), sum(key.startswith("good") for key in results))
        for data in arrived:
            self.assertTrue(b"allowed.test" in data.lower() or data[3:5] == b"\0\x32", data)
            self.assertNotIn(b"other.test", data)
        reasons = " ".join(self.reasons(report))
        for part in ("the TLS greeting names no host", "a TLS greeting for other.test came", "is encrypted", "SSL 2"):
            self.assertIn(part, reasons)

    def test_greetings_for_another_allowed_name(self):
        """What counts is the name that the connection was opened for, not whether some rule allows the greeting's."""
        code = TLS_CODE + r"""
for by in ("direct", "proxy"):
    for name in ("allowed.test", "second.test", "x.allowed.test"):
        attempt(name + " / " + by, greet, hello(name), by)
"""
        results, report = self.guest(code, (f"*.test:{RAW}", f"allowed.test:{RAW}", f"second.test:{RAW}", f"*.allowed.test:{RAW}"))
        for key, got in results.items():
            self.assertEqual(got, "passed" if key.startswith("allowed.test") else ALERT, key)
        self.assertEqual([bytes(a.data).count(b"allowed.test") for a in self.world.arrived if a.data], [1, 1])
        self.assertNotIn(b"second.test", self.world.bytes_at())
        self.assertIn(f"a TLS greeting for second.test came on a connection to allowed.test:{RAW}", self.reasons(report))

    def test_second_greeting(self):
        code = TLS_CODE + f"""
def twice(new):
    tls, incoming, outgoing = client("allowed.test")
    with socket.create_connection(("allowed.test", {RETRY})) as s:
        s.settimeout(5)
        s.sendall(flight(tls, outgoing))
        incoming.write(s.recv(65536))
        s.sendall(flight(tls, outgoing).replace(b"allowed.test", new))
        return s.recv(65536).hex()
attempt("same", twice, b"allowed.test")
attempt("other", twice, b"evilxxx.test")
"""
        results, report = self.guest(code, (f"allowed.test:{RETRY}",))
        self.assertTrue(results["same"].startswith("160303"), results["same"])
        self.assertEqual(results["other"], ALERT)
        self.assertNotIn(b"evilxxx.test", self.world.bytes_at())
        self.assertEqual([bytes(a.data).count(b"allowed.test") for a in self.world.arrived], [2, 1])
        self.assertIn("evilxxx.test", " ".join(self.reasons(report)))

    def test_tls_after_the_servers_word(self):
        """A server that speaks first makes no way around the check."""
        code = TLS_CODE + f"""
def late(name):
    with socket.create_connection(("allowed.test", {GREETER})) as s:
        read_all(s, b"hello\\r\\n")
        s.sendall(hello(name))
        return s.recv(100).hex()
attempt("other", late, "other.test")
"""
        results, report = self.guest(code, (f"allowed.test:{GREETER}",))
        self.assertEqual(results["other"], ALERT)
        self.assertEqual(self.world.bytes_at(), b"")
        self.assertIn("TLS began after the server had spoken", self.reasons(report))

    # How a place can be written.

    def test_places_in_odd_spellings(self):
        self.world.zone["xn--bcher-kva.test"] = ["93.184.216.40"]
        good = {"allowed.test.": "93.184.216.10", "ALLOWED.Test": "93.184.216.10", "xn--bcher-kva.test": "93.184.216.40",
                "XN--BCHER-KVA.test.": "93.184.216.40", "[::ffff:93.184.216.20]": "93.184.216.20",
                "[::ffff:5db8:d814]": "93.184.216.20", "93.184.216.20": "93.184.216.20"}
        bad = ("[::1]", "127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.1", "0x7f.1", "017700000001", "2130706433",
               "0x7f000001", "127.0.0.1.", "0", "[::]", "[::127.0.0.1]", "[fe80::1%25lo]", "93.184.55316", "0x5db8d80b", "93.184.216.11",
               "093.184.216.020", "[::ffff:93.184.216.11]", "[64:ff9b::5db8:d814]", "bücher.test", "BU\u0308CHER.test",
               "allowed\u3002test", "allowed.test\u200b", "allowed.test..", ".allowed.test", "allowed..test", "*.test", "allowed.test%00",
               "user@allowed.test", "allowed.test:80@other.test", "allowed.test\t", "x.allowed.test", "localhost", "localhost.")
        code = f"""
def asks(host):
    return say(PROXY, ("GET http://" + host + ":8000/ HTTP/1.1\\r\\nHost: " + host + ":8000\\r\\nConnection: close\\r\\n\\r\\n").encode())
for host in json.loads({json.dumps(json.dumps([*good, *bad]))}):
    attempt("open " + host, lambda: tunnel(host + ":8000").close() or "opened")
    attempt("ask " + host, asks, host)
"""
        allow = ("allowed.test:8000", "xn--bcher-kva.test:8000", "93.184.216.20:8000")
        results, _ = self.guest(code, allow)
        for host, address in good.items():
            with self.subTest(host=host):
                self.assertEqual(results["open " + host], "opened")
                self.assertIn(f"hello from {address}:8000/", results["ask " + host])
        for host in bad:
            with self.subTest(host=host):
                self.assertRegex(results["open " + host], "refused: HTTP/1.1 (400|403)|refused: $")
                self.assertNotIn("hello from", results["ask " + host])
        self.assertLessEqual({a.address for a in self.world.arrived}, set(good.values()))
        self.assertLessEqual(self.world.names_asked(), {"allowed.test", "xn--bcher-kva.test"})
        # What is denied is denied however it is written.
        results, _ = self.guest(code, ("93.184.216.20:8000", "[::/0]:8000"), ("93.184.216.0/24:8000", "127.0.0.0/8:8000"))
        for host in ("93.184.216.20", "[::ffff:93.184.216.20]", "[::ffff:5db8:d814]", "[64:ff9b::5db8:d814]", "[::ffff:127.0.0.1]"):
            with self.subTest(denied=host):
                self.assertIn("refused: HTTP/1.1 403", results["open " + host])

    def test_direct_addresses(self):
        """Without the proxy: the kernel reads the spelling, and the gateway sees where it leads."""
        code = """
for host in ("127.1", "0x7f.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1", "::ffff:93.184.216.11", "93.184.216.11",
             "fe80::1%lo", "198.18.200.200", "fd63:6c6f:6368:6500::ffff", "224.0.0.1"):
    attempt(host, say, (host, 8000), get("x"))
attempt("mapped", say, ("::ffff:93.184.216.20", 8000), get("x"))
"""
        results, report = self.guest(code, ("allowed.test:8000", "93.184.216.20:8000"))
        self.assertIn("hello from 93.184.216.20:8000", results.pop("mapped"))
        for host, got in results.items():
            with self.subTest(host=host):
                self.assertNotIn("hello from", got)
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.20"})
        self.assert_denied(report, address="169.254.169.254", port=8000)

    def test_socks(self):
        code = r"""
def socks(*messages):
    with socket.create_connection(PROXY) as s:
        out = []
        for message in messages:
            s.sendall(message)
            out.append(s.recv(100).hex())
        return out
def five(kind, host, command=1):
    return socks(b"\5\1\0", b"\5" + bytes([command]) + b"\0" + kind + host + b"\x1f\x40")
def name(text): return five(b"\3", bytes([len(text)]) + text)
attempt("good name", name, b"allowed.test")
attempt("good address", five, b"\1", socket.inet_aton("93.184.216.20"))
attempt("good mapped", five, b"\4", socket.inet_pton(socket.AF_INET6, "::ffff:93.184.216.20"))
attempt("address", five, b"\1", socket.inet_aton("93.184.216.11"))
attempt("loopback", five, b"\1", socket.inet_aton("127.0.0.1"))
attempt("mapped loopback", five, b"\4", socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1"))
attempt("six", five, b"\4", socket.inet_pton(socket.AF_INET6, "::1"))
attempt("other name", name, b"other.test")
attempt("address as a name", name, b"127.0.0.1")
attempt("odd address as a name", name, b"0x7f.1")
attempt("mapped as a name", name, b"::ffff:127.0.0.1")
attempt("zero inside", name, b"allowed.test\0.other.test")
attempt("bind", five, b"\1", socket.inet_aton("93.184.216.20"), 2)
attempt("datagrams", five, b"\1", socket.inet_aton("93.184.216.20"), 3)
attempt("password", socks, b"\5\1\2")
attempt("four", socks, b"\4\1\x1f\x40\x7f\0\0\1u\0")
attempt("four a", socks, b"\4\1\x1f\x40\0\0\0\1u\0allowed.test\0")
"""
        results, report = self.guest(code, ("allowed.test:8000", "93.184.216.20:8000"))
        for key, got in results.items():
            with self.subTest(request=key):
                if key.startswith("good"):
                    self.assertEqual((got[0], got[1][:4]), ("0500", "0500"), got)
                elif isinstance(got, list) and got[0] == "0500":
                    self.assertTrue(got[1] == "" or got[1].startswith("05") and not got[1].startswith("0500"), got)
                elif isinstance(got, list):
                    self.assertFalse(got[0].startswith(("0500", "005a")), got)
        self.assertEqual({a.address for a in self.world.arrived}, {"93.184.216.10", "93.184.216.20"})
        self.assert_denied(report, via="socks", name="other.test")

    # Other ways out.

    def test_other_sockets(self):
        outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(outside.close)
        abstract = f"\0cloche-test-{os.getpid()}"
        outside.bind(abstract)
        outside.listen(1)
        heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(heard.close)
        heard.bind(("0.0.0.0", 80))
        heard.setblocking(False)
        code = f"""
def datagram(where):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(where); s.send(b"out"); s.settimeout(1)
        return s.recv(10)
def make(family, kind, number=0): socket.socket(family, kind, number).close(); return "made"
def abstract():
    with socket.socket(socket.AF_UNIX) as s: s.connect({abstract!r}); return "connected"
attempt("datagram", datagram, ("93.184.216.11", 80))
attempt("datagram to a name", datagram, ("allowed.test", 80))
attempt("raw", make, socket.AF_INET, socket.SOCK_RAW, 1)
attempt("raw six", make, socket.AF_INET6, socket.SOCK_RAW, 58)
attempt("packet", make, socket.AF_PACKET, socket.SOCK_RAW, 0x300)
attempt("netlink", make, socket.AF_NETLINK, socket.SOCK_RAW)
attempt("vsock", make, socket.AF_VSOCK, socket.SOCK_STREAM)
attempt("alg", make, socket.AF_ALG, socket.SOCK_SEQPACKET)
attempt("bluetooth", make, 31, socket.SOCK_RAW)
attempt("sctp", make, socket.AF_INET, socket.SOCK_STREAM, 132)
attempt("abstract", abstract)
results["programs"] = [open("/proc/" + n + "/comm").read().strip() for n in os.listdir("/proc") if n.isdigit()]
results["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1]
"""
        results, report = self.guest(code, ("allowed.test:80",))
        self.assertEqual(results.pop("descriptors"), [0, 1, 2])
        self.assertNotIn("cloche-gateway", results.pop("programs"))
        for key, got in results.items():
            with self.subTest(socket=key):
                self.assertTrue(got.startswith("error: "), got)
        for key in ("raw", "raw six", "packet", "netlink"):
            self.assertRegex(results[key], "EACCES|EPERM|EAFNOSUPPORT")
        self.assertRaises(BlockingIOError, heard.recv, 10)
        self.assertIn("datagrams", self.assert_denied(report, address="93.184.216.11", port=80)["reason"])
        self.assertEqual(self.world.arrived, [])

    def test_two_cells_and_the_host(self):
        """A cell's listeners are its own: neither another cell nor the host finds them, nor another run's gateway."""
        serve = PRELUDE + """
s = socket.create_server(("0.0.0.0", 7777))
print(PROXY[1], flush=True)
sys.stdin.read()
s.settimeout(0.2)
try: print("reached by", s.accept()[1])
except TimeoutError: print("alone")
"""
        first = self.start("--wall", "30s", "-i", *self.rules(("allowed.test:8000", f"localhost:{HOST_HTTP + 5}")), "--",
                           "/usr/bin/python3", "-c", serve)
        proxy = int(first.stdout.readline())
        for port in (7777, proxy, HOST_HTTP + 5):
            self.assertRaises(ConnectionRefusedError, socket.create_connection, ("127.0.0.1", port), 5)
        code = f"""
for host in ("127.0.0.1", "10.0.0.1", "93.184.216.10", "::1"):
    for port in (7777, {proxy + 1}):
        attempt(host + " %d" % port, say, (host, port), b"x")
"""
        results, _ = self.guest(code, ("allowed.test:80",))
        for key, got in results.items():
            self.assertIn("ECONNREFUSED", got, key)
        # Not even with a grant: on the host nobody listens there.
        results, _ = self.guest('attempt("x", say, ("localhost", 7777), b"\\1x")', ("localhost:7777",))
        self.assertRegex(results["x"], "ECONNRESET|EPIPE")
        out, _ = first.communicate(b"", timeout=TIMEOUT)
        self.assertEqual(out.decode().strip(), "alone")

    def test_a_dial_does_not_come_back_to_itself(self):
        """The kernel joins a dial to itself when the port it lends is the one that is dialled, and nobody listens there."""
        if os.geteuid() == 0:  # so that it happens at once, and not once in some ten thousand times
            lent = "/proc/sys/net/ipv4/ip_local_port_range"
            with open(lent, encoding="ascii") as file:
                before = file.read()
            self.addCleanup(lambda: self.write(lent, before))
            self.write(lent, "40000 40003")
        code = "for turn in range(12):\n    attempt(str(turn), say, ('localhost', 40000), b'\\1x', b'\\1x')\n"
        results, _ = self.guest(code, ("localhost:40000",))
        for got in results.values():
            self.assertRegex(got, "ECONNRESET|EPIPE")

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def test_the_gateway_alone(self):
        """Started by hand it does nothing."""
        gateway = os.path.join(os.path.dirname(os.environ["CLOCHE_UNDER_TEST"]), "cloche-gateway")
        done = subprocess.run([gateway], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is started by cloche", done.stderr)
