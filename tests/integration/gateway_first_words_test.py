"""Connections that begin as no HTTP and no TLS: nothing gets to another name by them, and what is meant to pass does."""
# needs: a network of its own
import socket

from network_case import TLS_CLIENT, WAYS_TO, Listener, NetworkCase
from network_world import GREETER, RAW

LENIENT, DATABASE = 8101, 5432
QUESTION = bytes.fromhex("0000000804d2162f")
GSS_QUESTION = bytes.fromhex("0000000804d21630")


def lenient(link, said):
    """Finds a request wherever it begins, and serves the name that it asks for."""
    while b"\r\n\r\n" not in said:
        piece = link.recv(65536)
        if not piece:
            return
        said += piece
    host = bytes(said).partition(b"Host: ")[2].partition(b"\r\n")[0]
    link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nserved " + host)


def postgres(word):
    """Says the word to each question of its eight bytes, and "ready" to all else."""

    def talk(link, said):
        while True:
            piece = link.recv(8)
            if not piece:
                return
            said += piece
            link.sendall(word if piece in (QUESTION, GSS_QUESTION) else b"ready")

    return talk


class FirstWords(NetworkCase):
    def test_requests_behind_other_bytes(self):
        """To a server that is not strict they are requests, for a name that nobody has checked."""
        server = Listener(self, LENIENT, lenient)
        code = WAYS_TO.format(port=LENIENT) + r"""
request = b" / HTTP/1.1\r\nHost: other.test\r\n\r\n"
begins = {"ssh": b"SSH-GET", "binary": b"\1GET", "high": b"\x90GET", "length": b"\0\0\0\1GET", "line": b"\1\nGET",
          "version": b"SSH-2.0-x\r\nGET", "short": b"\2\r\nGET /x\r\nHost: other.test\r\n\r\n"}
def ask(way, data, piece):
    with ways[way]() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at in range(0, len(data), piece): s.sendall(data[at:at + piece])
        except ConnectionError: pass
        return read_all(s)
for way in ways:
    for key, begin in begins.items():
        for piece in (1, 7, 1000): attempt("%s %s %d" % (way, key, piece), ask, way, begin + request, piece)
"""
        results, report = self.guest(code, (f"allowed.test:{LENIENT}",))
        self.assertEqual(len(results), 3 * 7 * 3)
        for key, got in results.items():
            with self.subTest(way=key):
                self.assertNotIn("served", got)
                self.assertIn("HTTP/1.1 403 ", got)
                self.assertIn("does not begin as one of HTTP", got)
        self.assertFalse([one for one in server.got if b"\r\n\r\n" in one], server.got)
        self.assertEqual(report["network"]["denied_total"], len(results))

    def test_a_server_that_answers_as_http(self):
        """It was asked in words that nobody has checked."""

        def talk(link, said):
            said += link.recv(100)
            link.sendall(b"HT")
            link.sendall(b"TP/1.1 200 OK\r\n\r\nserved")

        Listener(self, LENIENT, talk)
        code = WAYS_TO.format(port=LENIENT) + r"""
def ask(way):
    with ways[way]() as s:
        s.sendall(b"\1\2\3")
        return read_all(s)
for way in ways: attempt(way, ask, way)
"""
        results, report = self.guest(code, (f"allowed.test:{LENIENT}",))
        for got in results.values():
            self.assertNotIn("served", got)
        self.assertEqual(report["network"]["denied_total"], 3)

    def test_other_protocols_pass(self):
        """Also in pieces and with ends of one side; what comes after the server's first word is not looked at."""
        code = WAYS_TO.format(port=RAW) + r"""
def talk(way, data, then=b""):
    with ways[way]() as s:
        s.sendall(data)
        out = s.recv(100)
        if then:
            s.sendall(then)
            out += s.recv(100)
        s.shutdown(socket.SHUT_WR)
        return out + read_all(s)
for way in ways:
    attempt(way + " ssh", talk, way, b"SSH-2.0-OpenSSH_9.9\r\n", b"\0\0\0\1GET / HTTP/1.1\r\nHost: x\r\n")
    attempt(way + " binary", talk, way, b"\1" * 70000)
"""
        results, report = self.guest(code, (f"allowed.test:{RAW}",))
        for key, got in results.items():
            with self.subTest(way=key):
                self.assertRegex(got, r"^(taken)+$")
                if key.endswith("ssh"):
                    self.assertEqual(got, "takentaken")
        self.assertEqual(report["network"]["denied_total"], 0)

    def test_ends_arrive_while_words_are_watched(self):
        seen = []

        def talk(link, said):
            said += link.recv(4)  # a server that ends before it was spoken to ends the connection
            if said == b"\2ask":
                link.sendall(bytes([len(seen)]))
                return
            link.shutdown(socket.SHUT_WR)
            while piece := link.recv(65536):
                said += piece
            seen.append(bytes(said))

        Listener(self, LENIENT, talk)
        code = WAYS_TO.format(port=LENIENT) + r"""
def talk(way):
    with ways[way]() as s:
        s.sendall(b"\1one")
        out = b"end" if s.recv(100) == b"" else b"more"
        s.sendall(b"two")
        return out
for way in ways: attempt(way, talk, way)
import time
for _ in range(1000):  # what a guest says in its last moment may not arrive
    with ways["direct"]() as s:
        s.sendall(b"\2ask")
        if s.recv(1) == b"\3": break
    time.sleep(0.02)
"""
        results, _ = self.guest(code, (f"allowed.test:{LENIENT}",))
        self.assertEqual(set(results.values()), {"end"}, results)
        self.assertEqual(seen, [b"\1onetwo"] * 3)

    def test_a_server_that_greets_is_spoken_to(self):
        results, _ = self.guest(f"""
def greeted():
    with socket.create_connection(("allowed.test", {GREETER})) as s:
        out = s.recv(100)
        s.sendall(b"EHLO x\\r\\n")
        return out + s.recv(100)
attempt("greeted", greeted)
""", (f"allowed.test:{GREETER}",))
        self.assertEqual(results["greeted"], "220 hello\r\nEHLO x\r\n")

    # TLS behind PostgreSQL's question for it.

    def test_tls_behind_a_question_is_checked_by_name(self):
        server = Listener(self, DATABASE, postgres(b"S"))
        code = TLS_CLIENT + WAYS_TO.format(port=DATABASE) + f"""
def ask(way, data, early):
    with ways[way]() as s:
        s.sendall({QUESTION!r} + (data if early else b""))
        word = s.recv(1)
        if not early: s.sendall(data)
        return word + s.recv(100)
def nameless():
    tls, _, outgoing = client(None)
    return flight(tls, outgoing)
""" + r"""
for way in ways:
    for early in (False, True):
        for key, data in {"good": hello("allowed.test"), "other": hello("other.test"), "none": nameless(),
                          "plain": b"\0\0\0\x09\0\3\0\0x"}.items():
            attempt("%s %s %s" % (way, key, early), ask, way, data, early)
"""
        results, report = self.guest(code, (f"allowed.test:{DATABASE}",))
        self.assertEqual(len(results), 24)
        for key, got in results.items():
            with self.subTest(way=key):
                (self.assertIn if "good" in key else self.assertNotIn)("ready", got)
        for said in server.got:
            self.assertNotIn(b"other.test", said)
            self.assertIn(bytes(said[8:10]), (b"", b"\x16\3"))
        self.assertEqual(report["network"]["denied_total"], 18)

    def test_a_question_that_is_answered_with_no(self):
        server = Listener(self, DATABASE, postgres(b"N"))
        code = TLS_CLIENT + WAYS_TO.format(port=DATABASE) + f"""
def ask(way, *words):
    out = b""
    with ways[way]() as s:
        for word in words:
            s.sendall(word)
            out += s.recv(100)
        return out
for way in ways:
    attempt(way + " plain", ask, way, {QUESTION!r}, b"\\0\\0\\0\\x08\\0\\3\\0\\0")
    attempt(way + " both", ask, way, {GSS_QUESTION!r}, {QUESTION!r}, b"\\0\\0\\0\\x08\\0\\3\\0\\0")
    attempt(way + " tls", ask, way, {QUESTION!r}, hello("other.test"))
"""
        results, report = self.guest(code, (f"allowed.test:{DATABASE}",))
        for key, got in results.items():
            with self.subTest(way=key):
                if key.endswith("tls"):
                    self.assertNotIn("ready", got)
                else:
                    self.assertEqual(got, "NNready" if key.endswith("both") else "Nready")
        self.assertFalse([one for one in server.got if b"other.test" in one])
        self.assertEqual(report["network"]["denied_total"], 3)

    # Addresses of no host.

    def test_the_address_of_no_host_is_never_dialled(self):
        """Linux takes it for its loopback, which net.deny takes away."""
        code = rf"""
for place in ("0.0.0.0:{RAW}", "[::]:{RAW}", "[::ffff:0.0.0.0]:{RAW}", "127.0.0.1:{RAW}", "[::1]:{RAW}"):
    attempt(place, lambda: str(tunnel(place)))
"""
        for deny in ((), (f"localhost:{RAW}",), (f"127.0.0.0/8:{RAW}", f"[::1]:{RAW}")):
            with self.subTest(deny=deny):
                self.world.forget()
                results, _ = self.guest(code, (f"0.0.0.0/0:{RAW}", f"[::/0]:{RAW}"), deny)
                for place, got in results.items():
                    if deny or "127" not in place and "::1" not in place:
                        self.assertIn("403", got, place)
                if deny:
                    self.assertEqual(self.world.arrivals(port=RAW), [])
